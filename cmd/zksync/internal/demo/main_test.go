package demo

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHelpNamesTheSessionTimeout(t *testing.T) {
	if want := " " + sessionTimeout.String() + " here"; !strings.Contains(Help, want) {
		t.Errorf("the help does not say %q", want)
	}
	for l := range strings.Lines(Help) {
		if len(strings.TrimRight(l, "\n")) > 80 {
			t.Errorf("wide line in the help: %q", l)
		}
	}
}
