package zksync_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// After the session died an owner does not enter again as if it still held.
func TestLesson38_NoReentryAfterLoss(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p)
		l := m.As(zksync.NewOwner("o"))
		l.Lock()
		ok(t, l.LockContext(short(t)))
		ok(t, z.expire(s.ID()))
		eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
		for _, call := range calls {
			_, err := call.take(short(t), l)
			isError(t, err, zksync.ErrLost)
		}
		panicsWith(t, l.Lock, zksync.ErrLost)
		if l.TryLock() || m.TryLock() {
			t.Error("entered a lock that is lost")
		}
		// The levels end one by one, and touch nobody: not the holder elsewhere.
		other := zksync.NewMutex(z.dial(t), p)
		h, err := other.Hold(short(t))
		ok(t, err)
		isError(t, l.UnlockContext(short(t)), zksync.ErrLost)
		l.Unlock()
		panics(t, "zksync: Unlock of an unlocked lock", l.Unlock)
		if h.Err() != nil {
			t.Error(h.Err())
		}
		if m.TryLock() {
			t.Error("two holders")
		}
		ok(t, h.Release(short(t)))
		free(t, l)
		atRest(t, s)
		z.empty(t, p)
	})
}

// A lock that was lost works again: after a Hold at once, after a plain lock
// once its own Unlock came.
func TestLesson40_LostLockWorksAgain(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		for _, call := range calls {
			s, p := z.dial(t), lockPath(t)
			m := zksync.NewMutex(s, p)
			release, err := call.take(short(t), m)
			ok(t, err)
			next := async(func() error {
				_, err := m.Hold(short(t))
				return err
			})
			waiting(t, s, 1)
			if z.adapted && call.name != "Do" {
				deleteOldest(t, z, p) // a client of its own takes seconds to see an expiry
			} else {
				ok(t, z.expire(s.ID()))
			}
			if call.hold {
				ok(t, get(t, next))
				isError(t, release(short(t)), zksync.ErrLost)
				continue
			}
			eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
			select {
			case <-next:
				t.Error("its place went to the next before its own Unlock")
			default:
			}
			isError(t, release(short(t)), zksync.ErrLost)
			ok(t, get(t, next))
		}
	})
}

// deleteOldest deletes the node that holds the lock.
func deleteOldest(t *testing.T, z *site, p string) {
	t.Helper()
	c := z.raw(t)
	var node string
	var oldest int64
	for _, n := range children(t, c, p) {
		_, st, err := c.Exists(p + "/" + n)
		ok(t, err)
		if node == "" || st.Czxid < oldest {
			node, oldest = p+"/"+n, st.Czxid
		}
	}
	ok(t, c.Delete(node, -1))
}

// Nobody is told that all is well with a lock that had been lost.
func TestLesson41_UnlockOfALostLock(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p)
		for i, call := range calls {
			release, err := call.take(short(t), m)
			ok(t, err)
			deleteOldest(t, z, p)
			e := isError(t, release(short(t)), zksync.ErrLost)
			if e.ErrorType() != "lost" || e.Node == "" {
				t.Errorf("%s: %#v", call.name, e)
			}
			eventually(t, "the loss is counted once", func() bool { return s.Stats().Losses == int64(i+1) })
		}
		m.Lock()
		deleteOldest(t, z, p)
		m.Unlock() // has no error, and does not panic
		free(t, m)
		atRest(t, s)
	})
}

// NoNode on deleting one's own node says that the lock was lost, unless an
// earlier delete had no answer.
func TestLesson46_DeleteWithoutAnAnswer(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()})
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		for _, call := range calls {
			for _, lost := range []bool{false, true} {
				release, err := call.take(short(t), m)
				ok(t, err)
				var once sync.Once
				proxy.SetHook(func(f zktest.Frame) (act zktest.Action) {
					if f.FromServer && f.Op == "delete" {
						once.Do(func() { act = zktest.DropAndCut }) // done, but the answer is lost
					}
					return act
				})
				if lost {
					proxy.SetHook(nil)
					deleteOldest(t, z, p)
				}
				err = release(short(t))
				proxy.SetHook(nil)
				if lost {
					isError(t, err, zksync.ErrLost)
				} else if err != nil {
					t.Errorf("%s: %v", call.name, err)
				}
				atRest(t, s)
				lineOf(t, z.raw(t), p, 0)
			}
		}
	})
}

// A release is in the order of ZooKeeper's line: while the deletion is on its
// way, the place that is free in this process lets nobody past those who wait
// elsewhere, and nobody in beside them.
func TestLesson49_FreedBeforeTheDelete(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		proxy := z.proxied(t)
		s := dialTo(t, []string{proxy.Addr()})
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		elsewhere := zksync.NewMutex(z.dial(t), p)
		for _, call := range calls {
			if call.try {
				continue
			}
			release, err := call.take(short(t), m)
			ok(t, err)
			theirs := async(func() *zksync.Hold { h, _ := elsewhere.Hold(short(t)); return h })
			lineOf(t, z.raw(t), p, 2)
			seen, on := make(chan struct{}), make(chan struct{})
			var once sync.Once
			proxy.SetHook(func(f zktest.Frame) zktest.Action {
				if !f.FromServer && f.Op == "delete" {
					once.Do(func() { close(seen) })
					<-on
				}
				return zktest.Pass
			})
			released := async(func() error { return release(short(t)) })
			get(t, seen)
			if m.TryLock() { // no answer comes: the delete is ahead of it
				t.Errorf("%s: entered before the deletion was sent", call.name)
			}
			ours := async(func() *zksync.Hold { h, _ := m.Hold(short(t)); return h })
			waiting(t, s, 1)
			select {
			case <-theirs:
				t.Errorf("%s: two holders", call.name)
			case <-ours:
				t.Errorf("%s: past those who wait elsewhere", call.name)
			default:
			}
			close(on)
			ok(t, get(t, released))
			proxy.SetHook(nil)
			first := get(t, theirs)
			select {
			case <-ours:
				t.Errorf("%s: two holders", call.name)
			default:
			}
			ok(t, first.Release(short(t)))
			second := get(t, ours)
			if second.Fence() <= first.Fence() {
				t.Errorf("%s: fence %d after %d", call.name, second.Fence(), first.Fence())
			}
			ok(t, second.Release(short(t)))
			atRest(t, s)
		}
	})
}

// The loss of a plain lock is logged, its late Unlock too little a thing to
// panic about; with the next goroutine waiting it releases nothing of others'.
func TestLesson65_LateUnlock(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		next := async(func() *zksync.Hold { h, _ := m.Hold(short(t)); return h })
		waiting(t, s, 1)
		ok(t, z.expire(s.ID()))
		eventually(t, "the loss is noticed", func() bool { return s.Stats().Losses == 1 })
		// Other sessions are not held up by it.
		other := zksync.NewMutex(z.dial(t), p)
		ok(t, other.LockContext(short(t)))
		m.Unlock()
		waiting(t, s, 1)
		if got, err := other.TryLockContext(short(t)); got || err != nil {
			t.Errorf("the late Unlock released another's lock: %v, %v", got, err)
		}
		ok(t, other.UnlockContext(short(t)))
		h := get(t, next)
		panics(t, "zksync: Unlock of a lock held by a Hold", m.Unlock)
		ok(t, h.Release(context.Background()))
		atRest(t, s)
		z.empty(t, p)
	})
}
