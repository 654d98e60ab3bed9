package lessons_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// writeSide and readSide are the sides of an RWMutex.
func writeSide(s *suite.Counted, p string) suite.Lockable { return zksync.NewRWMutex(s.Session, p) }

func readSide(s *suite.Counted, p string) suite.Lockable {
	return zksync.NewRWMutex(s.Session, p).RLocker()
}

// queueUp has a session wait for its lock.
func queueUp(t *testing.T, s *suite.Counted, l suite.Lockable) <-chan error {
	t.Helper()
	got := suite.Async(func() error { return l.LockContext(suite.Context(t)) })
	s.Stands(t)
	return got
}

// No call waits for one that came later: a reader does not wait for a later writer, which
// waits for it, and a permit does not wait for a later one.
func TestBlockersAreEarlier(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		a, b, c := z.Counted(t), z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, a.Session)
		first, second, third := writeSide(a, p), readSide(b, p), writeSide(c, p)
		first.Lock()
		got := queueUp(t, b, second)
		late := queueUp(t, c, third)
		b.Take(t)
		first.Unlock()
		suite.Must(t, suite.Receive(t, got))
		suite.NotYet(t, late)
		second.Unlock()
		suite.Must(t, suite.Receive(t, late))
		third.Unlock()
		z.Empty(t, p)
	})
}

// Each reader watches the nearest writer before it: the end of another one wakes
// nobody for nothing.
func TestNearestWriter(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		a, b, c, d := z.Counted(t), z.Counted(t), z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, a.Session)
		writeSide(a, p).Lock()
		reads := queueUp(t, b, readSide(b, p))
		writes := queueUp(t, c, writeSide(c, p))
		waits := queueUp(t, d, readSide(d, p))
		writeSide(a, p).Unlock()
		suite.Must(t, suite.Receive(t, reads))
		for name, s := range map[string]*suite.Counted{"the second writer": c, "the reader behind it": d} {
			s.Wants(t, name, suite.Ops{})
			if n := s.Events.Load(); n != 0 {
				t.Errorf("%s: %d watch events", name, n)
			}
		}
		readSide(b, p).Unlock()
		suite.Must(t, suite.Receive(t, writes))
		d.Wants(t, "the reader behind the second writer", suite.Ops{})
		writeSide(c, p).Unlock()
		suite.Must(t, suite.Receive(t, waits))
		readSide(d, p).Unlock()
		z.Empty(t, p)
	})
}

// An owner that reads and asks to write would wait for itself: every call
// returns an error at once, without a request.
func TestUpgradeIsADeadlock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		p := z.UsedPath(t, s.Session)
		rw := zksync.NewRWMutex(s.Session, p)
		o := zksync.NewOwner("o")
		for name, takes := range map[string]func() (func(context.Context) error, error){
			"RLock": func() (func(context.Context) error, error) {
				l := rw.RLocker().As(o)
				return l.UnlockContext, l.LockContext(suite.Context(t))
			},
			"Hold": func() (func(context.Context) error, error) {
				h, err := rw.RLocker().As(o).Hold(suite.Context(t))
				s.Watched(t)
				return h.Release, err
			},
		} {
			release, err := takes()
			suite.Must(t, err)
			s.Take(t)
			for target, l := range map[string]zksync.Locker{"write": rw.As(o), "mutex": zksync.NewMutex(s.Session, p).As(o)} {
				for _, call := range suite.Calls {
					_, err := call.Take(suite.Context(t), l)
					if e := suite.IsError(t, err, zksync.ErrDeadlock); e.ErrorType() != "deadlock" || e.Path != p {
						t.Errorf("%s to %s by %s: %#v", name, target, call.Name, e)
					}
				}
				suite.PanicsWith(t, l.Lock, zksync.ErrDeadlock)
				if l.TryLock() {
					t.Errorf("%s to %s: TryLock", name, target)
				}
			}
			s.Wants(t, name, suite.Ops{})
			suite.Must(t, release(suite.Context(t)))
		}
		err := rw.RLocker().Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error { return rw.LockContext(ctx) })
		suite.IsError(t, err, zksync.ErrDeadlock)
		suite.LockAndUnlock(t, rw.As(o)) // and when it reads no more
		z.Empty(t, p)
	})
}

// A writer whose only blocker was a writer looks again when that has gone: it may
// have become a reader.
func TestWriterMayBecomeAReader(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		a, b := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, a.Session)
		rw := zksync.NewRWMutex(a.Session, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		suite.Must(t, w.LockContext(ctx))
		waits := queueUp(t, b, writeSide(b, p))
		suite.Must(t, r.LockContext(ctx))
		b.Wants(t, "the writer in line, when the other one reads as well", suite.Ops{})
		suite.Must(t, w.UnlockContext(ctx))
		suite.Eventually(t, "the writer in line looks again", func() bool { return b.Proxy.Requests()["getChildren2"] == 1 })
		suite.NotYet(t, waits)
		suite.Must(t, r.UnlockContext(ctx))
		suite.Must(t, suite.Receive(t, waits))
		writeSide(b, p).Unlock()
		z.Empty(t, p)
	})
}

// A hold that goes on reading keeps its fence as a writer: one of its own would
// be above that of the next writer in line, whom the resource then refuses.
func TestFenceOfADowngrade(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		a, b := z.Counted(t), z.Dial(t)
		p := z.UsedPath(t, a.Session)
		rw := zksync.NewRWMutex(a.Session, p)
		o := zksync.NewOwner("o")
		var seen int64 // by the resource
		write := func(who string, h *zksync.Hold) {
			t.Helper()
			if h.Fence() < seen || h.Fence() == 0 {
				t.Errorf("%s is refused with fence %d: %d was seen", who, h.Fence(), seen)
			}
			seen = max(seen, h.Fence())
		}
		w, err := rw.As(o).Hold(ctx)
		suite.Must(t, err)
		write("the writer", w)
		waits := suite.Async(func() suite.Grant {
			h, err := zksync.NewRWMutex(b, p).Hold(ctx)
			return suite.Grant{Hold: h, Err: err}
		})
		suite.InLine(t, a.Conn(), p, 2)
		r, err := rw.RLocker().As(o).Hold(ctx)
		suite.Must(t, err)
		if r.Node() == w.Node() || r.Fence() != w.Fence() {
			t.Errorf("%s has fence %d, %s %d", r.Node(), r.Fence(), w.Node(), w.Fence())
		}
		suite.Must(t, w.Release(ctx))
		write("the reader", r)
		again, err := rw.RLocker().As(o).Hold(ctx)
		suite.Must(t, err)
		write("the reader, again", again)
		suite.Must(t, again.Release(ctx))
		suite.Must(t, r.Release(ctx))
		g := suite.Receive(t, waits)
		suite.Must(t, g.Err)
		write("the next writer", g.Hold)
		suite.Must(t, g.Hold.Release(ctx))
		z.Empty(t, p)
	})
}

// Values for one path that differ in what shows in ZooKeeper don't share what one
// of them may not have.
func TestOptionsThatShow(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		proxy, s := z.Behind(t)
		readers := zksync.WithACL(zk.ACL{Scheme: "world", ID: "anyone", Perms: zk.PermRead | zk.PermCreate | zk.PermDelete})
		p := z.Path(t)
		sem := zksync.NewSemaphore(s, p, 2)
		for name, pair := range map[string][2]func() (func(context.Context) error, error){
			"access lists": {lockBy(ctx, zksync.NewMutex(s, p)), lockBy(ctx, zksync.NewMutex(s, p, readers))},
			"access lists of readers": {lockBy(ctx, zksync.NewRWMutex(s, p, readers).RLocker()),
				lockBy(ctx, zksync.NewRWMutex(s, p).RLocker())},
			"kazoo's queue":     {lockBy(ctx, zksync.NewMutex(s, p)), lockBy(ctx, zksync.NewMutex(s, p, zksync.WithKazooName()))},
			"permits of a lock": {lockBy(ctx, zksync.NewRWMutex(s, p).RLocker()), lockBy(ctx, suite.Permits{Semaphore: sem, N: 1})},
			"access lists of permits": {lockBy(ctx, suite.Permits{Semaphore: sem, N: 1}),
				lockBy(ctx, suite.Permits{Semaphore: zksync.NewSemaphore(s, p, 2, readers), N: 1})},
		} {
			for i := range pair {
				used, differs := pair[i], pair[1-i]
				release, err := used()
				suite.Must(t, err)
				_, err = differs()
				e := suite.IsError(t, err)
				if !strings.Contains(e.Error(), "another value for this path is in use") || errors.Is(err, zksync.ErrBusy) {
					t.Errorf("%s: %v", name, err)
				}
				suite.Must(t, release(ctx))
				release, err = differs() // nobody uses it any more
				suite.Must(t, err)
				suite.Must(t, release(ctx))
			}
		}
		// Nor while an answer is due that nobody waits for any more.
		m := zksync.NewMutex(s, p)
		m.Lock()
		asked := make(chan struct{})
		var once sync.Once
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if !f.FromServer && f.Op == "getData" {
				once.Do(func() { close(asked) })
				return ensemble.Drop
			}
			return ensemble.Pass
		})
		gone, cancel := context.WithCancel(ctx)
		waits := suite.Async(func() error { return m.LockContext(gone) })
		suite.Receive(t, asked) // for a hand-over
		cancel()
		suite.IsError(t, suite.Receive(t, waits), context.Canceled)
		m.Unlock()
		suite.LockAndUnlock(t, zksync.NewMutex(s, p, readers))
		// A Multi has one access list.
		multi := zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-2", readers))
		suite.IsError(t, multi.LockContext(ctx))
		z.Empty(t, p)
	})
}

// lockBy takes a lock and says how to give it back.
func lockBy(ctx context.Context, l suite.Lockable) func() (func(context.Context) error, error) {
	return func() (func(context.Context) error, error) {
		err := l.LockContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("%T: %w", l, err)
		}
		return l.UnlockContext, nil
	}
}

// An owner that writes may read, and go on when it has stopped writing: nobody
// gets in between, and the fence stays.
func TestDowngrade(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		s, other := z.Dial(t), z.Dial(t)
		rw := zksync.NewRWMutex(s, p)
		o := zksync.NewOwner("clerk")
		w, err := rw.As(o).Hold(ctx)
		suite.Must(t, err)
		waits := suite.Async(func() suite.Grant {
			h, err := zksync.NewRWMutex(other, p).Hold(ctx)
			return suite.Grant{Hold: h, Err: err}
		})
		raw := z.Raw(t)
		suite.InLine(t, raw, p, 2)
		local := suite.Async(func() error { return rw.LockContext(ctx) })
		suite.AwaitWaiting(t, s, 1)
		suite.InLine(t, raw, p, 3)

		r, err := rw.RLocker().As(o).Hold(ctx)
		suite.Must(t, err)
		if r.Fence() != w.Fence() {
			t.Errorf("the read's fence is %d, the write's %d", r.Fence(), w.Fence())
		}
		suite.Must(t, w.Release(ctx))
		if err := rw.LockContext(zksync.WithOwner(ctx, o)); !errors.Is(err, zksync.ErrDeadlock) {
			t.Errorf("an upgrade: %v", err)
		}
		select {
		case <-waits:
			t.Error("a queued writer slipped in")
		case <-local:
			t.Error("a queued writer of the same session slipped in")
		case <-time.After(50 * time.Millisecond):
		}
		suite.Must(t, r.Err())
		suite.Must(t, r.Release(ctx))
		g := suite.Receive(t, waits)
		suite.Must(t, g.Err)
		if g.Hold.Fence() <= w.Fence() {
			t.Errorf("fence %d after %d", g.Hold.Fence(), w.Fence())
		}
		suite.Must(t, g.Hold.Release(ctx))
		suite.Must(t, suite.Receive(t, local))
		rw.Unlock()
		z.Empty(t, p)
	}, suite.Smoke)
}
