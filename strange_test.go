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
)

// A child with a number that ZooKeeper did not write is no lock node: it would be
// first in line for ever.
func TestNumbersNotOfZooKeeperDontBlock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, p, raw := z.dial(t), lockPath(t), z.raw(t)
		made(t, raw, p)
		for _, seq := range []string{"00000000000000000000001", "00000000001", "000000001", "-0000000001", "-000000000", "2147483648"} {
			for _, marker := range []string{"lock-", "__lock__", "__WRIT__", "__READ__", "__rlock__", "permit-1of1-"} {
				plant(t, raw, p+"/"+marker+seq, "", 0)
			}
		}
		free(t, zksync.NewMutex(s, p))
		free(t, zksync.NewRWMutex(s, p))
		sem := zksync.NewSemaphore(s, p, 1)
		if !sem.TryAcquire(1) {
			t.Fatal("no permit")
		}
		sem.Release(1)
	})
}

// A node of no session holds up the line, and no session's end frees it. Those who
// wait are told, the log tells once, and Inspect shows it.
func TestPersistentNodeIsTold(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		prefix string
		lock   func(s *zksync.Session, p string) lockable
		mode   zksync.Mode
	}{
		"mutex":     {"lock-", func(s *zksync.Session, p string) lockable { return zksync.NewMutex(s, p) }, zksync.ModeMutex},
		"write":     {"__READ__", func(s *zksync.Session, p string) lockable { return zksync.NewRWMutex(s, p) }, zksync.ModeRead},
		"read":      {"__WRIT__", func(s *zksync.Session, p string) lockable { return zksync.NewRWMutex(s, p).RLocker() }, zksync.ModeWrite},
		"semaphore": {"permit-1of1-", func(s *zksync.Session, p string) lockable { return one{zksync.NewSemaphore(s, p, 1)} }, zksync.ModePermit},
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				ctx, p, raw := short(t), lockPath(t), z.raw(t)
				made(t, raw, p)
				node := plant(t, raw, p+"/"+k.prefix, "somebody's mistake", zk.FlagSequence)
				var log notes
				peers := make(chan zksync.Peer, 100)
				s := z.dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					zksync.WithTracer(&zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) { peers <- p }}))
				told := func() {
					t.Helper()
					if peer := get(t, peers); !peer.Persistent || peer.Session != 0 || peer.Node != node {
						t.Errorf("%+v", peer)
					}
					eventually(t, "the log tells", func() bool { return log.count("belongs to no session", node) == 1 })
				}
				for range 2 { // the second call is not told of in the log
					gone, cancel := context.WithCancel(ctx)
					waits := async(func() error { return k.lock(s, p).LockContext(gone) })
					told()
					cancel()
					isError(t, get(t, waits), context.Canceled)
				}
				lineOf(t, raw, p, 1)
				waits := async(func() error { return k.lock(s, p).LockContext(ctx) })
				told()
				q, err := s.Inspect(ctx, p)
				ok(t, err)
				if n := q.Nodes[0]; n.Path != node || n.Session != 0 || !n.Held || n.Mode != k.mode || q.Nodes[1].Session != s.ID() {
					t.Errorf("%+v", q)
				}
				ok(t, s.Break(ctx, node))
				ok(t, get(t, waits))
				ok(t, k.lock(s, p).UnlockContext(ctx))
				if n := log.count("belongs to no session"); n != 1 {
					t.Errorf("logged %d times:\n%s", n, log.String())
				}
			})
		})
	}
}

// one is a semaphore's permit as a lock.
type one struct{ sem *zksync.Semaphore }

func (o one) Lock()                                 { _ = o.hold(context.Background()) }
func (o one) Unlock()                               { o.sem.Release(1) }
func (o one) LockContext(ctx context.Context) error { return o.hold(ctx) }
func (o one) UnlockContext(context.Context) error   { o.sem.Release(1); return nil }

// hold is Acquire with an *Error, as locks have it.
func (o one) hold(ctx context.Context) error {
	if err := o.sem.Acquire(ctx, 1); err != nil {
		return &zksync.Error{Op: "acquire", Err: err}
	}
	return nil
}

// An ephemeral peer is not one that stays.
func TestEphemeralPeerIsNotPersistent(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		peers := make(chan zksync.Peer, 10)
		s := z.dial(t, zksync.WithTracer(&zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) { peers <- p }}))
		m := zksync.NewMutex(z.dial(t), p)
		m.Lock()
		waits := async(func() error { return zksync.NewMutex(s, p).LockContext(short(t)) })
		if peer := get(t, peers); peer.Persistent || peer.Session == 0 {
			t.Errorf("%+v", peer)
		}
		m.Unlock()
		ok(t, get(t, waits))
		zksync.NewMutex(s, p).Unlock()
	})
}

// Ephemeral children with numbers that nobody understands are somebody's queue:
// the log tells once, with their names, after one read, and Inspect shows them.
func TestStrangersAreTold(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		made(t, raw, p)
		var theirs []string
		for i := range 12 {
			n := plant(t, raw, p+fmt.Sprintf("/turn-%c-", 'a'+i), "", zk.FlagEphemeral|zk.FlagSequence)
			theirs = append(theirs, n[len(p)+1:])
		}
		plant(t, raw, p+"/config", "", zk.FlagEphemeral)
		var log notes
		s := z.dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		m := zksync.NewMutex(s, p)
		free(t, m)
		eventually(t, "the log tells", func() bool { return log.count("WithForeignPrefix", p, "count=12", "turn-") == 1 })
		for range 3 {
			free(t, m)
			free(t, zksync.NewRWMutex(s, p))
		}
		if n := log.count("WithForeignPrefix"); n != 1 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		q, err := s.Inspect(ctx, p)
		ok(t, err)
		slices.Sort(theirs)
		if len(q.Nodes) != 0 || len(q.Other) != 13 || !slices.Equal(q.Suspects, theirs) {
			t.Errorf("%+v", q)
		}
	})
}

// Children with numbers that belong to no session are somebody's data, and
// numbers are no lock's without ephemeral nodes.
func TestNumberedDataIsNotStrange(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p, raw := lockPath(t), z.raw(t)
		made(t, raw, p)
		for range 3 {
			plant(t, raw, p+"/order-", "", zk.FlagSequence)
		}
		var log notes
		s := z.dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		for range 3 {
			free(t, zksync.NewMutex(s, p))
		}
		pass(100 * time.Millisecond)
		if log.String() != "" {
			t.Errorf("logged:\n%s", log.String())
		}
		q, err := s.Inspect(short(t), p)
		ok(t, err)
		if len(q.Other) != 3 || q.Suspects != nil {
			t.Errorf("%+v", q)
		}
	})
}

// Data with numbers beside another recipe's nodes, whatever comes first in a listing
// and whichever of the two was there first, does not hide them.
func TestStrangersBesideDataAreTold(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p, raw := lockPath(t), z.raw(t)
		made(t, raw, p)
		for i := range 12 {
			plant(t, raw, p+fmt.Sprintf("/order%d-", i%3), "", zk.FlagSequence)
		}
		var log notes
		s := z.dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		free(t, zksync.NewMutex(s, p))
		pass(100 * time.Millisecond)
		if log.String() != "" {
			t.Errorf("logged:\n%s", log.String())
		}
		for range 3 {
			plant(t, raw, p+"/turn-", "", zk.FlagEphemeral|zk.FlagSequence)
		}
		for range 3 {
			free(t, zksync.NewMutex(s, p))
		}
		eventually(t, "the log tells", func() bool { return log.count("WithForeignPrefix", p, "count=3", "turn-") == 1 })
		if n := log.count("WithForeignPrefix"); n != 1 || strings.Contains(log.String(), "order") {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	})
}

// However many kinds of names there are, few are read.
func TestStrangersCostFewReads(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const most = 16
		p, raw := lockPath(t), z.raw(t)
		made(t, raw, p)
		c := z.counted(t)
		m := zksync.NewMutex(c.Session, p)
		for i := range 3 * most {
			plant(t, raw, p+fmt.Sprintf("/%x-", i), "", zk.FlagSequence)
			if i%most == 0 {
				free(t, m)
			}
		}
		free(t, m)
		eventually(t, "the reads", func() bool { return c.p.Requests()["exists"] == most })
		free(t, m)
		pass(100 * time.Millisecond)
		if n := c.p.Requests()["exists"]; n != most {
			t.Errorf("%d reads, want %d", n, most)
		}
	})
}

// The look at strangers costs one read a session, path and kind of name, whatever they are.
func TestStrangersCostOneRead(t *testing.T) {
	for name, flags := range map[string]int32{"data": zk.FlagSequence, "locks": zk.FlagEphemeral | zk.FlagSequence} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				p, raw := lockPath(t), z.raw(t)
				made(t, raw, p)
				for range 3 {
					plant(t, raw, p+"/x-", "", flags)
				}
				c := z.counted(t)
				m := zksync.NewMutex(c.Session, p)
				for range 5 {
					free(t, m)
				}
				eventually(t, "one read", func() bool { return c.p.Requests()["exists"] == 1 })
				c.wants(t, "five locks", ops{"create": 5, "getChildren2": 5, "delete": 5, "exists": 1})
			})
		})
	}
}
