package suite

import (
	"bytes"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// What a lock costs is the number of its requests, counted on the wire.

// Counted is a session whose traffic is counted. Its timeout is so long that
// neither pings nor probes come within a test.
type Counted struct {
	*zksync.Session
	Proxy  *ensemble.Proxy
	Events atomic.Int64 // watch events that came
	Looks  atomic.Int64 // requests for a lock node's data since the last Take
}

// Counted opens a session whose traffic is counted.
func (z *Ground) Counted(t testing.TB, opts ...zksync.DialOption) *Counted {
	t.Helper()
	c := &Counted{Proxy: z.Proxied(t)}
	c.Proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
		if f.FromServer && f.Op == "notify" {
			c.Events.Add(1)
		}
		if !f.FromServer && f.Op == "getData" && bytes.Contains(f.Payload, []byte("/_c_")) {
			c.Looks.Add(1)
		}
		return ensemble.Pass
	})
	c.Session = z.opened(DialTo(t, []string{c.Proxy.Addr()}, append([]zksync.DialOption{zksync.WithSessionTimeout(time.Minute)}, opts...)...))
	c.Take(t)
	return c
}

// Ops is a number of requests of each kind.
type Ops map[string]int

// Take returns the requests since the last take.
func (c *Counted) Take(t testing.TB) Ops {
	t.Helper()
	// What was handed to the client before this has been sent when it is
	// answered.
	if _, _, err := c.Conn().GetACL("/"); err != nil {
		t.Fatal(err)
	}
	m := Ops(c.Proxy.Requests())
	c.Proxy.ResetRequests()
	c.Looks.Store(0)
	for _, op := range []string{"connect", "ping", "getACL"} {
		delete(m, op)
	}
	return m
}

// Wants checks the requests since the last Take.
func (c *Counted) Wants(t testing.TB, what string, want Ops) {
	t.Helper()
	if got := c.Take(t); !maps.Equal(got, want) {
		t.Errorf("%s: requests %v, want %v", what, got, want)
	}
}

// Stands waits until the session's entry in line waits for its blocker: it has
// set its watches, on the blocker and perhaps on itself, and begins to wait.
func (c *Counted) Stands(t testing.TB) {
	t.Helper()
	Eventually(t, "in line, with a watch", func() bool { return c.Looks.Load() > 0 })
	c.Take(t) // both watches are in one write, and have been answered before this was
}

// Sum is the number of requests of all kinds.
func (m Ops) Sum() (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

// Watched waits until the session has set the watch on the node of a hold, which it does
// when the hold is 10 ms old.
func (c *Counted) Watched(t testing.TB) {
	t.Helper()
	Eventually(t, "the node of the hold is watched", func() bool { return c.Looks.Load() > 0 })
}

// LineCall is a call that waits.
type LineCall struct{ done chan func() error }

// CallInLine makes a call that waits, and returns when it stands in line.
func CallInLine(t *testing.T, s *Counted, p string, lock Way) LineCall {
	t.Helper()
	w := LineCall{done: make(chan func() error, 1)}
	ctx := Context(t)
	go func() {
		free, err := lock.Lock(ctx, zksync.NewMutex(s.Session, p))
		if err != nil {
			t.Error(err)
			free = nil
		}
		w.done <- free
	}()
	s.Stands(t)
	return w
}

// Held waits for the grant, and returns what gives the lock back.
func (w LineCall) Held(t *testing.T) (free func() error) {
	t.Helper()
	select {
	case free = <-w.done:
	case <-time.After(20 * time.Second):
	}
	if free == nil {
		t.Fatal("the lock was not granted")
	}
	return free
}

// Waits checks that the call has not been granted.
func (w LineCall) Waits(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
		t.Fatal("the lock was granted to two")
	default:
	}
}
