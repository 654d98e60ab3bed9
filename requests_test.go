package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// What a lock costs is the number of its requests, counted here on the wire.

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
	c.events.Store(0)
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

// made has a lock path whose nodes exist already.
func made(t testing.TB, s *zksync.Session) string {
	p := lockPath(t)
	m := zksync.NewMutex(s, p)
	m.Lock()
	m.Unlock()
	return p
}

// lockWays are the ways to wait for a lock; each returns what gives it back.
var lockWays = map[string]func(ctx context.Context, m *zksync.Mutex) (func() error, error){
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

func TestRequestsOfAFreeLock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, made(t, s.Session))
		s.take(t)
		for way, f := range lockWays {
			for range 3 {
				free, err := f(short(t), m)
				if err == nil {
					err = free()
				}
				if err != nil {
					t.Fatal(err)
				}
				want := ops{"create": 1, "getChildren2": 1, "delete": 1}
				if way == "Hold" {
					want["getData"] = 1 // the fence, beside the listing
				}
				s.wants(t, way, want)
			}
		}
		if err := m.Do(short(t), func(context.Context, *zksync.Hold) error { return nil }); err != nil {
			t.Fatal(err)
		}
		s.wants(t, "Do", ops{"create": 1, "getChildren2": 1, "getData": 1, "delete": 1})
	})
}

func TestRequestsOfAHandOver(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, made(t, s.Session))
		m.Lock()
		s.take(t)
		next := make(chan error, 1)
		go func() { next <- m.LockContext(short(t)) }()
		eventually(t, "the second call waits", func() bool { return s.Stats().Waiting == 1 })
		eventually(t, "the node is watched", func() bool { return s.p.Requests()["getData"] == 1 })
		// The watch is in force once its answer has been looked at, which
		// nothing outside shows: until then the node is looked at again, and
		// that takes the request which this test says is not made.
		s.wants(t, "waiting for the goroutine next door", ops{"getData": 1})
		eventually(t, "handed over", func() bool {
			m.Unlock()
			select {
			case err := <-next:
				if err != nil {
					t.Fatal(err)
				}
				return true
			case <-time.After(10 * time.Second):
				t.Fatal("not handed over")
				return false
			}
		})
		s.wants(t, "hand-over", ops{})
		if n := s.Stats().Handoffs; n != 1 {
			t.Errorf("%d hand-overs, want 1", n)
		}
		m.Unlock()
		s.wants(t, "unlock with nobody waiting", ops{"delete": 1})
	})
}

func TestRequestsFromDeletedToHeld(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		first, second, third := z.counted(t), z.counted(t), z.counted(t)
		p := made(t, first.Session)
		for way, lock := range lockWays {
			t.Run(way, func(t *testing.T) {
				m := zksync.NewMutex(first.Session, p)
				m.Lock()
				first.take(t)
				second.take(t)
				third.take(t)
				b := waitInLine(t, second, p, lock)
				c := waitInLine(t, third, p, lock)

				m.Unlock()
				free := b.held(t)
				first.wants(t, "the release", ops{"delete": 1})
				second.wants(t, "next in line, only the holder ahead", ops{})
				third.wants(t, "further back", ops{})

				if err := free(); err != nil {
					t.Fatal(err)
				}
				free = c.held(t)
				third.wants(t, "deeper in line", ops{"getChildren2": 1})
				if err := free(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// Lesson 26: who stood behind a waiter that left moves up and waits on.
func TestRequestsWhenAMiddleWaiterLeaves(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		first, second, third := z.counted(t), z.counted(t), z.counted(t)
		p := made(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		ctx, cancel := context.WithCancel(short(t))
		left := make(chan error, 1)
		go func() { left <- zksync.NewMutex(second.Session, p).LockContext(ctx) }()
		second.stands(t)
		c := waitInLine(t, third, p, lockWays["LockContext"])
		first.take(t)

		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call returned %v", err)
		}
		eventually(t, "the one behind watches the holder", func() bool { return third.p.Requests()["getData"] == 1 })
		second.wants(t, "leaving", ops{"delete": 1})
		third.wants(t, "moving up", ops{"getChildren2": 1, "getData": 1})
		c.waits(t)

		m.Unlock()
		free := c.held(t)
		third.wants(t, "next in line by now", ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}

// inLine is a call that waits.
type inLine struct{ done chan func() error }

func waitInLine(t *testing.T, s *counted, p string, lock func(context.Context, *zksync.Mutex) (func() error, error)) inLine {
	t.Helper()
	w := inLine{done: make(chan func() error, 1)}
	ctx := short(t)
	go func() {
		free, err := lock(ctx, zksync.NewMutex(s.Session, p))
		if err != nil {
			t.Error(err)
			free = nil
		}
		w.done <- free
	}()
	s.stands(t)
	return w
}

func (w inLine) held(t *testing.T) (free func() error) {
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

func (w inLine) waits(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
		t.Fatal("the lock was granted to two")
	default:
	}
}

func TestRequestsOfARefusedTry(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		holder, s := z.counted(t), z.counted(t)
		p := made(t, holder.Session)
		zksync.NewMutex(holder.Session, p).Lock()
		holder.take(t)
		raw := z.raw(t)
		_, before, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		watches, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		m := zksync.NewMutex(s.Session, p)
		for i := range 10 {
			if m.TryLock() {
				t.Fatal("TryLock of a held lock")
			}
			s.wants(t, "TryLock", ops{"getChildren2": 1})
			if ok, err := m.TryLockContext(short(t)); ok || err != nil {
				t.Fatalf("TryLockContext of a held lock: %v, %v", ok, err)
			}
			s.wants(t, "TryLockContext", ops{"getChildren2": 1})
			if _, err := m.TryHold(short(t)); !errors.Is(err, zksync.ErrBusy) {
				t.Fatalf("TryHold of a held lock: %v", err)
			}
			s.wants(t, fmt.Sprintf("TryHold, round %d", i), ops{"getChildren2": 1})
			// The holder's own session knows without asking.
			if zksync.NewMutex(holder.Session, p).TryLock() {
				t.Fatal("TryLock of a lock that is held next door")
			}
			holder.wants(t, "TryLock in the holder's session", ops{})
		}
		_, after, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		if before.Cversion != after.Cversion || before.NumChildren != after.NumChildren {
			t.Errorf("a refused try has made a node: cversion %d, was %d", after.Cversion, before.Cversion)
		}
		if n, err := z.watches(); err != nil || n != watches {
			t.Errorf("%d watches (%v), were %d", n, err, watches)
		}
	})
}

// The client can't take a watch back, so that each try which sets one of its
// own would leave it.
func TestLesson31_TimedOutTriesLeaveNothing(t *testing.T) {
	const tries, workers = 10_000, 4
	onServers(t, func(t *testing.T, z *site) {
		holder, s := z.dial(t), z.dial(t)
		p := lockPath(t)
		zksync.NewMutex(holder, p).Lock()
		before, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		start, made := time.Now(), s.Stats().Requests
		var left atomic.Int64
		left.Store(tries)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				m := zksync.NewMutex(s, p)
				for n := left.Add(-1); n >= 0; n = left.Add(-1) {
					if n%2 == 0 {
						if m.TryLock() {
							t.Error("TryLock of a held lock")
						}
						continue
					}
					// From before the create to after the watch.
					ctx, cancel := context.WithTimeout(context.Background(), rand.N(6*time.Millisecond))
					if err := m.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("LockContext of a held lock: %v", err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		eventually(t, "only the holder's node is left", func() bool {
			return s.Stats().CleanupPending == 0 && len(children(t, s.Conn(), p)) == 1
		})
		after, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		if after-before > 2 {
			t.Errorf("%d timed-out tries have left %d watches, want 2 at most", tries, after-before)
		}
		t.Logf("%d tries in %v: %d requests, %d watches left", tries, time.Since(start).Round(time.Millisecond),
			s.Stats().Requests-made, after-before)
		zksync.NewMutex(holder, p).Unlock()
		z.empty(t, p)
	})
}

// A release wakes exactly one session, and nobody else hears of it.
func TestReleaseWakesOneSession(t *testing.T) {
	const n = 6
	onServers(t, func(t *testing.T, z *site) {
		first := z.counted(t)
		p := made(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		var line []*counted
		var calls []inLine
		for range n {
			s := z.counted(t)
			line = append(line, s)
			calls = append(calls, waitInLine(t, s, p, lockWays["LockContext"]))
		}
		first.take(t)
		free := func() error { return m.UnlockContext(short(t)) }
		for i := range line {
			if err := free(); err != nil {
				t.Fatal(err)
			}
			free = calls[i].held(t)
			for j, s := range line[i:] {
				calls := int64(0)
				if j == 0 {
					calls = 1
				}
				if got := s.events.Load(); got != calls {
					t.Errorf("release %d: session %d got %d watch events, want %d", i, i+j, got, calls)
				}
				want := ops{}
				if i > 0 && j == 0 {
					want["getChildren2"] = 1
				}
				s.wants(t, fmt.Sprintf("release %d, session %d", i, i+j), want)
			}
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}
