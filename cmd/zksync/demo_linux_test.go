package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	greenHold  = "\x1b[30;42m"
)

func TestDemoTerminal(t *testing.T) {
	long(t)
	p := proctest.Prepare(t, roleCommand, "demo", "--duration", "6s")
	p.Env = append(p.Env, "TERM=xterm", "NO_COLOR=")
	c := proctest.OnConsole(t, p, false)
	p.WantCode(0)
	proctest.Eventually(t, "the end", func() bool { return strings.HasSuffix(c.Out.String(), showCursor) })
	out := c.Out.String()
	for _, want := range []string{hideCursor, greenHold, "worker 4", "0 s", "KILLED", "no two holds overlapped", "\x1b[K"} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal has not seen %q", want)
		}
	}
	if strings.Contains(out, "waits, place") {
		t.Error("the picture's own events are in the log below it")
	}
}

// With NO_COLOR there is a picture without colours.
func TestDemoTerminalCtrlC(t *testing.T) {
	p := proctest.Prepare(t, roleCommand, "demo")
	p.Env = append(p.Env, "TERM=xterm", "NO_COLOR=1")
	c := proctest.OnConsole(t, p, false)
	proctest.Eventually(t, "a hold", func() bool { return strings.Contains(c.Out.String(), "1 hold\x1b[K") })
	c.Type(t, proctest.CtrlZ) // does nothing: the verdict would be wrong
	c.Type(t, proctest.CtrlC)
	p.WantCode(exit.Signal + int(syscall.SIGINT))
	proctest.Eventually(t, "the cursor", func() bool { return strings.Contains(c.Out.String(), showCursor) })
	if color := regexp.MustCompile(`\x1b\[[0-9;]*[349][0-7]\b.*`).FindString(c.Out.String()); color != "" {
		t.Errorf("colours with NO_COLOR: %q", color)
	}
}

func TestDemoDumbTerminal(t *testing.T) {
	beside(t)
	p := proctest.Prepare(t, roleCommand, "demo")
	p.Env = append(p.Env, "TERM=dumb")
	c := proctest.OnConsole(t, p, false)
	c.Out.Await(t, " HOLDS the lock")
	c.Type(t, proctest.CtrlC)
	p.WantCode(exit.Signal + int(syscall.SIGINT))
	if strings.Contains(c.Out.String(), "\x1b") {
		t.Error("a control sequence for a terminal that knows none")
	}
}
