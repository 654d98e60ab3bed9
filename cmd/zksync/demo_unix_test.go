//go:build unix

package main

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/demo"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// demoWorkers returns the process numbers of the workers that a demo without a
// terminal has started.
func demoWorkers(t *testing.T, p *proctest.Process) (pids []int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`started(?: again)?, process (\d+)\n`).FindAllStringSubmatch(p.Out.String(), -1) {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func wantNoWorkers(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		proctest.Eventually(t, "worker "+strconv.Itoa(pid)+" to be gone", func() bool { return !proctest.Alive(pid) })
	}
}

func TestDemo(t *testing.T) {
	long(t)
	p := proctest.Prepare(t, roleCommand, "demo", "--workers", "3", "--duration", "6s").Start()
	p.WantCode(0)
	out := p.Out.String()
	for _, want := range []string{
		"worker 1  started", "worker 3  started", "started again", " waits, place 1, behind worker ", " HOLDS the lock, fence ",
		" KILLED (kill -9) holding fence ", " CUT OFF holding fence ", " LOST the lock ", " back on the network",
		" REFUSED a late write of worker ", "releases after", "X", "!~~",
		"each larger than the one before: ", " 1 late and refused", "no two holds overlapped",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("a control sequence for no terminal")
	}
	if errs := p.Err.String(); errs != "" {
		t.Errorf("stderr: %q", errs)
	}
	pids := demoWorkers(t, p)
	if len(pids) != 4 {
		t.Errorf("%d workers were started, want 3 and one again", len(pids))
	}
	wantNoWorkers(t, pids)
}

// The demo shows a holder that is killed and one that is cut off, and ends when it is
// asked to.
func TestDemoBegins(t *testing.T) {
	beside(t)
	p := proctest.Prepare(t, roleCommand, "demo", "--workers", "3", "--duration", "6s").Start()
	for _, want := range []string{
		"worker 1  started", "worker 3  started", " HOLDS the lock, fence ", " waits, place 1, behind worker ",
		" KILLED (kill -9) holding fence ", "started again", " CUT OFF holding fence ", " LOST the lock ",
	} {
		p.Out.Await(t, want)
	}
	p.Signal(syscall.SIGTERM)
	p.WantCode(exit.Signal + int(syscall.SIGTERM))
	pids := demoWorkers(t, p)
	if len(pids) != 4 {
		t.Errorf("%d workers were started, want 3 and one again", len(pids))
	}
	wantNoWorkers(t, pids)
}

func TestDemoInterrupted(t *testing.T) {
	beside(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := proctest.Prepare(t, roleCommand, "demo").Start()
		p.Out.Await(t, " HOLDS the lock")
		p.Signal(sig)
		p.WantCode(exit.Signal + int(sig))
		wantNoWorkers(t, demoWorkers(t, p))
		if strings.Contains(p.Out.String(), "no two holds overlapped") {
			t.Errorf("%v: a verdict on what was not shown", sig)
		}
	}
}

func TestDemoKilled(t *testing.T) {
	p := proctest.Prepare(t, roleCommand, "demo").Start()
	p.Out.Await(t, " HOLDS the lock")
	p.Signal(syscall.SIGKILL)
	p.WantCode(exit.Signal + int(syscall.SIGKILL))
	wantNoWorkers(t, demoWorkers(t, p))
}

// A reader who has seen enough closes the pipe.
func TestDemoBrokenOutput(t *testing.T) {
	beside(t)
	p := proctest.Prepare(t, roleCommand, "demo")
	p.Stdout = nil
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	p.WantCode(exit.OS)
	p.Err.Await(t, "broken pipe")
}

func TestDemoUsage(t *testing.T) {
	for args, says := range map[string]string{
		"demo now":             "takes no arguments",
		"demo --workers 1":     "--workers 1: want 2 to 9",
		"demo --workers 10":    "--workers 10: want 2 to 9",
		"demo --duration 1s":   "--duration 1s: want 6s to 1m",
		"demo --duration 1h":   "want 6s to 1m",
		"demo --duration soon": "want a duration",
	} {
		code, stdout, stderr := commandLine(strings.Fields(args)...)
		if code != exit.Usage || stdout != "" || !strings.Contains(stderr, says) || !strings.Contains(stderr, "zksync demo --help") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d and %q", args, code, stdout, stderr, exit.Usage, says)
		}
	}
}

func TestDemoHelp(t *testing.T) {
	code, stdout, stderr := commandLine("demo", "--help")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"zksync demo [flags]", "(default 4)", "(default 10s)", "NO_COLOR", "Exit codes:", "1.5s here"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the help does not say %q:\n%s", want, stdout)
		}
	}
	for l := range strings.Lines(demo.Help) {
		if len(strings.TrimRight(l, "\n")) > 80 {
			t.Errorf("wide line in the help: %q", l)
		}
	}
	if _, root, _ := commandLine("--help"); !strings.Contains(root, "zksync demo") || strings.Contains(root, demo.WorkerCommand) {
		t.Errorf("the root's help:\n%s", root)
	}
}

// A worker whose demo is gone ends, also on systems whose kernel does not kill it.
func TestDemoWorkerEndsWithStdin(t *testing.T) {
	p := proctest.Prepare(t, roleCommand, demo.WorkerCommand, "127.0.0.1:1", "worker 1")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	select {
	case <-p.Done:
		t.Fatal("ended too early")
	case <-time.After(50 * time.Millisecond):
	}
	stdin.Close()
	p.WantCode(exit.Unavailable)
}
