package suite

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// The short form of the tests is for whoever has just changed something: it leaves
// out what takes long, and shows on the embedded server, in virtual time where that
// can be, what the long form shows on real ZooKeeper and in real time, too.

// IsLong reports whether the long form is asked for.
func IsLong() bool { return os.Getenv("ZKSYNC_LONG") == "1" }

// skipped is how many tests the short form has left out.
var skipped atomic.Int64

// Long skips a test in the short form.
func Long(t testing.TB) {
	t.Helper()
	if IsLong() {
		return
	}
	skipped.Add(1)
	t.Skip("in the long form only: ZKSYNC_LONG=1")
}

// LongOr is the first number in the long form, and the second one in the short form.
func LongOr[T any](long, short T) T {
	if IsLong() {
		return long
	}
	return short
}

// Parallel is t.Parallel for a test that goes on to [Each] or [EachSession], which
// say so themselves in the short form.
func Parallel(t *testing.T) {
	if IsLong() {
		t.Parallel()
	}
}

// Beside is t.Parallel in the short form only, where more tests run side by side.
func Beside(t *testing.T) {
	if !IsLong() {
		t.Parallel()
	}
}

// onReal is how many times the tests have been given a real server.
var onReal atomic.Int64

// TellForm says once for a package in which form it ran.
func TellForm() {
	var line string
	switch n := skipped.Load(); {
	case IsLong():
		line = fmt.Sprintf("LONG FORM, %d times on real ZooKeeper", onReal.Load())
	case n > 0:
		line = fmt.Sprintf("SHORT FORM, %d tests left out (ZKSYNC_LONG=1 runs them, all on real ZooKeeper, too)", n)
	default:
		return
	}
	Tell(line)
}

// Tell shows a line about the tests of a package, also if they pass and nobody has
// asked for more than that.
func Tell(line string) {
	line = strings.TrimSuffix(filepath.Base(os.Args[0]), ".test") + ": " + line
	log.Print(line)
	tellGo(line)
}
