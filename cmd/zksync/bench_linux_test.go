package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// On a terminal a line shows how far the measurement is. Ctrl-C leaves nothing behind,
// neither there nor in ZooKeeper.
func TestBenchOnATerminal(t *testing.T) {
	beside(t)
	c, addr := onEmbedded(t)
	p := parent(t, c, world)
	b := newBenchOn(t, addr, "--path", p, "--duration", "60s")
	b.Env = append(b.Env, "TERM=xterm")
	console := proctest.OnConsole(t, b, false)
	proctest.Eventually(t, "the progress", func() bool { return strings.Contains(console.Out.String(), " %  a free lock, one goroutine, zk.Lock") })
	console.Type(t, proctest.CtrlC)
	b.WantCode(exit.Signal + int(syscall.SIGINT))
	proctest.Eventually(t, "the empty line", func() bool { return strings.HasSuffix(console.Out.String(), "\x1b[0K") })
	wantEmpty(t, c, p)
}

func TestBenchOnADumbTerminal(t *testing.T) {
	beside(t)
	c, addr := onEmbedded(t)
	p := parent(t, c, world)
	b := newBenchOn(t, addr, "--path", p, "--duration", "100ms", "--sessions", "1", "--goroutines", "1")
	b.Env = append(b.Env, "TERM=dumb")
	console := proctest.OnConsole(t, b, false)
	b.WantCode(0)
	if strings.Contains(console.Out.String(), "\x1b") {
		t.Error("a control sequence for a terminal that knows none")
	}
}
