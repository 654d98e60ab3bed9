package costs_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A cycle with a wait costs five requests at most, whatever waits for what: the node, the
// list, a watch, the list after the event, the deletion. Behind a sole predecessor the
// second watch takes the place of the second list. Permits that are not the first to wait
// wait twice: until they are the first, and until they fit.
func TestRequestsOfAContendedCycle(t *testing.T) {
	ctx := context.Background()
	type calls struct{ lock, unlock func() }
	mutex := func(s *zksync.Session, p string) calls {
		m := zksync.NewMutex(s, p)
		return calls{m.Lock, m.Unlock}
	}
	reader := func(s *zksync.Session, p string) calls {
		m := zksync.NewRWMutex(s, p)
		return calls{m.RLock, m.RUnlock}
	}
	writer := func(s *zksync.Session, p string) calls {
		m := zksync.NewRWMutex(s, p)
		return calls{m.Lock, m.Unlock}
	}
	permits := func(s *zksync.Session, p string) calls {
		m := zksync.NewSemaphore(s, p, 3)
		return calls{func() { suite.Must(t, m.Acquire(ctx, 2)) }, func() { m.Release(2) }}
	}
	several := func(s *zksync.Session, p string) calls {
		m := zksync.NewMulti(zksync.NewMutex(s, p))
		return calls{m.Lock, m.Unlock}
	}
	type kind = func(*zksync.Session, string) calls
	for _, tt := range []struct {
		name   string
		before []kind // in line before the session under test
		mine   kind
		own    bool // those before are of the same session
		most   int64
	}{
		{name: "behind one", before: []kind{mutex}, mine: mutex},
		{name: "behind two", before: []kind{mutex, mutex}, mine: mutex},
		{name: "a reader behind a writer", before: []kind{writer}, mine: reader},
		{name: "a reader behind a reader and a writer", before: []kind{writer, reader, writer}, mine: reader},
		{name: "a writer behind a writer", before: []kind{writer}, mine: writer},
		{name: "a writer behind a reader", before: []kind{reader}, mine: writer},
		{name: "a writer behind readers", before: []kind{reader, reader}, mine: writer},
		{name: "permits", before: []kind{permits}, mine: permits},
		{name: "permits behind others that wait", before: []kind{permits, permits}, mine: permits, most: 7},
		{name: "behind a lock of the same session", before: []kind{mutex}, mine: several, own: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				m := &measure.Meter{Dialer: z.Server.DialContext}
				s := metered(t, z, m)
				p := z.UsedPath(t, s)
				mine := tt.mine(s, p)
				for range 3 {
					mine.lock() // nobody is there, so that the path is watched
					mine.unlock()
				}
				for cycle := range 3 {
					free := make(chan bool)
					for _, k := range tt.before {
						other := k(s, p)
						if !tt.own {
							other = k(metered(t, z, &measure.Meter{Dialer: z.Server.DialContext}), p)
						}
						go func() { other.lock(); <-free; other.unlock() }()
						synctest.Wait()
					}
					start := m.Count()
					held := make(chan bool)
					go func() { mine.lock(); close(held) }()
					synctest.Wait()
					for range tt.before {
						free <- true
						synctest.Wait()
					}
					<-held
					mine.unlock()
					synctest.Wait()
					c := m.Count().Minus(start)
					if tt.own {
						c.Requests-- // the deletion of the node before
					}
					if c.Requests > max(5, tt.most) {
						t.Errorf("cycle %d: %d requests", cycle, c.Requests)
					}
				}
			})
		})
	}
}

// A sole predecessor goes before it is watched. That it is gone and our own node stands is
// known from the answers to the watches.
func TestRequestsWhenTheBlockerGoesEarly(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		blockerGoes(t, z, 1, "the blocker was gone when it was to be watched", func(f ensemble.Frame) bool { return !f.FromServer })
	}, suite.Smoke)
}

// Here the answer that sets the watch and the event that ends it arrive together, so that
// in some of the rounds the call sees the event first.
func TestRequestsWhenTheBlockerGoesAsItIsWatched(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		blockerGoes(t, z, 50, "the blocker went as it was watched", func(f ensemble.Frame) bool { return f.FromServer })
	}, suite.Smoke)
}

// blockerGoes gives the lock back while the first frame of a watch that at selects is held
// back on its way, and counts the requests of the session whose turn it is then.
func blockerGoes(t *testing.T, z *suite.Ground, rounds int, what string, at func(ensemble.Frame) bool) {
	first, s := z.Dial(t), z.Counted(t)
	p := z.UsedPath(t, s.Session)
	m, own := zksync.NewMutex(first, p), zksync.NewMutex(s.Session, p)
	for range rounds {
		m.Lock()
		s.Take(t)
		stopped, on := make(chan struct{}), make(chan struct{})
		var once sync.Once
		s.Proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if at(f) && f.Op == "getData" {
				once.Do(func() { close(stopped); <-on })
			}
			return ensemble.Pass
		})
		held := suite.Async(func() error { return own.LockContext(suite.Context(t)) })
		suite.Receive(t, stopped)
		suite.Must(t, m.UnlockContext(suite.Context(t)))
		close(on)
		suite.Must(t, suite.Receive(t, held))
		s.Wants(t, what, suite.Ops{"create": 1, "getChildren2": 1, "getData": 2})
		suite.Must(t, own.UnlockContext(suite.Context(t)))
	}
}
