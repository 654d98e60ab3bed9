package costs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestRequestsOfAFreeLock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, z.UsedPath(t, s.Session))
		s.Take(t)
		for _, way := range suite.Waiting {
			for range 3 {
				free, err := way.Lock(suite.Context(t), m)
				if err != nil {
					t.Fatal(err)
				}
				want := suite.Ops{"create": 1, "getChildren2": 1, "delete": 1}
				if way.Name == "Hold" {
					s.Watched(t)
					want["getData"] = 1
				}
				if err := free(); err != nil {
					t.Fatal(err)
				}
				s.Wants(t, way.Name, want)
			}
		}
		if err := m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { s.Watched(t); return nil }); err != nil {
			t.Fatal(err)
		}
		s.Wants(t, "Do", suite.Ops{"create": 1, "getChildren2": 1, "getData": 1, "delete": 1})
	}, suite.Smoke)
}

// A short hold does not read its node: the answer to the create has the fence. When the
// hold is 10 ms old, its node is watched.
func TestRequestsOfAShortHold(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		srv.Heal() // no jitter
		s := z.Via(t, srv.Dial)
		for name, lock := range map[string]zksync.Locker{
			"Mutex": zksync.NewMutex(s, "/m"),
			"Multi": zksync.NewMulti(zksync.NewMutex(s, "/a"), zksync.NewMutex(s, "/b")),
		} {
			suite.LockAndUnlock(t, lock)
			before := s.Stats().Requests
			h, err := lock.Hold(suite.Context(t))
			suite.Must(t, err)
			if h.Fence() == 0 || h.Fence() != srv.Zxid() {
				t.Errorf("%s: fence %d, want %d", name, h.Fence(), srv.Zxid())
			}
			suite.Must(t, h.Release(suite.Context(t)))
			places := int64(1)
			if name == "Multi" {
				places = 2
			}
			if n := s.Stats().Requests - before; n != 2+places {
				t.Errorf("%s: a short hold has made %d requests, want %d", name, n, 2+places)
			}
			h, err = lock.Hold(suite.Context(t))
			suite.Must(t, err)
			time.Sleep(9 * time.Millisecond)
			before = s.Stats().Requests
			time.Sleep(2 * time.Millisecond)
			if n := s.Stats().Requests - before; n != places {
				t.Errorf("%s: %d requests when the hold was 10 ms old, want %d", name, n, places)
			}
			suite.Must(t, h.Release(suite.Context(t)))
		}
	})
}

func TestRequestsOfAHandOver(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, z.UsedPath(t, s.Session))
		m.Lock()
		s.Take(t)
		next := make(chan error, 1)
		go func() { next <- m.LockContext(suite.Context(t)) }()
		suite.Eventually(t, "the second call waits", func() bool { return s.Stats().Waiting == 1 })
		suite.Eventually(t, "the node is watched", func() bool { return s.Proxy.Requests()["getData"] == 1 })
		s.Wants(t, "waiting for the goroutine next door", suite.Ops{"getData": 1})
		m.Unlock()
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		s.Wants(t, "hand-over", suite.Ops{})
		if n := s.Stats().Handoffs; n != 1 {
			t.Errorf("%d hand-overs, want 1", n)
		}
		m.Unlock()
		s.Wants(t, "unlock with nobody waiting", suite.Ops{"delete": 1})
	}, suite.Smoke)
}

func TestRequestsFromDeletedToHeld(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		first, second, third := z.Counted(t), z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, first.Session)
		for _, way := range suite.Waiting {
			t.Run(way.Name, func(t *testing.T) {
				m := zksync.NewMutex(first.Session, p)
				m.Lock()
				first.Take(t)
				second.Take(t)
				third.Take(t)
				b := suite.CallInLine(t, second, p, way)
				c := suite.CallInLine(t, third, p, way)

				m.Unlock()
				free := b.Held(t)
				first.Wants(t, "the release", suite.Ops{"delete": 1})
				second.Wants(t, "next in line, only the holder ahead", suite.Ops{})
				third.Wants(t, "further back", suite.Ops{})

				if err := free(); err != nil {
					t.Fatal(err)
				}
				free = c.Held(t)
				third.Wants(t, "deeper in line", suite.Ops{"getChildren2": 1})
				if err := free(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// Further back nobody proves that the session lives: that would be a
// transaction every T/6 for everybody in line. After more than T/2 without one
// the turn costs the proof, too.
func TestRequestsAfterALongWait(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		first, second := z.Counted(t), z.Counted(t)
		third := &suite.Counted{Proxy: z.Proxied(t)}
		third.Session = suite.DialTo(t, []string{third.Proxy.Addr()}, zksync.WithSessionTimeout(2*time.Second))
		third.Take(t)
		p := z.UsedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		b := suite.CallInLine(t, second, p, suite.LockContext)
		c := suite.CallInLine(t, third, p, suite.LockContext)
		time.Sleep(third.Timeout()/2 + 100*time.Millisecond)
		m.Unlock()
		free := b.Held(t)
		third.Wants(t, "further back", suite.Ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
		free = c.Held(t)
		third.Wants(t, "deeper in line, after T/2", suite.Ops{"getChildren2": 1, "multi": 1})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}

// The node behind a waiter that left moves up and waits on.
func TestRequestsWhenAMiddleWaiterLeaves(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		first, second, third := z.Counted(t), z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		ctx, cancel := context.WithCancel(suite.Context(t))
		left := make(chan error, 1)
		go func() { left <- zksync.NewMutex(second.Session, p).LockContext(ctx) }()
		second.Stands(t)
		c := suite.CallInLine(t, third, p, suite.LockContext)
		first.Take(t)

		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call returned %v", err)
		}
		suite.Eventually(t, "the one behind watches the holder", func() bool { return third.Proxy.Requests()["getData"] == 1 })
		second.Wants(t, "leaving", suite.Ops{"delete": 1})
		third.Wants(t, "moving up", suite.Ops{"getChildren2": 1, "getData": 1})
		c.Waits(t)

		m.Unlock()
		free := c.Held(t)
		third.Wants(t, "next in line by now", suite.Ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}
