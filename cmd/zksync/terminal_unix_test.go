//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// terminal is a screen with a keyboard, and a process that uses it.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File
	done   chan struct{} // closed when the process has ended

	mu     sync.Mutex
	screen vt10x.Terminal // guarded by mu
	raw    strings.Builder
}

// onScreen starts p on a terminal of 100 columns and 24 lines.
func onScreen(t *testing.T, p *proctest.Process) *terminal {
	t.Helper()
	p.Stdout, p.Stderr = nil, nil
	p.Env = append(p.Env, "TERM=xterm-256color")
	master, err := pty.StartWithSize(p.Cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{cmd: p.Cmd, master: master, done: make(chan struct{}), screen: vt10x.New(vt10x.WithSize(100, 24))}
	var read sync.WaitGroup
	read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf) // fails when no process has the terminal
			if err != nil {
				return
			}
			s.mu.Lock()
			_, _ = s.screen.Write(buf[:n])
			s.raw.Write(buf[:n])
			s.mu.Unlock()
		}
	})
	go func() {
		defer close(s.done)
		_ = p.Cmd.Wait() // ProcessState says the same
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill() // fails if it has ended
		<-s.done
		master.Close()
		read.Wait()
		if t.Failed() {
			t.Logf("the screen:\n%s", s.text())
		}
	})
	return s
}

// text returns the lines on the screen.
func (s *terminal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for line := range strings.Lines(s.screen.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// shows waits until all of the texts are on the screen.
func (s *terminal) shows(t *testing.T, texts ...string) string {
	t.Helper()
	proctest.Eventually(t, "a screen with "+strings.Join(texts, ", "), func() bool {
		screen := s.text()
		for _, want := range texts {
			if !strings.Contains(screen, want) {
				return false
			}
		}
		return true
	})
	return s.text()
}

// press presses keys.
func (s *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.master, keys); err != nil {
		t.Fatal(err)
	}
}

// wantCode waits for the end of the process. The terminal is as it was before.
func (s *terminal) wantCode(t *testing.T, want int) {
	t.Helper()
	proctest.Eventually(t, "the end", func() bool {
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	if got := s.cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
	proctest.Eventually(t, "the normal screen", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.HasSuffix(strings.TrimSpace(s.raw.String()), "\x1b[?25h") || strings.LastIndex(s.raw.String(), "\x1b[?1049l") > strings.LastIndex(s.raw.String(), "\x1b[?1049h")
	})
}

// resize changes the size of the terminal.
func (s *terminal) resize(t *testing.T, columns, lines int) {
	t.Helper()
	s.mu.Lock()
	s.screen.Resize(columns, lines)
	s.mu.Unlock()
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
}
