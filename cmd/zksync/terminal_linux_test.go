package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// console is a terminal with somebody at the keyboard.
type console struct {
	master *os.File
	out    output
}

func ioctl(t *testing.T, f *os.File, request, arg uintptr) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, arg); errno != 0 {
			t.Fatal(errno)
		}
	})
}

// onConsole starts p on a terminal of its own, as the leader of its session.
// piped keeps its stdin as it is.
func onConsole(t *testing.T, p *process, piped bool) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, unlock int32
	ioctl(t, master, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
	ioctl(t, master, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{master: master}
	if !piped {
		p.Stdin = slave
	}
	p.Stdout, p.Stderr = slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	p.start()
	slave.Close()
	var read sync.WaitGroup
	read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf) // an error once nobody has the terminal
			if err != nil {
				return
			}
			c.out.Write(bytes.ReplaceAll(buf[:n], []byte("\r"), nil))
		}
	})
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.done
		master.Close()
		read.Wait()
		if t.Failed() {
			t.Logf("terminal: %s", c.out.String())
		}
	})
	return c
}

func (c *console) typeIn(t *testing.T, keys string) {
	t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

func TestTerminalCommandReads(t *testing.T) {
	p, _ := newJob(t, "1s", "read line; echo got=$line; exit 3")
	c := onConsole(t, p, false)
	c.typeIn(t, "hello\n")
	c.out.await(t, "got=hello")
	p.wantCode(3)
}

func TestTerminalCtrlC(t *testing.T) {
	p, _ := newJob(t, "1s", "trap 'echo interrupt; exit 4' INT; echo ready; "+loop)
	c := onConsole(t, p, false)
	c.out.await(t, "ready")
	c.typeIn(t, ctrlC)
	p.wantCode(4)
	c.out.await(t, "interrupt")
	if n := strings.Count(c.out.String(), "interrupt"); n != 1 {
		t.Errorf("interrupted %d times", n)
	}
}

// A command whose stdin is a pipe gets Ctrl-C too, and the terminal when it
// asks for it.
func TestTerminalInPipeline(t *testing.T) {
	p, _ := newJob(t, "1s", "read line </dev/tty; echo got=$line; trap 'echo interrupt; exit 4' INT; echo ready; "+loop)
	c := onConsole(t, p, true)
	c.typeIn(t, "hello\n")
	c.out.await(t, "got=hello")
	c.out.await(t, "ready")
	c.typeIn(t, ctrlC)
	p.wantCode(4)

	p, _ = newJob(t, "1s", "trap 'echo interrupt; exit 4' INT; echo ready; "+loop)
	c = onConsole(t, p, true)
	c.out.await(t, "ready")
	c.typeIn(t, ctrlC)
	p.wantCode(4)
}

// Nobody could wake us in an orphaned group: Ctrl-Z does nothing there.
func TestTerminalCtrlZOrphaned(t *testing.T) {
	p, _ := newJob(t, "1s", "echo ready; read line; echo got=$line")
	c := onConsole(t, p, false)
	c.out.await(t, "ready")
	c.typeIn(t, ctrlZ)
	c.out.await(t, "stopped; /lock is lost if that lasts")
	c.typeIn(t, "on\n")
	c.out.await(t, "got=on")
	p.wantCode(0)
}

// A script goes on reading from its terminal after the job.
func TestTerminalIsGivenBack(t *testing.T) {
	p, _ := newJob(t, "1s", "read line; echo got=$line")
	p.Args = append([]string{"sh", "-c", `"$0" "$@"; read line; echo after=$line; exit 6`, p.Path}, p.Args[1:]...)
	p.Path = "/bin/sh"
	c := onConsole(t, p, false)
	c.typeIn(t, "first\n")
	c.out.await(t, "got=first")
	c.typeIn(t, "second\n")
	c.out.await(t, "after=second")
	p.wantCode(6)
}

// inShell starts p as a job of an interactive shell.
func inShell(t *testing.T, p *process) *console {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to test job control with")
	}
	quoted := make([]string, len(p.Args))
	for i, arg := range append([]string{p.Path}, p.Args[1:]...) {
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	p.Env = append(p.Env, "JOB="+strings.Join(quoted, " "), "PS1=prompt$ ", "HISTFILE=", "TERM=dumb")
	p.Path, p.Args = bash, []string{"bash", "--norc", "--noprofile", "-i"}
	c := onConsole(t, p, false)
	c.typeIn(t, `eval "$JOB"; echo "code=$?"`+"\n")
	return c
}

// TestTerminalJobControl stops the job with Ctrl-Z, and has the shell go on
// with it in the background and in the foreground.
func TestTerminalJobControl(t *testing.T) {
	// It only reads: a stop in the middle of a shell's vfork(2) stops the new
	// process alone, which no parent is told.
	p, lose := newJob(t, "1m", "echo pid=$$ end; read line; echo got=$line; read line; exit 1")
	c := inShell(t, p)
	pid, err := strconv.Atoi(strings.TrimSuffix(c.out.await(t, "\npid="), " end"))
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool { return state(pid) == 'T' }
	c.typeIn(t, ctrlZ)
	c.out.await(t, "stopped; /lock is lost if that lasts")
	c.out.await(t, "\ncode=149") // the shell is back
	eventually(t, "the command to stop", stopped)
	c.typeIn(t, "bg\n") // it wants the terminal, which is the shell's now
	c.typeIn(t, "until jobs -s | grep -q Stopped; do :; done; jobs; echo asked=yes\n")
	c.out.await(t, "\nasked=yes")
	eventually(t, "the command to stop again", stopped)
	c.typeIn(t, "fg; echo code=$?\n")
	eventually(t, "the command to go on", func() bool { return !stopped() })
	c.typeIn(t, "hello\n")
	c.out.await(t, "\ngot=hello")

	// Stopped, then lost: it must not go on.
	c.out.forget()
	c.typeIn(t, ctrlZ)
	c.out.await(t, "\ncode=149")
	lose()
	c.typeIn(t, "fg; echo code=$?\n")
	c.out.await(t, "\ncode=79")
	c.typeIn(t, "exit 9\n") // the shell has its terminal again
	p.wantCode(9)
}
