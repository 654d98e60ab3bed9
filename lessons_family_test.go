package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// writeSide and readSide are the sides of an RWMutex.
func writeSide(s *counted, p string) lockable { return zksync.NewRWMutex(s.Session, p) }
func readSide(s *counted, p string) lockable  { return zksync.NewRWMutex(s.Session, p).RLocker() }

// queueUp has a session wait for its lock.
func queueUp(t *testing.T, s *counted, l lockable) <-chan error {
	t.Helper()
	got := async(func() error { return l.LockContext(short(t)) })
	s.stands(t)
	return got
}

// Nobody waits for who came later: neither a reader for a later writer, which
// waits for it, nor a permit for a later one.
func TestLesson15_BlockersAreEarlier(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		a, b, c := z.counted(t), z.counted(t), z.counted(t)
		p := usedPath(t, a.Session)
		first, second, third := writeSide(a, p), readSide(b, p), writeSide(c, p)
		first.Lock()
		got := queueUp(t, b, second)
		late := queueUp(t, c, third)
		b.take(t)
		first.Unlock()
		ok(t, get(t, got))
		notYet(t, late)
		second.Unlock()
		ok(t, get(t, late))
		third.Unlock()
		z.empty(t, p)
	})
}

// Each reader watches the nearest writer before it: the end of another one wakes
// nobody for nothing.
func TestLesson16_NearestWriter(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		a, b, c, d := z.counted(t), z.counted(t), z.counted(t), z.counted(t)
		p := usedPath(t, a.Session)
		writeSide(a, p).Lock()
		reads := queueUp(t, b, readSide(b, p))
		writes := queueUp(t, c, writeSide(c, p))
		waits := queueUp(t, d, readSide(d, p))
		writeSide(a, p).Unlock()
		ok(t, get(t, reads))
		for name, s := range map[string]*counted{"the second writer": c, "the reader behind it": d} {
			s.wants(t, name, ops{})
			if n := s.events.Load(); n != 0 {
				t.Errorf("%s: %d watch events", name, n)
			}
		}
		readSide(b, p).Unlock()
		ok(t, get(t, writes))
		d.wants(t, "the reader behind the second writer", ops{})
		writeSide(c, p).Unlock()
		ok(t, get(t, waits))
		readSide(d, p).Unlock()
		z.empty(t, p)
	})
}

// An owner that reads and asks to write would wait for itself: it is told at
// once, by every call and without a request.
func TestLesson23_UpgradeIsADeadlock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		p := usedPath(t, s.Session)
		rw := zksync.NewRWMutex(s.Session, p)
		o := zksync.NewOwner("o")
		for name, takes := range map[string]func() (func(context.Context) error, error){
			"RLock": func() (func(context.Context) error, error) {
				l := rw.RLocker().As(o)
				return l.UnlockContext, l.LockContext(short(t))
			},
			"Hold": func() (func(context.Context) error, error) {
				h, err := rw.RLocker().As(o).Hold(short(t))
				return h.Release, err
			},
		} {
			release, err := takes()
			ok(t, err)
			s.take(t)
			for target, l := range map[string]zksync.Locker{"write": rw.As(o), "mutex": zksync.NewMutex(s.Session, p).As(o)} {
				for _, call := range calls {
					_, err := call.take(short(t), l)
					if e := isError(t, err, zksync.ErrDeadlock); e.ErrorType() != "deadlock" || e.Path != p {
						t.Errorf("%s to %s by %s: %#v", name, target, call.name, e)
					}
				}
				panicsWith(t, l.Lock, zksync.ErrDeadlock)
				if l.TryLock() {
					t.Errorf("%s to %s: TryLock", name, target)
				}
			}
			s.wants(t, name, ops{})
			ok(t, release(short(t)))
		}
		err := rw.RLocker().Do(short(t), func(ctx context.Context, _ *zksync.Hold) error { return rw.LockContext(ctx) })
		isError(t, err, zksync.ErrDeadlock)
		free(t, rw.As(o)) // and when it reads no more
		z.empty(t, p)
	})
}

// A writer whose only blocker was a writer looks again when that has gone: it may
// have become a reader.
func TestLesson67_WriterMayBecomeAReader(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx := short(t)
		a, b := z.counted(t), z.counted(t)
		p := usedPath(t, a.Session)
		rw := zksync.NewRWMutex(a.Session, p)
		o := zksync.NewOwner("o")
		w, r := rw.As(o), rw.RLocker().As(o)
		ok(t, w.LockContext(ctx))
		waits := queueUp(t, b, writeSide(b, p))
		ok(t, r.LockContext(ctx))
		b.wants(t, "the writer in line, when the other one reads as well", ops{})
		ok(t, w.UnlockContext(ctx))
		eventually(t, "the writer in line looks again", func() bool { return b.p.Requests()["getChildren2"] == 1 })
		notYet(t, waits)
		ok(t, r.UnlockContext(ctx))
		ok(t, get(t, waits))
		writeSide(b, p).Unlock()
		z.empty(t, p)
	})
}

// A hold that goes on reading keeps its fence as a writer: one of its own would
// be above that of the next writer in line, whom the resource then refuses.
func TestLesson68_FenceOfADowngrade(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx := short(t)
		a, b := z.counted(t), z.dial(t)
		p := usedPath(t, a.Session)
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
		ok(t, err)
		write("the writer", w)
		waits := async(func() grant {
			h, err := zksync.NewRWMutex(b, p).Hold(ctx)
			return grant{hold: h, err: err}
		})
		lineOf(t, a.Conn(), p, 2)
		r, err := rw.RLocker().As(o).Hold(ctx)
		ok(t, err)
		if r.Node() == w.Node() || r.Fence() != w.Fence() {
			t.Errorf("%s has fence %d, %s %d", r.Node(), r.Fence(), w.Node(), w.Fence())
		}
		ok(t, w.Release(ctx))
		write("the reader", r)
		again, err := rw.RLocker().As(o).Hold(ctx)
		ok(t, err)
		write("the reader, again", again)
		ok(t, again.Release(ctx))
		ok(t, r.Release(ctx))
		g := get(t, waits)
		ok(t, g.err)
		write("the next writer", g.hold)
		ok(t, g.hold.Release(ctx))
		z.empty(t, p)
	})
}

// Values for one path that differ in what shows in ZooKeeper don't share what one
// of them may not have.
func TestLesson76_OptionsThatShow(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx := short(t)
		proxy, s := z.behind(t)
		readers := zksync.WithACL(zk.ACL{Scheme: "world", ID: "anyone", Perms: zk.PermRead | zk.PermCreate | zk.PermDelete})
		p := lockPath(t)
		sem := zksync.NewSemaphore(s, p, 2)
		for name, pair := range map[string][2]func() (func(context.Context) error, error){
			"access lists": {lockBy(ctx, zksync.NewMutex(s, p)), lockBy(ctx, zksync.NewMutex(s, p, readers))},
			"access lists of readers": {lockBy(ctx, zksync.NewRWMutex(s, p, readers).RLocker()),
				lockBy(ctx, zksync.NewRWMutex(s, p).RLocker())},
			"kazoo's queue":     {lockBy(ctx, zksync.NewMutex(s, p)), lockBy(ctx, zksync.NewMutex(s, p, zksync.WithKazooQueue()))},
			"permits of a lock": {lockBy(ctx, zksync.NewRWMutex(s, p).RLocker()), lockBy(ctx, some{sem, 1})},
			"access lists of permits": {lockBy(ctx, some{sem, 1}),
				lockBy(ctx, some{zksync.NewSemaphore(s, p, 2, readers), 1})},
		} {
			for i := range pair {
				used, differs := pair[i], pair[1-i]
				release, err := used()
				ok(t, err)
				_, err = differs()
				e := isError(t, err)
				if !strings.Contains(e.Error(), "another value for this path is in use") || errors.Is(err, zksync.ErrBusy) {
					t.Errorf("%s: %v", name, err)
				}
				ok(t, release(ctx))
				release, err = differs() // nobody uses it any more
				ok(t, err)
				ok(t, release(ctx))
			}
		}
		// Nor while an answer is due that nobody waits for any more.
		m := zksync.NewMutex(s, p)
		m.Lock()
		asked := make(chan struct{})
		var once sync.Once
		proxy.SetHook(func(f zktest.Frame) zktest.Action {
			if !f.FromServer && f.Op == "getData" {
				once.Do(func() { close(asked) })
				return zktest.Drop
			}
			return zktest.Pass
		})
		gone, cancel := context.WithCancel(ctx)
		waits := async(func() error { return m.LockContext(gone) })
		get(t, asked) // for a hand-over
		cancel()
		isError(t, get(t, waits), context.Canceled)
		m.Unlock()
		free(t, zksync.NewMutex(s, p, readers))
		// A Multi has one access list.
		multi := zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-2", readers))
		isError(t, multi.LockContext(ctx))
		z.empty(t, p)
	})
}

// lockBy takes a lock and says how to give it back.
func lockBy(ctx context.Context, l lockable) func() (func(context.Context) error, error) {
	return func() (func(context.Context) error, error) {
		err := l.LockContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("%T: %w", l, err)
		}
		return l.UnlockContext, nil
	}
}
