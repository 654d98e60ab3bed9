package zksync_test

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// What a lock costs is the number of its requests, counted on the wire.

// counted is a session whose traffic is counted. Its timeout is so long that
// neither pings nor probes come within a test.
type counted struct {
	*zksync.Session
	p      *zktest.Proxy
	events atomic.Int64 // watch events that came
}

func (z *site) counted(t testing.TB) *counted {
	t.Helper()
	c := &counted{p: z.proxied(t)}
	c.p.SetHook(func(f zktest.Frame) zktest.Action {
		if f.FromServer && f.Op == "notify" {
			c.events.Add(1)
		}
		return zktest.Pass
	})
	c.Session = dialTo(t, []string{c.p.Addr()}, zksync.WithSessionTimeout(time.Minute))
	c.take(t)
	return c
}

// ops is a number of requests of each kind.
type ops map[string]int

// take returns the requests since the last take.
func (c *counted) take(t testing.TB) ops {
	t.Helper()
	// What was handed to the client before this has been sent when it is
	// answered.
	if _, _, err := c.Conn().GetACL("/"); err != nil {
		t.Fatal(err)
	}
	m := ops(c.p.Requests())
	c.p.ResetRequests()
	for _, op := range []string{"connect", "ping", "getACL"} {
		delete(m, op)
	}
	return m
}

func (c *counted) wants(t testing.TB, what string, want ops) {
	t.Helper()
	if got := c.take(t); !maps.Equal(got, want) {
		t.Errorf("%s: requests %v, want %v", what, got, want)
	}
}

// stands waits until the session's entry in line waits for its blocker: it has
// set its two watches, on the blocker and on itself, and begins to wait.
func (c *counted) stands(t testing.TB) {
	t.Helper()
	eventually(t, "in line, with two watches", func() bool { return c.p.Requests()["getData"] == 2 })
	c.take(t) // the second watch has been answered before this was
}

// usedPath is a lock path whose nodes exist already.
func usedPath(t testing.TB, s *zksync.Session) string {
	p := lockPath(t)
	m := zksync.NewMutex(s, p)
	m.Lock()
	m.Unlock()
	return p
}

// lockWay is a way to wait for a lock; it returns what gives it back.
type lockWay func(ctx context.Context, m *zksync.Mutex) (free func() error, err error)

// lockWays are the ways there are.
var lockWays = map[string]lockWay{
	"Lock": func(_ context.Context, m *zksync.Mutex) (func() error, error) {
		m.Lock()
		return func() error { m.Unlock(); return nil }, nil
	},
	"LockContext": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		return func() error { return m.UnlockContext(ctx) }, m.LockContext(ctx)
	},
	"Hold": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		h, err := m.Hold(ctx)
		return func() error { return h.Release(ctx) }, err
	},
}
