package javazk

import (
	"os"
	"os/exec"
	"testing"
)

func sleeper(t *testing.T, s *spawner) *process {
	t.Helper()
	t.Setenv(fakeEnv, "sleeps")
	p, err := s.start(exec.Command(os.Args[0]))
	must(t, err)
	return p
}

func TestSpawner(t *testing.T) {
	s := newSpawner()
	defer s.close()
	if _, err := s.start(exec.Command("/nowhere/at/all")); err == nil {
		t.Error("a command that does not exist was started")
	}
	a, b := sleeper(t, s), sleeper(t, s)
	if a.exited() || b.exited() || a.pid() == b.pid() {
		t.Fatal("no two processes")
	}
	a.kill()
	a.kill() // gone already
	if !a.exited() || a.err == nil || b.exited() {
		t.Errorf("killed: %v (%v), the other: %v", a.exited(), a.err, b.exited())
	}
	must(t, b.terminate())
	<-b.done
}
