// Package bubble runs tests in the bubbles of package synctest, with the race
// detector, too.
package bubble

import (
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test]. With the race detector the process has one processor until
// it returns.
//
// All goroutines of a bubble that find a timer due use one context of the race
// detector, which is not made for two threads at a time: its runtime ends the
// process, or writes over memory that is not its own (golang/go#78156; Go 1.26's
// runtime/time.go, unlockAndRun).
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	enter()
	defer leave()
	synctest.Test(t, f)
}
