package proctest

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// Keys for [Console.Type].
const (
	CtrlC = "\x03"
	CtrlZ = "\x1a"
)

// Console is a terminal with somebody at the keyboard.
type Console struct {
	Out    Output // what the terminal has seen, without carriage returns
	master *os.File
}

// OnConsole starts p on a terminal of its own, as the leader of the terminal's
// session. A piped process keeps its stdin.
func OnConsole(t *testing.T, p *Process, piped bool) *Console {
	t.Helper()
	master, slave := newTerminal(t)
	c := &Console{master: master}
	if !piped {
		p.Stdin = slave
	}
	p.Stdout, p.Stderr = slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	p.Start()
	slave.Close()
	var read sync.WaitGroup
	read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf) // fails when no process has the terminal
			if err != nil {
				return
			}
			_, _ = c.Out.Write(bytes.ReplaceAll(buf[:n], []byte("\r"), nil))
		}
	})
	t.Cleanup(func() {
		_ = p.Process.Kill() // fails if it has ended
		<-p.Done
		master.Close()
		read.Wait()
		if t.Failed() {
			t.Logf("terminal: %s", c.Out.String())
		}
	})
	return c
}

// Type presses keys.
func (c *Console) Type(t *testing.T, keys string) {
	t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// newTerminal returns the two ends of a new terminal: the keyboard's and the
// process's.
func newTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, unlock int32
	ioctl(t, master, syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock)))
	ioctl(t, master, syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// ioctl calls ioctl(2) on f.
func ioctl(t *testing.T, f *os.File, request, arg uintptr) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, arg)
	})
	if err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
}
