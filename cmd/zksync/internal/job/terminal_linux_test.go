package job_test

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

func TestTerminalCommandReads(t *testing.T) {
	p, _ := newJob(t, "1s", "read line; echo got=$line; exit 3")
	c := proctest.OnConsole(t, p, false)
	c.Type(t, "hello\n")
	c.Out.Await(t, "got=hello")
	p.WantCode(3)
}

func TestTerminalCtrlC(t *testing.T) {
	p, _ := newJob(t, "1s", "trap 'echo interrupt; exit 4' INT; echo ready; "+proctest.Loop)
	c := proctest.OnConsole(t, p, false)
	c.Out.Await(t, "ready")
	c.Type(t, proctest.CtrlC)
	p.WantCode(4)
	c.Out.Await(t, "interrupt")
	if n := strings.Count(c.Out.String(), "interrupt"); n != 1 {
		t.Errorf("interrupted %d times", n)
	}
}

// A command whose stdin is a pipe gets Ctrl-C too, and gets the terminal when it
// asks for it.
func TestTerminalInPipeline(t *testing.T) {
	p, _ := newJob(t, "1s", "read line </dev/tty; echo got=$line; trap 'echo interrupt; exit 4' INT; echo ready; "+proctest.Loop)
	c := proctest.OnConsole(t, p, true)
	c.Type(t, "hello\n")
	c.Out.Await(t, "got=hello")
	c.Out.Await(t, "ready")
	c.Type(t, proctest.CtrlC)
	p.WantCode(4)

	p, _ = newJob(t, "1s", "trap 'echo interrupt; exit 4' INT; echo ready; "+proctest.Loop)
	c = proctest.OnConsole(t, p, true)
	c.Out.Await(t, "ready")
	c.Type(t, proctest.CtrlC)
	p.WantCode(4)
}

// In an orphaned group nobody could continue the program: Ctrl-Z does nothing
// there.
func TestTerminalCtrlZOrphaned(t *testing.T) {
	p, _ := newJob(t, "1s", "echo ready; read line; echo got=$line")
	c := proctest.OnConsole(t, p, false)
	c.Out.Await(t, "ready")
	c.Type(t, proctest.CtrlZ)
	c.Out.Await(t, "stopped; /lock is lost if that lasts")
	c.Type(t, "on\n")
	c.Out.Await(t, "got=on")
	p.WantCode(0)
}

// A script goes on reading from its terminal after the job.
func TestTerminalIsGivenBack(t *testing.T) {
	p, _ := newJob(t, "1s", "read line; echo got=$line")
	p.Args = append([]string{"sh", "-c", `"$0" "$@"; read line; echo after=$line; exit 6`, p.Path}, p.Args[1:]...)
	p.Path = "/bin/sh"
	c := proctest.OnConsole(t, p, false)
	c.Type(t, "first\n")
	c.Out.Await(t, "got=first")
	c.Type(t, "second\n")
	c.Out.Await(t, "after=second")
	p.WantCode(6)
}

// inShell starts p as a job of an interactive shell.
func inShell(t *testing.T, p *proctest.Process) *proctest.Console {
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
	c := proctest.OnConsole(t, p, false)
	c.Type(t, `eval "$JOB"; echo "code=$?"`+"\n")
	return c
}

// TestTerminalJobControl stops the job with Ctrl-Z, and lets the shell continue it
// in the background and in the foreground.
func TestTerminalJobControl(t *testing.T) {
	// The command only reads: a stop in the middle of a shell's vfork(2) stops the
	// new process alone, and its parent is not notified.
	p, lose := newJob(t, "1m", "echo pid=$$ end; read line; echo got=$line; read line; exit 1")
	c := inShell(t, p)
	pid, err := strconv.Atoi(strings.TrimSuffix(c.Out.Await(t, "\npid="), " end"))
	if err != nil {
		t.Fatal(err)
	}
	stopped := func() bool { return proctest.State(pid) == 'T' }
	c.Type(t, proctest.CtrlZ)
	c.Out.Await(t, "stopped; /lock is lost if that lasts")
	c.Out.Await(t, "\ncode=149") // the shell is back
	proctest.Eventually(t, "the command to stop", stopped)
	c.Type(t, "bg\n") // it wants the terminal, which is the shell's now
	c.Type(t, "until jobs -s | grep -q Stopped; do :; done; jobs; echo asked=yes\n")
	c.Out.Await(t, "\nasked=yes")
	proctest.Eventually(t, "the command to stop again", stopped)
	c.Type(t, "fg; echo code=$?\n")
	proctest.Eventually(t, "the command to go on", func() bool { return !stopped() })
	c.Type(t, "hello\n")
	c.Out.Await(t, "\ngot=hello")

	// Stopped, then lost: it must not go on.
	c.Out.Forget()
	c.Type(t, proctest.CtrlZ)
	c.Out.Await(t, "\ncode=149")
	lose()
	c.Type(t, "fg; echo code=$?\n")
	c.Out.Await(t, "\ncode=79")
	c.Type(t, "exit 9\n") // the shell has its terminal again
	p.WantCode(9)
}
