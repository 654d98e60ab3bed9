package lessons_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// After the session died an owner does not enter again as if it still held.
func TestNoReentryAfterLoss(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		l := m.As(zksync.NewOwner("o"))
		l.Lock()
		suite.Must(t, l.LockContext(suite.Context(t)))
		suite.Must(t, z.Expire(s.ID()))
		suite.Eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
		for _, call := range suite.Calls {
			_, err := call.Take(suite.Context(t), l)
			suite.IsError(t, err, zksync.ErrLost)
		}
		suite.PanicsWith(t, l.Lock, zksync.ErrLost)
		if l.TryLock() || m.TryLock() {
			t.Error("entered a lock that is lost")
		}
		// The levels end one by one, and touch nobody: not the holder elsewhere.
		other := zksync.NewMutex(z.Dial(t), p)
		h, err := other.Hold(suite.Context(t))
		suite.Must(t, err)
		suite.IsError(t, l.UnlockContext(suite.Context(t)), zksync.ErrLost)
		l.Unlock()
		suite.Panics(t, "zksync: Unlock of an unlocked lock", l.Unlock)
		if h.Err() != nil {
			t.Error(h.Err())
		}
		if m.TryLock() {
			t.Error("two holders")
		}
		suite.Must(t, h.Release(suite.Context(t)))
		suite.LockAndUnlock(t, l)
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}

// A lock that was lost works again: after a Hold at once, after a plain lock
// once its own Unlock came.
func TestLostLockWorksAgain(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		for _, call := range suite.Calls {
			s, p := z.Dial(t), z.Path(t)
			m := zksync.NewMutex(s, p)
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			next := suite.Async(func() error {
				_, err := m.Hold(suite.Context(t))
				return err
			})
			suite.AwaitWaiting(t, s, 1)
			if z.Adapted && call.Name != "Do" {
				suite.DeleteOldest(t, z, p) // a client of its own takes seconds to see an expiry
			} else {
				suite.Must(t, z.Expire(s.ID()))
			}
			if call.Hold {
				suite.Must(t, suite.Receive(t, next))
				suite.IsError(t, release(suite.Context(t)), zksync.ErrLost)
				continue
			}
			suite.Eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
			select {
			case <-next:
				t.Error("its place went to the next before its own Unlock")
			default:
			}
			suite.IsError(t, release(suite.Context(t)), zksync.ErrLost)
			suite.Must(t, suite.Receive(t, next))
		}
	}, suite.Timeless)
}

// No call reports that a lock is held that had been lost.
func TestUnlockOfALostLock(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		for i, call := range suite.Calls {
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			suite.DeleteOldest(t, z, p)
			e := suite.IsError(t, release(suite.Context(t)), zksync.ErrLost)
			if e.ErrorType() != "lost" || e.Node == "" {
				t.Errorf("%s: %#v", call.Name, e)
			}
			suite.Eventually(t, "the loss is counted once", func() bool { return s.Stats().Losses == int64(i+1) })
		}
		m.Lock()
		suite.DeleteOldest(t, z, p)
		m.Unlock() // has no error, and does not panic
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
	})
}

// NoNode on deleting one's own node says that the lock was lost, unless an
// earlier delete had no answer.
func TestDeleteWithoutAnAnswer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		proxy := z.Proxied(t)
		s := suite.DialTo(t, []string{proxy.Addr()})
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		for _, call := range suite.Calls {
			for _, lost := range []bool{false, true} {
				release, err := call.Take(suite.Context(t), m)
				suite.Must(t, err)
				var once sync.Once
				proxy.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
					if f.FromServer && f.Op == "delete" {
						once.Do(func() { act = ensemble.DropAndDisconnect }) // done, but the answer is lost
					}
					return act
				})
				if lost {
					proxy.SetHook(nil)
					suite.DeleteOldest(t, z, p)
				}
				err = release(suite.Context(t))
				proxy.SetHook(nil)
				if lost {
					suite.IsError(t, err, zksync.ErrLost)
				} else if err != nil {
					t.Errorf("%s: %v", call.Name, err)
				}
				suite.AtRest(t, s)
				suite.InLine(t, z.Raw(t), p, 0)
			}
		}
	})
}

// A release is in the order of ZooKeeper's line: while the deletion is on its
// way, the place that is free in this process lets nobody past those who wait
// elsewhere, and nobody in beside them.
func TestFreedBeforeTheDelete(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		proxy := z.Proxied(t)
		s := suite.DialTo(t, []string{proxy.Addr()})
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		elsewhere := zksync.NewMutex(z.Dial(t), p)
		for _, call := range suite.Calls {
			if call.Try {
				continue
			}
			release, err := call.Take(suite.Context(t), m)
			suite.Must(t, err)
			theirs := suite.Async(func() *zksync.Hold { h, _ := elsewhere.Hold(suite.Context(t)); return h })
			suite.InLine(t, z.Raw(t), p, 2)
			seen, on := make(chan struct{}), make(chan struct{})
			var once sync.Once
			proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
				if !f.FromServer && f.Op == "delete" {
					once.Do(func() { close(seen) })
					<-on
				}
				return ensemble.Pass
			})
			released := suite.Async(func() error { return release(suite.Context(t)) })
			suite.Receive(t, seen)
			if m.TryLock() { // no answer comes: the delete is ahead of it
				t.Errorf("%s: entered before the deletion was sent", call.Name)
			}
			ours := suite.Async(func() *zksync.Hold { h, _ := m.Hold(suite.Context(t)); return h })
			suite.AwaitWaiting(t, s, 1)
			select {
			case <-theirs:
				t.Errorf("%s: two holders", call.Name)
			case <-ours:
				t.Errorf("%s: past those who wait elsewhere", call.Name)
			default:
			}
			close(on)
			suite.Must(t, suite.Receive(t, released))
			proxy.SetHook(nil)
			first := suite.Receive(t, theirs)
			select {
			case <-ours:
				t.Errorf("%s: two holders", call.Name)
			default:
			}
			suite.Must(t, first.Release(suite.Context(t)))
			second := suite.Receive(t, ours)
			if second.Fence() <= first.Fence() {
				t.Errorf("%s: fence %d after %d", call.Name, second.Fence(), first.Fence())
			}
			suite.Must(t, second.Release(suite.Context(t)))
			suite.AtRest(t, s)
		}
	})
}

// The loss of a plain lock is logged, its late Unlock too little a thing to
// panic about; with the next goroutine waiting it releases nothing of others'.
func TestLateUnlock(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		next := suite.Async(func() *zksync.Hold { h, _ := m.Hold(suite.Context(t)); return h })
		suite.AwaitWaiting(t, s, 1)
		suite.Must(t, z.Expire(s.ID()))
		suite.Eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
		// Other sessions are not held up by it.
		other := zksync.NewMutex(z.Dial(t), p)
		suite.Must(t, other.LockContext(suite.Context(t)))
		m.Unlock()
		suite.AwaitWaiting(t, s, 1)
		if got, err := other.TryLockContext(suite.Context(t)); got || err != nil {
			t.Errorf("the late Unlock released another's lock: %v, %v", got, err)
		}
		suite.Must(t, other.UnlockContext(suite.Context(t)))
		h := suite.Receive(t, next)
		suite.Panics(t, "zksync: Unlock of a lock held by a Hold", m.Unlock)
		suite.Must(t, h.Release(context.Background()))
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}
