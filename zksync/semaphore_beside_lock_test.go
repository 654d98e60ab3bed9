package zksync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A path is a semaphore's or a lock's. A call that meets the other kind of another session
// fails at once, names both kinds and the node, and leaves that alone.
func TestALockOnThePathOfASemaphore(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, first, s := suite.Context(t), z.Dial(t), z.Dial(t)
		const permit = "permit of a semaphore"
		take := func(l zksync.Locker) func() (*zksync.Hold, error) {
			return func() (*zksync.Hold, error) { return l.Hold(ctx) }
		}
		for name, tt := range map[string]struct {
			held          func(p string) (*zksync.Hold, error)
			taken, wanted string
			calls         func(p string) map[string]func() error
		}{
			"a permit": {func(p string) (*zksync.Hold, error) { return zksync.NewSemaphore(first, p, 3).Hold(ctx, 1) }, permit, "", func(p string) map[string]func() error {
				m, rw := zksync.NewMutex(s, p), zksync.NewRWMutex(s, p)
				return map[string]func() error{
					"mutex":      func() error { return m.LockContext(ctx) },
					"write lock": func() error { return rw.LockContext(ctx) },
					"read lock":  func() error { return rw.RLockContext(ctx) },
				}
			}},
			"a mutex":  {func(p string) (*zksync.Hold, error) { return take(zksync.NewMutex(first, p))() }, "mutex", permit, nil},
			"a writer": {func(p string) (*zksync.Hold, error) { return take(zksync.NewRWMutex(first, p))() }, "write lock", permit, nil},
			"a reader": {func(p string) (*zksync.Hold, error) { return take(zksync.NewRWMutex(first, p).RLocker())() }, "read lock", permit, nil},
		} {
			p := z.Path(t)
			h, err := tt.held(p)
			suite.Must(t, err)
			calls := map[string]func() error{}
			if tt.wanted == permit {
				sem := zksync.NewSemaphore(s, p, 3)
				calls[permit] = func() error { return sem.Acquire(ctx, 1) }
				_, err := sem.TryHold(ctx, 1)
				wantMixed(t, name+", TryHold", err, permit, tt.taken, h.Node())
			} else {
				calls = tt.calls(p)
				_, err := zksync.NewMutex(s, p).TryLockContext(ctx)
				wantMixed(t, name+", TryLockContext", err, "mutex", tt.taken, h.Node())
				free := zksync.NewMutex(s, p+"-free")
				wantMixed(t, name+", Multi", zksync.NewMulti(free, zksync.NewMutex(s, p)).LockContext(ctx), "mutex", tt.taken, h.Node())
				suite.LockAndUnlock(t, free)
			}
			for wanted, call := range calls {
				wantMixed(t, name, call(), wanted, tt.taken, h.Node())
			}
			suite.AtRest(t, s)
			if left := suite.Children(t, z.Raw(t), p); len(left) != 1 || h.Err() != nil {
				t.Errorf("%s: left %q, and the holder has %v", name, left, h.Err())
			}
			suite.Must(t, h.Release(ctx))
		}
	}, suite.Smoke)
}

// So it is with the nodes of other libraries' locks.
func TestASemaphoreOnThePathOfAnotherLibrary(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, raw := z.Dial(t), z.Raw(t)
		for name, kind := range map[string]string{
			"lock-": "mutex",
			"_c_6b3b7b1c-4a53-4c4f-8a2f-2f0f5a3c8f11-__WRIT__": "write lock",
			"6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__lock__":         "mutex",
			"6b3b7b1c4a534c4f8a2f2f0f5a3c8f11__rlock__":        "read lock",
		} {
			p := z.Path(t)
			suite.MakePath(t, raw, p)
			node := suite.Plant(t, raw, p+"/"+name, "", zk.FlagEphemeral|zk.FlagSequence)
			sem := zksync.NewSemaphore(s, p, 3)
			wantMixed(t, name, sem.Acquire(suite.Context(t), 1), "permit of a semaphore", kind, node)
			if sem.TryAcquire(1) {
				t.Errorf("%s: permits beside a lock", name)
			}
			suite.Must(t, raw.Delete(node, -1))
			suite.Must(t, sem.Acquire(suite.Context(t), 3))
			sem.Release(3)
		}
	})
}

// wantMixed checks the error of a call on a path of the other kind.
func wantMixed(t *testing.T, name string, err error, wanted, taken, node string) {
	t.Helper()
	want := "a " + wanted + " can't wait behind a " + taken + " (" + node + "): a path is a semaphore's or a lock's"
	if e := suite.IsError(t, err); !strings.HasSuffix(e.Error(), want) {
		t.Errorf("%s: %v, want %s", name, e, want)
	}
}

// Whoever uses the path as what it is, and came first, goes on: it does not look behind
// itself.
func TestAWrongKindBehindDisturbsNobody(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		held, waits, wrong := zksync.NewMutex(z.Dial(t), p), zksync.NewMutex(z.Dial(t), p), z.Dial(t)
		held.Lock()
		granted := suite.Async(func() error { return waits.LockContext(t.Context()) })
		time.Sleep(time.Second)
		for range 10 {
			suite.IsError(t, zksync.NewSemaphore(wrong, p, 3).Acquire(t.Context(), 1))
		}
		held.Unlock()
		suite.Must(t, suite.Receive(t, granted))
		suite.Must(t, waits.UnlockContext(t.Context())) // the node is gone
		// Once it is free, the path may become a semaphore's.
		suite.AtRest(t, wrong)
		sem := zksync.NewSemaphore(wrong, p, 3)
		suite.Must(t, sem.Acquire(t.Context(), 3))
		sem.Release(3)
	})
}

// A session that changes the kind of its own path waits for no node that it is about to
// delete.
func TestAPathChangesItsKind(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, p, 2)
		for range 20 {
			m.Lock()
			m.Unlock()
			suite.Must(t, sem.Acquire(suite.Context(t), 2))
			sem.Release(2)
		}
	})
}
