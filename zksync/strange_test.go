package zksync_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A child with a number that ZooKeeper did not write is no lock node: it would be
// first in line for ever.
func TestNumbersNotOfZooKeeperDontBlock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p, raw := z.Dial(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		for _, seq := range []string{"00000000000000000000001", "00000000001", "000000001", "-0000000001", "-000000000", "2147483648"} {
			for _, marker := range []string{"lock-", "__lock__", "__WRIT__", "__READ__", "__rlock__", "permit-1of1-"} {
				suite.Plant(t, raw, p+"/"+marker+seq, "", 0)
			}
		}
		suite.LockAndUnlock(t, zksync.NewMutex(s, p))
		suite.LockAndUnlock(t, zksync.NewRWMutex(s, p))
		sem := zksync.NewSemaphore(s, p, 1)
		if !sem.TryAcquire(1) {
			t.Fatal("no permit")
		}
		sem.Release(1)
	})
}

// A node of no session holds up the line, and no session's end frees it. Those who
// wait learn of it, the log reports it once, and Inspect shows it.
func TestPersistentNodeIsTold(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		prefix string
		lock   func(s *zksync.Session, p string) suite.Lockable
		mode   zksync.Mode
	}{
		"mutex":     {"lock-", func(s *zksync.Session, p string) suite.Lockable { return zksync.NewMutex(s, p) }, zksync.ModeMutex},
		"write":     {"__READ__", func(s *zksync.Session, p string) suite.Lockable { return zksync.NewRWMutex(s, p) }, zksync.ModeRead},
		"read":      {"__WRIT__", func(s *zksync.Session, p string) suite.Lockable { return zksync.NewRWMutex(s, p).RLocker() }, zksync.ModeWrite},
		"semaphore": {"permit-1of1-", func(s *zksync.Session, p string) suite.Lockable { return one{zksync.NewSemaphore(s, p, 1)} }, zksync.ModePermit},
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
				suite.MakePath(t, raw, p)
				node := suite.Plant(t, raw, p+"/"+k.prefix, "somebody's mistake", zk.FlagSequence)
				var log suite.Notes
				peers := make(chan zksync.Peer, 100)
				s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					zksync.WithTracer(&zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) { peers <- p }}))
				told := func() {
					t.Helper()
					if peer := suite.Receive(t, peers); !peer.Persistent || peer.Session != 0 || peer.Node != node {
						t.Errorf("%+v", peer)
					}
					suite.Eventually(t, "the log tells", func() bool { return log.Count("belongs to no session", node) == 1 })
				}
				for range 2 { // the log does not report the second call
					gone, cancel := context.WithCancel(ctx)
					waits := suite.Async(func() error { return k.lock(s, p).LockContext(gone) })
					told()
					cancel()
					suite.IsError(t, suite.Receive(t, waits), context.Canceled)
				}
				suite.InLine(t, raw, p, 1)
				waits := suite.Async(func() error { return k.lock(s, p).LockContext(ctx) })
				told()
				q, err := s.Inspect(ctx, p)
				suite.Must(t, err)
				if n := q.Nodes[0]; n.Node != node || n.Session != 0 || !n.Held || n.Mode != k.mode || q.Nodes[1].Session != s.ID() {
					t.Errorf("%+v", q)
				}
				suite.Must(t, s.Break(ctx, node))
				suite.Must(t, suite.Receive(t, waits))
				suite.Must(t, k.lock(s, p).UnlockContext(ctx))
				if n := log.Count("belongs to no session"); n != 1 {
					t.Errorf("logged %d times:\n%s", n, log.String())
				}
			}, suite.Timeless)
		})
	}
}

// one is a semaphore's permit as a lock.
type one struct{ sem *zksync.Semaphore }

func (o one) Lock() { _ = o.hold(context.Background()) }

func (o one) Unlock() { o.sem.Release(1) }

func (o one) LockContext(ctx context.Context) error { return o.hold(ctx) }

func (o one) UnlockContext(context.Context) error { o.sem.Release(1); return nil }

// hold is Acquire with an *Error, as locks have it.
func (o one) hold(ctx context.Context) error {
	if err := o.sem.Acquire(ctx, 1); err != nil {
		return &zksync.Error{Op: "acquire", Err: err}
	}
	return nil
}

// An ephemeral peer is not one that stays.
func TestEphemeralPeerIsNotPersistent(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		peers := make(chan zksync.Peer, 10)
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) { peers <- p }}))
		m := zksync.NewMutex(z.Dial(t), p)
		m.Lock()
		waits := suite.Async(func() error { return zksync.NewMutex(s, p).LockContext(suite.Context(t)) })
		if peer := suite.Receive(t, peers); peer.Persistent || peer.Session == 0 {
			t.Errorf("%+v", peer)
		}
		m.Unlock()
		suite.Must(t, suite.Receive(t, waits))
		zksync.NewMutex(s, p).Unlock()
	})
}

// Ephemeral children with numbers that nobody understands are somebody's queue:
// the log reports them once, with their names, after one read, and Inspect shows them.
func TestStrangersAreTold(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		var theirs []string
		for i := range 12 {
			n := suite.Plant(t, raw, p+fmt.Sprintf("/turn-%c-", 'a'+i), "", zk.FlagEphemeral|zk.FlagSequence)
			theirs = append(theirs, n[len(p)+1:])
		}
		suite.Plant(t, raw, p+"/config", "", zk.FlagEphemeral)
		var log suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		m := zksync.NewMutex(s, p)
		suite.LockAndUnlock(t, m)
		suite.Eventually(t, "the log tells", func() bool { return log.Count("WithForeignPrefix", p, "count=12", "turn-") == 1 })
		for range 3 {
			suite.LockAndUnlock(t, m)
			suite.LockAndUnlock(t, zksync.NewRWMutex(s, p))
		}
		if n := log.Count("WithForeignPrefix"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		q, err := s.Inspect(ctx, p)
		suite.Must(t, err)
		slices.Sort(theirs)
		if len(q.Nodes) != 0 || len(q.Other) != 13 || !slices.Equal(q.Suspects, theirs) {
			t.Errorf("%+v", q)
		}
	})
}

// Children with numbers that belong to no session are somebody's data, and
// numbers are no lock's without ephemeral nodes.
func TestNumberedDataIsNotStrange(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, raw := z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		for range 3 {
			suite.Plant(t, raw, p+"/order-", "", zk.FlagSequence)
		}
		var log suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		for range 3 {
			suite.LockAndUnlock(t, zksync.NewMutex(s, p))
		}
		suite.SleepReal(100 * time.Millisecond)
		if log.String() != "" {
			t.Errorf("logged:\n%s", log.String())
		}
		q, err := s.Inspect(suite.Context(t), p)
		suite.Must(t, err)
		if len(q.Other) != 3 || q.Suspects != nil {
			t.Errorf("%+v", q)
		}
	})
}

// Data with numbers beside another recipe's nodes, whatever comes first in a listing
// and whichever of the two was there first, does not hide them.
func TestStrangersBesideDataAreTold(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, raw := z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		for i := range 12 {
			suite.Plant(t, raw, p+fmt.Sprintf("/order%d-", i%3), "", zk.FlagSequence)
		}
		var log suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		suite.LockAndUnlock(t, zksync.NewMutex(s, p))
		suite.SleepReal(100 * time.Millisecond)
		if log.String() != "" {
			t.Errorf("logged:\n%s", log.String())
		}
		for range 3 {
			suite.Plant(t, raw, p+"/turn-", "", zk.FlagEphemeral|zk.FlagSequence)
		}
		for range 3 {
			suite.LockAndUnlock(t, zksync.NewMutex(s, p))
		}
		suite.Eventually(t, "the log tells", func() bool { return log.Count("WithForeignPrefix", p, "count=3", "turn-") == 1 })
		if n := log.Count("WithForeignPrefix"); n != 1 || strings.Contains(log.String(), "order") {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	})
}

// With any number of kinds of names, few nodes are read.
func TestStrangersCostFewReads(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const most = 16
		p, raw := z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		c := z.Counted(t)
		m := zksync.NewMutex(c.Session, p)
		for i := range 3 * most {
			suite.Plant(t, raw, p+fmt.Sprintf("/%x-", i), "", zk.FlagSequence)
			if i%most == 0 {
				suite.LockAndUnlock(t, m)
			}
		}
		suite.LockAndUnlock(t, m)
		suite.Eventually(t, "the reads", func() bool { return c.Proxy.Requests()["exists"] == most })
		suite.LockAndUnlock(t, m)
		suite.SleepReal(100 * time.Millisecond)
		if n := c.Proxy.Requests()["exists"]; n != most {
			t.Errorf("%d reads, want %d", n, most)
		}
	})
}

// The look at strangers costs one read a session, path and kind of name, whatever they are.
func TestStrangersCostOneRead(t *testing.T) {
	suite.Beside(t)
	for name, flags := range map[string]int32{"data": zk.FlagSequence, "locks": zk.FlagEphemeral | zk.FlagSequence} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				p, raw := z.Path(t), z.Raw(t)
				suite.MakePath(t, raw, p)
				for range 3 {
					suite.Plant(t, raw, p+"/x-", "", flags)
				}
				c := z.Counted(t)
				m := zksync.NewMutex(c.Session, p)
				for range 5 {
					suite.LockAndUnlock(t, m)
				}
				suite.Eventually(t, "one read", func() bool { return c.Proxy.Requests()["exists"] == 1 })
				c.Wants(t, "five locks", suite.Ops{"multi": 1, "create": 5, "getChildren2": 2, "getData": 1, "delete": 5, "exists": 1})
			})
		})
	}
}
