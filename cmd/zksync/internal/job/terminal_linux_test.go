package job_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

func TestTerminalCommandReads(t *testing.T) {
	p, _ := newJob(t, "1s", "read line; echo got=$line; exit 3")
	c := proctest.OnConsole(t, p, false)
	c.Type(t, "hello\n")
	c.Out.Await(t, "got=hello")
	p.WantCode(3)
}

// A command whose stdin and stdout are the terminal has the foreground before it asks.
func TestTerminalIsOffered(t *testing.T) {
	p, _ := newJob(t, "1s", "echo pid $$; exec sleep 60")
	c := proctest.OnConsole(t, p, false)
	command, err := strconv.Atoi(c.Out.Await(t, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	proctest.Eventually(t, "the command to have the foreground", func() bool {
		out, err := exec.Command("ps", "-o", "tpgid=", "-p", strconv.Itoa(command)).Output()
		return err == nil && strings.TrimSpace(string(out)) == strconv.Itoa(command)
	})
	c.Type(t, proctest.CtrlC)
	p.WantCode(exit.Signal + int(syscall.SIGINT))
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
	c.Out.Await(t, "zksync: not stopped: no shell could continue the command")
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
	return inShellAs(t, p, `eval "$JOB"; echo "code=$?"`)
}

// inShellAs gives an interactive shell a line, in which $JOB is p's command line.
func inShellAs(t *testing.T, p *proctest.Process, line string) *proctest.Console {
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
	c.Type(t, line+"\n")
	return c
}

// A neighbour in a pipeline that uses the terminal gets what is typed. The command has
// not asked for the terminal, and does not notice.
func TestTerminalOfANeighbour(t *testing.T) {
	p, _ := newJob(t, "1s", `echo start; read go <"$FIFO"; echo end; exit 3`)
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "FIFO="+fifo)
	c := inShellAs(t, p, `eval "exec $JOB" | { read start; echo "it's $start"; read x </dev/tty; echo "neighbour=$x"; echo >"$FIFO"; cat; }; echo "code=${PIPESTATUS[0]}"`)
	c.Out.Await(t, "\nit's start")
	c.Type(t, "secret\n")
	c.Out.Await(t, "\nneighbour=secret")
	c.Out.Await(t, "\nend")
	c.Out.Await(t, "\ncode=3")
	c.Type(t, "exit\n")
	p.WantCode(0)
}

// A neighbour that uses the terminal after the command has asked for it gets it from
// the command. Neither the program nor the neighbour stays stopped.
func TestTerminalGoesBackToANeighbour(t *testing.T) {
	for name, neighbour := range map[string]string{
		"reads":          `read x </dev/tty`,
		"sets and reads": `stty -echo </dev/tty; read x </dev/tty; stty echo </dev/tty`,
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newJob(t, "1s", `read x </dev/tty; echo "command=$x" >&2; echo turn; read go <"$FIFO"; echo $go; exit 3`)
			fifo := filepath.Join(t.TempDir(), "go")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			p.Env = append(p.Env, "FIFO="+fifo)
			c := inShellAs(t, p, `eval "exec $JOB" | { read turn; echo "its $turn"; `+neighbour+`; echo "neighbour=$x"; echo end >"$FIFO"; cat; }; echo "code=${PIPESTATUS[0]}"`)
			c.Type(t, "first\n")
			c.Out.Await(t, "\ncommand=first")
			c.Out.Await(t, "\nits turn")
			c.Type(t, "second\n")
			c.Out.Await(t, "\nneighbour=second")
			c.Out.Await(t, "\nend")
			c.Out.Await(t, "\ncode=3")
			c.Type(t, "exit\n")
			p.WantCode(0)
			if strings.Contains(c.Out.String(), "topped") {
				t.Error("the job was stopped")
			}
		})
	}
}

// In the background of an orphaned group a command does not get the terminal. Its use
// of the terminal fails, as it would without the program, which says so once.
func TestTerminalInAnOrphanedBackground(t *testing.T) {
	p, _ := newJob(t, "1s", `echo up >"$FIFO"; read line </dev/tty || echo "read fails"; read line </dev/tty || echo "and again"; exit 3`)
	fifo := filepath.Join(t.TempDir(), "up")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "FIFO="+fifo)
	// The shell between is gone before the command goes on.
	c := inShellAs(t, p, `(eval "{ $JOB; echo code=\$?; } &"); read up <"$FIFO"; echo "orphan is $up"`)
	c.Out.Await(t, "\norphan is up")
	c.Out.Await(t, "zksync: the command wants the terminal, which it can't get here")
	c.Out.Await(t, "read fails")
	c.Out.Await(t, "and again")
	c.Out.Await(t, "code=3")
	if n := strings.Count(c.Out.String(), "zksync: "); n != 1 {
		t.Errorf("%d lines, want one", n)
	}
	c.Type(t, "exit\n")
	p.WantCode(0)
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
	c.Out.Await(t, "\ncode=147") // the shell is back
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
	c.Out.Await(t, "\ncode=147")
	lose()
	c.Type(t, "fg; echo code=$?\n")
	c.Out.Await(t, "\ncode=79")
	c.Type(t, "exit 9\n") // the shell has its terminal again
	p.WantCode(9)
}

// A neighbour in the background that uses the terminal stops the whole job, as without the
// program. The shell can bring all of it to the foreground.
func TestTerminalOfANeighbourInTheBackground(t *testing.T) {
	p, _ := newJob(t, "1s", `echo pid $$ >&2; echo turn; read go <"$FIFO"; echo $go; exit 3`)
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "FIFO="+fifo)
	c := inShellAs(t, p, `eval "exec $JOB" | { read turn; read x </dev/tty; echo "neighbour=$x"; echo end >"$FIFO"; cat; } &`)
	command, err := strconv.Atoi(c.Out.Await(t, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	c.Out.Await(t, "zksync: stopped; /lock is lost if that lasts")
	proctest.Eventually(t, "the command to stop", func() bool { return proctest.State(command) == 'T' })
	c.Type(t, "until jobs -s | grep -q Stopped; do :; done; fg; echo code=${PIPESTATUS[0]}\n")
	c.Type(t, "second\n")
	c.Out.Await(t, "\nneighbour=second")
	c.Out.Await(t, "\nend")
	c.Type(t, "exit 9\n")
	p.WantCode(9)
}
