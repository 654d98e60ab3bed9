//go:build unix

package javazk

import (
	"testing"
	"time"
)

// A paused server is asked nothing, and can be stopped and killed.
func TestPause(t *testing.T) {
	e := startFake(t, 1)
	must(t, e.Pause(0))
	must(t, e.Pause(0)) // paused already
	if _, err := e.FourLetter(0, "ruok"); err == nil {
		t.Error("a paused server answered")
	}
	if n, err := e.WatchCount(); n != 0 || err != nil {
		t.Errorf("watches of a paused server: %d, %v", n, err)
	}
	if e.Leader() != -1 {
		t.Error("a paused server leads")
	}
	must(t, e.Resume(0))
	must(t, e.Resume(0)) // runs already
	must(t, e.WaitServing(10*time.Second))
	must(t, e.Pause(0))
	must(t, e.Stop(0))
	must(t, e.Start(0))
	must(t, e.Pause(0))
	must(t, e.Kill(0))
	if len(e.Pids()) != 0 {
		t.Errorf("processes %v", e.Pids())
	}
}
