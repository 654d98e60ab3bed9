//go:build unix

package proctest

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Output collects what a process prints. The zero value is empty. Its methods
// may be called by any goroutine.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the output.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// String returns the output so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Forget empties the output, so that Await looks only at what follows.
func (o *Output) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Reset()
}

// Await waits until text and the end of its line are printed. It returns the
// line after text.
func (o *Output) Await(t *testing.T, text string) (rest string) {
	t.Helper()
	Eventually(t, "output "+text, func() bool {
		_, after, found := strings.Cut(o.String(), text)
		rest, _, _ = strings.Cut(after, "\n")
		return found && strings.Contains(after, "\n")
	})
	return rest
}

// Eventually waits until cond holds.
func Eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(Limit)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited %v for %s", Limit, what)
		}
	}
}
