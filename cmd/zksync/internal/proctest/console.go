//go:build unix

package proctest

import (
	"bytes"
	"os"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
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
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
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

// Resize gives the terminal a size. A new one has none.
func (c *Console) Resize(t *testing.T, columns, lines int) {
	t.Helper()
	if err := pty.Setsize(c.master, &pty.Winsize{Cols: uint16(columns), Rows: uint16(lines)}); err != nil {
		t.Fatal(err)
	}
}
