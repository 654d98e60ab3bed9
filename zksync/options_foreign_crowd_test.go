package zksync_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// recipe is a lock as programs write it by hand, on the client alone: an ephemeral
// sequential node, and whoever has the lowest number holds. It takes every child
// with ten digits at its end for a contender, and waits for the one before its own.
type recipe struct {
	c      *zk.Conn
	path   string
	prefix string
	shares func(name string) bool // who does not hold it up; nil: nobody
}

// numberOf is the number at the end of a name.
func numberOf(name string) (int64, bool) {
	if len(name) < 10 {
		return 0, false
	}
	n, err := strconv.ParseInt(name[len(name)-10:], 10, 64)
	return n, err == nil
}

// stand makes the node.
func (r recipe) stand() (node string, err error) {
	return r.c.Create(r.path+"/"+r.prefix, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
}

// wait waits until it is the node's turn.
func (r recipe) wait(ctx context.Context, node string) error {
	mine, _ := numberOf(node)
	for {
		names, _, err := r.c.Children(r.path)
		if err != nil {
			return err
		}
		before, nearest := "", int64(-1)
		for _, name := range names {
			n, isOne := numberOf(name)
			if isOne && n < mine && n > nearest && (r.shares == nil || !r.shares(name)) {
				before, nearest = name, n
			}
		}
		if before == "" {
			return nil
		}
		there, _, gone, err := r.c.ExistsW(r.path + "/" + before)
		switch {
		case err != nil:
			return err
		case !there:
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lock is both; what it returns gives the lock back.
func (r recipe) lock(ctx context.Context) (unlock func() error, err error) {
	node, err := r.stand()
	if err != nil {
		return nil, err
	}
	return func() error { return r.c.Delete(node, -1) }, r.wait(ctx, node)
}

// Both sides have the lock in turn, and never at once: our calls see theirs ahead, and
// theirs takes the lowest number of all.
func TestForeignPrefixCrowd(t *testing.T) {
	suite.Beside(t)
	for name, prefixes := range map[string][]string{"seq": {"seq-"}, "bare": {""}, "space": {"LockA ", "LockB "}} {
		t.Run(name, func(t *testing.T) {
			suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
				ctx, p := suite.Context(t), z.Path(t)
				suite.MakePath(t, z.Raw(t), p)
				var inside, most atomic.Int32
				var held [4]int
				work := func(i int) {
					most.Store(max(most.Load(), inside.Add(1)))
					held[i]++
					time.Sleep(time.Millisecond)
					inside.Add(-1)
				}
				const rounds = 25
				var wg sync.WaitGroup
				for i := range 2 {
					s := z.Dial(t)
					wg.Go(func() {
						m := zksync.NewMutex(s, p, zksync.WithForeignPrefix(zksync.ModeMutex, prefixes...))
						for range rounds {
							if err := m.Do(ctx, func(context.Context, *zksync.Hold) error { work(i); return nil }); err != nil {
								t.Error(err)
							}
						}
					})
					r := recipe{c: z.Raw(t), path: p, prefix: prefixes[i%len(prefixes)]}
					wg.Go(func() {
						for range rounds {
							unlock, err := r.lock(ctx)
							if err != nil {
								t.Error(err)
								return
							}
							work(2 + i)
							if err := unlock(); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				if most.Load() != 1 || held != [4]int{rounds, rounds, rounds, rounds} {
					t.Errorf("%d at a time; holds %v", most.Load(), held)
				}
				z.Empty(t, p)
			}, suite.Timeless)
		})
	}
}

// Readers of both sides share, writers exclude everybody.
func TestForeignPrefixReadersAndWriters(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		s := z.Dial(t)
		rw := zksync.NewRWMutex(s, p, zksync.WithForeignPrefix(zksync.ModeRead, "read-"),
			zksync.WithForeignPrefix(zksync.ModeWrite, "write-", "w"))
		reads := recipe{c: raw, path: p, prefix: "read-", shares: func(name string) bool {
			return strings.HasPrefix(name, "read-") || strings.Contains(name, "__READ__")
		}}
		writes := recipe{c: raw, path: p, prefix: "write-"}

		// Readers beside each other.
		unlock, err := reads.lock(ctx)
		suite.Must(t, err)
		suite.Must(t, rw.RLockContext(ctx))
		unlock2, err := reads.lock(ctx)
		suite.Must(t, err)
		// Our writer waits for their readers.
		waits := suite.Async(func() error { return rw.LockContext(ctx) })
		suite.InLine(t, raw, p, 4)
		// Their writer waits for ours.
		theirs := suite.Async(func() error {
			unlock, err := writes.lock(ctx)
			if err == nil {
				err = unlock()
			}
			return err
		})
		suite.InLine(t, raw, p, 5)
		// Our reader waits for their writer.
		behind := zksync.NewRWMutex(z.Dial(t), p, zksync.WithForeignPrefix(zksync.ModeWrite, "write-"))
		last := suite.Async(func() error { return behind.RLockContext(ctx) })
		suite.InLine(t, raw, p, 6)
		if got, err := rw.TryRLockContext(ctx); got || err != nil {
			t.Errorf("TryRLock behind a writer: %v, %v", got, err)
		}
		rw.RUnlock()
		suite.Must(t, unlock())
		suite.NotYet(t, waits)
		suite.Must(t, unlock2())
		suite.Must(t, suite.Receive(t, waits))
		suite.NotYet(t, theirs)
		suite.NotYet(t, last)
		rw.Unlock()
		suite.Must(t, suite.Receive(t, theirs))
		suite.Must(t, suite.Receive(t, last))
		behind.RUnlock()
	})
}

// Every way to take the lock heeds theirs: Try is refused, hand-overs end, a Multi
// waits, and a neighbour that comes later is not waited for.
func TestForeignPrefixIsHeededByAll(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		s, heeds := z.Dial(t), zksync.WithForeignPrefix(zksync.ModeMutex, "seq-")
		m := zksync.NewMutex(s, p, heeds)
		r := recipe{c: raw, path: p, prefix: "seq-"}
		for name, l := range map[string]zksync.Locker{
			"Mutex":  m,
			"Multi":  zksync.NewMulti(zksync.NewMutex(s, p+"-other"), m),
			"Multi2": zksync.NewMulti(zksync.NewMulti(m), zksync.NewRWMutex(s, p+"-other")),
			"kazoo":  zksync.NewMutex(z.Dial(t), p, heeds, zksync.WithKazooName()),
		} {
			unlock, err := r.lock(ctx)
			suite.Must(t, err)
			if got, err := l.TryLockContext(ctx); got || err != nil {
				t.Errorf("%s: TryLock behind theirs: %v, %v", name, got, err)
			}
			if _, err := l.TryHold(ctx); !errors.Is(err, zksync.ErrBusy) {
				t.Errorf("%s: TryHold behind theirs: %v", name, err)
			}
			waits := suite.Async(func() error { return l.LockContext(ctx) })
			suite.Eventually(t, "ours stands in line", func() bool { return len(suite.Children(t, raw, p)) >= 2 })
			later, err := r.stand()
			suite.Must(t, err)
			suite.NotYet(t, waits)
			suite.Must(t, unlock())
			suite.Must(t, suite.Receive(t, waits))
			suite.Must(t, l.UnlockContext(ctx))
			suite.Must(t, r.wait(ctx, later))
			suite.Must(t, raw.Delete(later, -1))
		}
		// With somebody of theirs in line the hand-overs come to an end.
		suite.Must(t, m.LockContext(ctx))
		theirs, err := r.stand()
		suite.Must(t, err)
		gone, stop := context.WithCancel(ctx)
		var local sync.WaitGroup
		for range 3 {
			local.Go(func() {
				for gone.Err() == nil {
					if m.LockContext(gone) == nil {
						m.Unlock()
					}
				}
			})
		}
		m.Unlock()
		suite.Must(t, r.wait(ctx, theirs))
		stop()
		suite.Must(t, raw.Delete(theirs, -1))
		local.Wait()
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}
