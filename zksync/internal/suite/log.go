package suite

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Notes is a log that can be read.
type Notes struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

// Write takes what a logger writes.
func (n *Notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.Write(p)
}

// String is all that was written.
func (n *Notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.buf.String()
}

// Count is the number of lines that hold all of the texts.
func (n *Notes) Count(texts ...string) int {
	found := 0
	for line := range strings.Lines(n.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			found++
		}
	}
	return found
}

// Logger logs to the test, as long as it runs.
func Logger(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.stop)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

type testWriter struct {
	mu sync.Mutex
	t  testing.TB
}

// Write logs a line to the test.
func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

func (w *testWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}
