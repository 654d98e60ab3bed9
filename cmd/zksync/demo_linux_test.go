package main

import (
	"strings"
	"syscall"
	"testing"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	greenHold  = "\x1b[30;42m"
)

func TestDemoTerminal(t *testing.T) {
	p := prepare(t, "zksync", "demo", "--duration", "6s")
	p.Env = append(p.Env, "TERM=xterm", "NO_COLOR=")
	c := onConsole(t, p, false)
	p.wantCode(0)
	eventually(t, "the end", func() bool { return strings.HasSuffix(c.out.String(), showCursor) })
	out := c.out.String()
	for _, want := range []string{hideCursor, greenHold, "worker 4", "0 s", "KILLED", "no two holds overlapped", "\x1b[0K"} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal has not seen %q", want)
		}
	}
	if strings.Contains(out, "waits, place") {
		t.Error("the picture's own events are in the log below it")
	}
}

// NO_COLOR leaves the picture, and takes its colours.
func TestDemoTerminalCtrlC(t *testing.T) {
	p := prepare(t, "zksync", "demo")
	p.Env = append(p.Env, "TERM=xterm", "NO_COLOR=1")
	c := onConsole(t, p, false)
	eventually(t, "a hold", func() bool { return strings.Contains(c.out.String(), "holds\x1b[0K") })
	c.typeIn(t, ctrlZ) // does nothing: the verdict would be wrong
	c.typeIn(t, ctrlC)
	p.wantCode(exitSignal + int(syscall.SIGINT))
	eventually(t, "the cursor", func() bool { return strings.Contains(c.out.String(), showCursor) })
	if strings.Contains(c.out.String(), "\x1b[0m") {
		t.Error("colours with NO_COLOR")
	}
}

func TestDemoDumbTerminal(t *testing.T) {
	p := prepare(t, "zksync", "demo")
	p.Env = append(p.Env, "TERM=dumb")
	c := onConsole(t, p, false)
	c.out.await(t, " HOLDS the lock")
	c.typeIn(t, ctrlC)
	p.wantCode(exitSignal + int(syscall.SIGINT))
	if strings.Contains(c.out.String(), "\x1b") {
		t.Error("a control sequence for a terminal that knows none")
	}
}
