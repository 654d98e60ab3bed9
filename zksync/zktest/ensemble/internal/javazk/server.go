package javazk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// server is one server of an ensemble. The first group of fields never changes, and
// Ensemble.mu guards the second.
type server struct {
	index    int // in the ensemble; ZooKeeper's own id is one more
	dir      string
	client   int // ports
	quorum   int
	election int

	proc   *process // nil before the first start
	paused bool
	cut    bool

	logStart int64 // where the log of the last start begins; Ensemble.control guards it
}

func (s *server) logPath() string { return filepath.Join(s.dir, "server.log") }

// launch starts the server's process, and does not wait until it answers.
func (e *Ensemble) launch(s *server) error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("ensemble: log of server %d: %w", s.index, err)
	}
	defer log.Close() // the process has its own
	if s.logStart, err = log.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("ensemble: log of server %d: %w", s.index, err)
	}
	cmd := e.command(s)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := e.spawner.start(cmd)
	if err != nil {
		return fmt.Errorf("ensemble: start of server %d: %w", s.index, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.proc, s.paused = p, false
	return nil
}

// failure returns the error of a server that did not come up: its cause, the end of
// the log, and errPortTaken if the log complains of that.
func (s *server) failure(cause error) error {
	if s.portTaken() {
		cause = errors.Join(cause, errPortTaken)
	}
	return fmt.Errorf("ensemble: server %d: %w\n%s", s.index, cause, s.tail(15))
}

// portTaken reports whether the server has complained, since its last start, of a
// port that it could not open. Not every such port makes the server end.
func (s *server) portTaken() bool {
	log, err := os.Open(s.logPath())
	if err != nil {
		return false
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, s.logStart, 1<<20))
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{
		"BindException",
		"Address already in use",
		"failed to initialize any of the following sockets",
	}, func(sign string) bool { return strings.Contains(string(text), sign) })
}

// tail returns the last lines of the server's log.
func (s *server) tail(n int) string {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
