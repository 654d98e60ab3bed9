//go:build unix

package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoWorkers returns the process numbers of the workers that a demo without a
// terminal has started.
func demoWorkers(t *testing.T, p *process) (pids []int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`started(?: again)?, process (\d+)\n`).FindAllStringSubmatch(p.out.String(), -1) {
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
		eventually(t, "worker "+strconv.Itoa(pid)+" to be gone", func() bool { return !alive(pid) })
	}
}

func TestDemo(t *testing.T) {
	p := prepare(t, "zksync", "demo", "--workers", "3", "--duration", "6s").start()
	p.wantCode(0)
	out := p.out.String()
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
	if errs := p.err.String(); errs != "" {
		t.Errorf("stderr: %q", errs)
	}
	pids := demoWorkers(t, p)
	if len(pids) != 4 {
		t.Errorf("%d workers were started, want 3 and one again", len(pids))
	}
	wantNoWorkers(t, pids)
}

func TestDemoInterrupted(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := prepare(t, "zksync", "demo").start()
		p.out.await(t, " HOLDS the lock")
		p.signal(sig)
		p.wantCode(exitSignal + int(sig))
		wantNoWorkers(t, demoWorkers(t, p))
		if strings.Contains(p.out.String(), "no two holds overlapped") {
			t.Errorf("%v: a verdict on what was not shown", sig)
		}
	}
}

func TestDemoKilled(t *testing.T) {
	p := prepare(t, "zksync", "demo").start()
	p.out.await(t, " HOLDS the lock")
	p.signal(syscall.SIGKILL)
	p.wantCode(exitSignal + int(syscall.SIGKILL))
	wantNoWorkers(t, demoWorkers(t, p))
}

// Whoever has seen enough closes the pipe.
func TestDemoBrokenOutput(t *testing.T) {
	p := prepare(t, "zksync", "demo")
	p.Stdout = nil
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	p.wantCode(exitOS)
	p.err.await(t, "broken pipe")
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
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, says) || !strings.Contains(stderr, "zksync demo --help") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d and %q", args, code, stdout, stderr, exitUsage, says)
		}
	}
}

func TestDemoHelp(t *testing.T) {
	code, stdout, stderr := commandLine("demo", "--help")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	for _, want := range []string{"zksync demo [flags]", "(default 4)", "(default 10s)", "NO_COLOR", "Exit codes:", demoTimeout.String() + " here"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the help does not say %q:\n%s", want, stdout)
		}
	}
	for l := range strings.Lines(demoLong) {
		if len(strings.TrimRight(l, "\n")) > 80 {
			t.Errorf("wide line in the help: %q", l)
		}
	}
	if _, root, _ := commandLine("--help"); !strings.Contains(root, "zksync demo") || strings.Contains(root, workerRole) {
		t.Errorf("the root's help:\n%s", root)
	}
}

// Who sees the end of its hold's context says so, even if it is quicker than
// what the context calls.
func TestDemoWorkerTellsLoss(t *testing.T) {
	for range 2000 {
		held, lose := context.WithCancel(context.Background())
		ending := watchEnd(held)
		before := clock()
		go lose()
		<-held.Done()
		if end := ending(); end.What != saysLost || end.At < before || end.At > clock() {
			t.Fatalf("%+v, not between %d and %d", end, before, clock())
		}
	}
	held, lose := context.WithCancel(context.Background())
	defer lose()
	if end := watchEnd(held)(); end.What != saysRelease {
		t.Errorf("%+v, want a release", end)
	}
}

// A worker whose demo is gone ends, on systems too whose kernel does not see
// to that.
func TestDemoWorkerEndsWithStdin(t *testing.T) {
	p := prepare(t, "zksync", workerRole, "127.0.0.1:1", "worker 1", "1.5s")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	select {
	case <-p.done:
		t.Fatal("ended too early")
	case <-time.After(50 * time.Millisecond):
	}
	stdin.Close()
	p.wantCode(exitUnavailable)
}
