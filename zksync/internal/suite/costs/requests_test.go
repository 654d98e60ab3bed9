package costs_test

import (
	"context"
	"errors"
	"maps"
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
		suite.LockAndUnlock(t, m)
		s.Wants(t, "the second use, from which on the path is watched", suite.Ops{"create": 1, "getChildren2": 1, "getData": 1, "delete": 1})
		for _, way := range suite.Waiting {
			for range 3 {
				free, err := way.Lock(suite.Context(t), m)
				suite.Must(t, err)
				suite.Must(t, free())
				want := suite.Ops{"create": 1, "delete": 1}
				if got := s.Take(t); got["getData"] > 0 && way.Name == "Hold" {
					t.Logf("%s took more than 10 ms: %v", way.Name, got)
				} else if !maps.Equal(got, want) {
					t.Errorf("%s: requests %v, want %v", way.Name, got, want)
				}
			}
		}
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		s.Watched(t)
		suite.Must(t, h.Release(suite.Context(t)))
		s.Wants(t, "a longer Hold", suite.Ops{"create": 1, "getData": 1, "delete": 1})
		suite.Must(t, m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error {
			suite.Eventually(t, "the node of a Do is read", func() bool { return s.Looks.Load() == 1 })
			return nil
		}))
		s.Wants(t, "Do", suite.Ops{"create": 1, "getData": 1, "delete": 1})
	}, suite.Smoke)
}

// The next call does not wait for the answer to the deletion of the one before.
func TestRequestsOfManyPlainLocks(t *testing.T) {
	const n = 50
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		p := z.UsedPath(t, s.Session)
		m, rw, sem := zksync.NewMutex(s.Session, p), zksync.NewRWMutex(s.Session, p), zksync.NewSemaphore(s.Session, p+"-permits", 3)
		multi := zksync.NewMulti(m, zksync.NewRWMutex(s.Session, p+"-too").RLocker())
		for _, lock := range []struct {
			name         string
			take, give   func()
			creates, del string
		}{
			{"Mutex", m.Lock, m.Unlock, "create", "delete"},
			{"RWMutex, to read", rw.RLock, rw.RUnlock, "create", "delete"},
			{"RWMutex, to write", rw.Lock, rw.Unlock, "create", "delete"},
			{"Semaphore", func() { suite.Must(t, sem.Acquire(suite.Context(t), 2)) }, func() { sem.Release(2) }, "create", "delete"},
			{"Multi", multi.Lock, multi.Unlock, "multi", "multi"},
		} {
			for range 3 { // the paths are known and watched then
				lock.take()
				lock.give()
				suite.AtRest(t, s.Session)
			}
			s.Take(t)
			for range n {
				lock.take()
				lock.give()
			}
			suite.AtRest(t, s.Session)
			want := suite.Ops{lock.creates: n}
			want[lock.del] += n
			s.Wants(t, lock.name, want)
		}
	}, suite.Smoke)
}

// A path that is new costs one round trip: one transaction makes it and the node.
// Any other first use costs two at most.
func TestRoundTripsOfAFirstUse(t *testing.T) {
	const delay = 100 * time.Millisecond
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Dial(t), z.Dial(t)
		suite.MakePath(t, s.Conn(), "/d/old")
		took := func(what string, trips int, f func() error) {
			t.Helper()
			z.Server.Delay(delay / 2) // each way
			start := time.Now()
			suite.Must(t, f())
			if d := time.Since(start); d != time.Duration(trips)*delay {
				t.Errorf("%s took %v, want %d round trips of %v", what, d, trips, delay)
			}
			z.Server.Delay(0)
		}
		ctx := suite.Context(t)
		old, fresh := zksync.NewMutex(s, "/d/old"), zksync.NewMutex(s, "/d/new")
		took("a new path", 1, func() error { return fresh.LockContext(ctx) })
		took("its release", 1, func() error { return fresh.UnlockContext(ctx) })
		took("a path that is there, in a directory where one was new", 2, func() error { return old.LockContext(ctx) })
		suite.Must(t, old.UnlockContext(ctx))
		for range 3 {
			took("a path that is known", 1, func() error { return old.LockContext(ctx) })
			took("its release", 1, func() error { return old.UnlockContext(ctx) })
		}
		more := zksync.NewMutex(s, "/d/more")
		took("a new path, in a directory where one was there", 2, func() error { return more.LockContext(ctx) })
		suite.Must(t, more.UnlockContext(ctx))
		took("a new path, after that", 1, func() error { return zksync.NewMutex(s, "/d/next").LockContext(ctx) })
		zksync.NewMutex(s, "/d/next").Unlock()
		took("a permit of a new path", 1, func() error { return zksync.NewSemaphore(s, "/d/sem", 3).Acquire(ctx, 2) })
		zksync.NewSemaphore(s, "/d/sem", 3).Release(2)
		pair := zksync.NewMulti(zksync.NewMutex(s, "/d/old"), zksync.NewMutex(s, "/d/more"))
		took("two known paths at once", 1, func() error { return pair.LockContext(ctx) })
		suite.Must(t, pair.UnlockContext(ctx))
		took("another session's first use", 2, func() error { return zksync.NewMutex(other, "/d/old").LockContext(ctx) })
		zksync.NewMutex(other, "/d/old").Unlock()
	})
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
			suite.LockAndUnlock(t, lock) // the second use, from which on the paths are watched
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
			if n := s.Stats().Requests - before; n != 2 {
				t.Errorf("%s: a short hold has made %d requests, want 2", name, n)
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
		third := z.Counted(t, zksync.WithSessionTimeout(2*time.Second))
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
		suite.Eventually(t, "the one behind watches the holder", func() bool { return third.Proxy.Requests()["getData"] > 0 })
		second.Wants(t, "leaving", suite.Ops{"delete": 1})
		third.Wants(t, "moving up, behind the holder only", suite.Ops{"getChildren2": 1, "getData": 2})
		c.Waits(t)

		m.Unlock()
		free := c.Held(t)
		third.Wants(t, "next in line by now", suite.Ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}
