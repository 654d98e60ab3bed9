package zksync_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A foreign node with the number of ours grants nothing, and one with a GUID of
// ours in its name is not ours to delete.
func TestForeignPrefixTrustsNoName(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		for i := range 6 { // numbers that the next creates have
			suite.Plant(t, raw, fmt.Sprintf("%s/seq-%010d", p, 6+i), "", 0)
		}
		s := z.Dial(t)
		m := zksync.NewMutex(s, p, zksync.WithForeignPrefix(zksync.ModeMutex, "seq-"))
		suite.IsError(t, m.LockContext(ctx), zksync.ErrSequenceExhausted)
		suite.AtRest(t, s)

		q := p + "-guid"
		h, err := zksync.NewMutex(s, q).Hold(ctx)
		suite.Must(t, err)
		base := path.Base(h.Node())
		ours := strings.TrimSuffix(base[:len(base)-10], "lock-") + "turn-"
		suite.Must(t, h.Release(ctx))
		theirs := suite.Plant(t, s.Conn(), q+"/"+ours, "", zk.FlagEphemeral|zk.FlagSequence)
		m = zksync.NewMutex(s, q, zksync.WithForeignPrefix(zksync.ModeMutex, ours))
		for range 3 {
			if m.TryLock() {
				t.Error("theirs was not heeded")
			}
		}
		suite.SleepReal(50 * time.Millisecond)
		if got := suite.Children(t, raw, q); !slices.Equal(got, []string{path.Base(theirs)}) {
			t.Errorf("left: %v", got)
		}
		suite.Must(t, s.Conn().Delete(theirs, -1))
	})
}

// Invalid options are an error at the first use, and all locks of one path must agree in
// them.
func TestForeignPrefixOptions(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s := suite.Context(t), z.Dial(t)
		mutex := func(opts ...zksync.LockOption) func(string) error {
			return func(p string) error { return zksync.NewMutex(s, p, opts...).LockContext(ctx) }
		}
		rw := func(opts ...zksync.LockOption) func(string) error {
			return func(p string) error { return zksync.NewRWMutex(s, p, opts...).LockContext(ctx) }
		}
		heeds := zksync.WithForeignPrefix
		for name, use := range map[string]func(p string) error{
			"no prefix":           mutex(heeds(zksync.ModeMutex)),
			"read of a mutex":     mutex(heeds(zksync.ModeRead, "r-")),
			"write of a mutex":    mutex(heeds(zksync.ModeMutex, "x-"), heeds(zksync.ModeWrite, "w-")),
			"mutex of an RWMutex": rw(heeds(zksync.ModeMutex, "x-")),
			"reader's side": func(p string) error {
				return zksync.NewRWMutex(s, p, heeds(zksync.ModeMutex, "x-")).RLockContext(ctx)
			},
			"semaphore": func(p string) error {
				_, err := zksync.NewSemaphore(s, p, 1, heeds(zksync.ModeMutex, "x-")).Hold(ctx, 1)
				return err
			},
			"a permit":   mutex(heeds(zksync.ModePermit, "x-")),
			"a Multi":    mutex(heeds(zksync.ModeMulti, "x-")),
			"no mode":    mutex(heeds("", "x-")),
			"slash":      mutex(heeds(zksync.ModeMutex, "a/b")),
			"control":    mutex(heeds(zksync.ModeMutex, "a\x01")),
			"no text":    mutex(heeds(zksync.ModeMutex, "\xff")),
			"too long":   mutex(heeds(zksync.ModeMutex, strings.Repeat("x", 300))),
			"a lock's":   mutex(heeds(zksync.ModeMutex, "lock-")),
			"a reader's": rw(heeds(zksync.ModeRead, "__READ__")),
			"two modes":  rw(heeds(zksync.ModeRead, "x-"), heeds(zksync.ModeWrite, "x-")),
			"part of a Multi": func(p string) error {
				return zksync.NewMulti(zksync.NewMutex(s, p, heeds(zksync.ModeRead, "x"))).LockContext(ctx)
			},
			"twice in a Multi": func(p string) error {
				return zksync.NewMulti(zksync.NewMutex(s, p, heeds(zksync.ModeMutex, "x")), zksync.NewMutex(s, p)).LockContext(ctx)
			},
		} {
			n := s.Stats().Requests
			if err := use(z.Path(t)); err == nil {
				t.Errorf("%s: no error", name)
			} else if suite.IsError(t, err); s.Stats().Requests != n {
				t.Errorf("%s: a request was made", name)
			}
		}

		p := z.Path(t)
		m := zksync.NewMutex(s, p, heeds(zksync.ModeMutex, "x-", "y-"))
		suite.Must(t, m.LockContext(ctx))
		for name, other := range map[string]zksync.Locker{
			"none": zksync.NewMutex(s, p), "fewer": zksync.NewMutex(s, p, heeds(zksync.ModeMutex, "x-")),
			"RWMutex": zksync.NewRWMutex(s, p, heeds(zksync.ModeWrite, "x-", "y-")),
		} {
			if _, err := other.TryLockContext(ctx); err == nil || !strings.Contains(err.Error(), "other options") {
				t.Errorf("%s: %v", name, err)
			}
		}
		same := zksync.NewMutex(s, p, heeds(zksync.ModeMutex, "y-"), heeds(zksync.ModeMutex, "x-", "y-"))
		if got, err := same.TryLockContext(ctx); got || err != nil { // the same options in another order
			t.Errorf("%v, %v", got, err)
		}
		m.Unlock()
		suite.LockAndUnlock(t, zksync.NewMutex(s, p)) // nobody uses the path any more

		multi := zksync.NewMulti(m, zksync.NewMutex(s, p+"-other"))
		suite.Must(t, multi.LockContext(ctx))
		other := zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-other", heeds(zksync.ModeMutex, "x-", "y-")))
		if _, err := other.TryLockContext(ctx); err == nil || !strings.Contains(err.Error(), "other options") {
			t.Errorf("a Multi with other options: %v", err)
		}
		multi.Unlock()

		// As a default of the session, where a lock's own add up.
		d := z.Dial(t, zksync.WithLockDefaults(heeds(zksync.ModeMutex, "seq-")))
		raw := z.Raw(t)
		for _, prefix := range []string{"seq-", "own-"} {
			node := suite.Plant(t, raw, p+"/"+prefix, "", zk.FlagEphemeral|zk.FlagSequence)
			if zksync.NewMutex(d, p, heeds(zksync.ModeMutex, "own-")).TryLock() {
				t.Errorf("%s is not heeded", node)
			}
			suite.Must(t, raw.Delete(node, -1))
		}
		foreignDefaults(t, z)
	})
}

// foreignDefaults checks that default prefixes of all modes count for every lock but a
// Semaphore, so that the locks of one path agree.
func foreignDefaults(t *testing.T, z *suite.Ground) {
	t.Helper()
	ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
	s := z.Dial(t, zksync.WithLockDefaults(zksync.WithForeignPrefix(zksync.ModeMutex, "seq-"), zksync.WithForeignPrefix(zksync.ModeRead, "r-")))
	rw := zksync.NewRWMutex(s, p)
	locks := map[string]zksync.Locker{
		"mutex": zksync.NewMutex(s, p), "write": rw, "read": rw.RLocker(), "multi": zksync.NewMulti(rw),
	}
	for name, l := range locks {
		h, err := l.Hold(ctx)
		suite.Must(t, err)
		for beside, other := range locks {
			if name == "multi" || beside == "multi" {
				continue // a Multi of another lock is in use
			}
			got, err := other.TryLockContext(ctx)
			if err != nil || got != (name == "read" && beside == "read") {
				t.Errorf("%s beside %s: %v, %v", beside, name, got, err)
			}
			if got {
				suite.Must(t, other.UnlockContext(ctx))
			}
		}
		suite.Must(t, h.Release(ctx))
	}
	for _, prefix := range []string{"seq-", "r-"} {
		node := suite.Plant(t, raw, p+"/"+prefix, "", zk.FlagEphemeral|zk.FlagSequence)
		for name, l := range locks {
			got, err := l.TryLockContext(ctx)
			if err != nil || got != (prefix == "r-" && name == "read") {
				t.Errorf("%s behind %s: %v, %v", name, node, got, err)
			}
			if got {
				suite.Must(t, l.UnlockContext(ctx))
			}
		}
		suite.Must(t, raw.Delete(node, -1))
	}
	if err := zksync.NewRWMutex(s, p, zksync.WithForeignPrefix(zksync.ModeMutex, "seq-")).LockContext(ctx); err == nil {
		t.Error("an own prefix of another mode is taken")
	}
	sem, err := zksync.NewSemaphore(s, p, 1).TryHold(ctx, 1)
	suite.Must(t, err)
	suite.Must(t, sem.Release(ctx))
	suite.AtRest(t, s)
}
