package javazk

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The leader is asked to close the session, and Expire returns once it does not
// know it any more.
func TestExpireTellsTheLeader(t *testing.T) {
	e := startFake(t, 3)
	const id, other = 0x10, "\t0x20\nephemeral nodes dump:\nConnections dump:\n\t0x10\n"
	answers(t, e, 0, "dump", "SessionTracker dump:\n\t0x10\n"+other)
	done := make(chan error)
	go func() { done <- e.Expire(id) }()
	eventually(t, "the leader hears of it", func() bool {
		heard, err := os.ReadFile(filepath.Join(e.servers[0].dir, "heard"))
		return err == nil && bytes.Equal(heard, closeAsObserver(id))
	})
	select {
	case err := <-done:
		t.Fatalf("returned before the session was gone: %v", err)
	default:
	}
	answers(t, e, 0, "dump", "SessionTracker dump:\n"+other)
	must(t, <-done)
	if err := e.Expire(0); err == nil {
		t.Error("Expire(0): no error")
	}
}
