package javazk

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// The log of a server's former life says nothing about its ports of today.
func TestLogOfAServer(t *testing.T) {
	s := &server{index: 1, dir: t.TempDir()}
	if s.portTaken() || s.tail(3) == "" {
		t.Error("without a log: a port is taken, or there is no error in place of the lines")
	}
	const before = "one\njava.net.BindException\n"
	must(t, os.WriteFile(s.logPath(), []byte(before+"two\nthree\n"), 0o644))
	if !s.portTaken() {
		t.Error("a port that is taken goes unseen")
	}
	if err := s.failure(errors.New("ended")); !errors.Is(err, errPortTaken) || !strings.HasSuffix(err.Error(), "two\nthree") {
		t.Errorf("error %v", err)
	}
	s.logStart = int64(len(before))
	if s.portTaken() {
		t.Error("a former life's port is taken")
	}
	if got := s.tail(2); got != "two\nthree" {
		t.Errorf("tail %q", got)
	}
}
