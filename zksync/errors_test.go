package zksync_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// blocked are the calls whose error tells who was in the way.
var blocked = map[string]func(ctx context.Context, m *zksync.Mutex) error{
	"LockContext": func(ctx context.Context, m *zksync.Mutex) error { return m.LockContext(ctx) },
	"Hold":        func(ctx context.Context, m *zksync.Mutex) error { _, err := m.Hold(ctx); return err },
	"Do":          func(ctx context.Context, m *zksync.Mutex) error { return m.Do(ctx, nil) },
}

// A call that times out tells behind whom.
func TestErrorNamesThePeer(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		holder, s := z.Dial(t, zksync.WithIdentity("pod-3")), z.Dial(t, zksync.WithIdentity("pod-4"))
		for name, call := range blocked {
			p := z.Path(t)
			h, err := zksync.NewMutex(holder, p).As(zksync.NewOwner("order 7")).Hold(suite.Context(t))
			suite.Must(t, err)
			e := suite.IsError(t, call(suite.BrieflyFor(t, time.Second), zksync.NewMutex(s, p)), context.DeadlineExceeded)
			if e.Peer == nil {
				t.Fatalf("%s: nobody", name)
			}
			peer := *e.Peer
			if peer.OwnerID == "" || peer.Since.IsZero() {
				t.Errorf("%s: %+v", name, peer)
			}
			peer.OwnerID, peer.Since, peer.Host = "", time.Time{}, ""
			want := zksync.Peer{LockNode: zksync.LockNode{
				Node: h.Node(), Mode: zksync.ModeMutex, Form: zksync.FormZKSync, Sequence: peer.Sequence, Fence: h.Fence(),
				Identity: "pod-3", PID: os.Getpid(), OwnerName: "order 7", Session: holder.ID(),
			}, Position: 1}
			if peer != want {
				t.Errorf("%s: behind %+v, want %+v", name, peer, want)
			}
			suite.Must(t, h.Release(suite.Context(t)))
		}
	}, suite.Timeless)
}

// The goroutines behind the first of a session wait for the same node.
func TestErrorNamesThePeerOfTheSession(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		holder, s, p := z.Dial(t), z.Dial(t), z.Path(t)
		h, err := zksync.NewMutex(holder, p).Hold(suite.Context(t))
		suite.Must(t, err)
		m := zksync.NewMutex(s, p)
		first := suite.Async(func() error { return m.LockContext(suite.BrieflyFor(t, 2*time.Second)) })
		suite.AwaitWaiting(t, s, 1)
		e := suite.IsError(t, m.LockContext(suite.BrieflyFor(t, time.Second)), context.DeadlineExceeded)
		if e.Peer == nil || e.Peer.Node != h.Node() || e.Peer.Session != holder.ID() || e.Position != 2 || e.Peer.Position != 2 {
			t.Errorf("the second: %v, %+v", e, e.Peer)
		}
		if _, err := m.TryHold(suite.Context(t)); suite.IsError(t, err, zksync.ErrBusy).Peer == nil || suite.IsError(t, err).Peer.Node != h.Node() {
			t.Errorf("a try behind them: %v", err)
		}
		if e := suite.IsError(t, suite.Receive(t, first)); e.Peer == nil || e.Peer.Node != h.Node() {
			t.Errorf("the first: %v, %+v", e, e.Peer)
		}
		suite.Must(t, h.Release(suite.Context(t)))
	}, suite.Timeless)
}

// Of a holder in its own session a call knows everything without a request.
func TestErrorNamesThePeerNextDoor(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t, zksync.WithIdentity("pod-3")), z.Path(t)
		m := zksync.NewMutex(s, p)
		h, err := m.As(zksync.NewOwner("order 7")).Hold(suite.Context(t))
		suite.Must(t, err)
		for name, call := range map[string]func(ctx context.Context) error{
			"LockContext": m.LockContext,
			"TryHold":     func(context.Context) error { _, err := m.TryHold(suite.Context(t)); return err },
			"RLockContext": func(ctx context.Context) error {
				return zksync.NewRWMutex(s, p).RLockContext(ctx)
			},
		} {
			e := suite.IsError(t, call(suite.BrieflyFor(t, time.Second)))
			if peer := e.Peer; peer == nil || peer.Node != h.Node() || !peer.Local || peer.Identity != "pod-3" || peer.OwnerName != "order 7" ||
				peer.Session != s.ID() || peer.Since.IsZero() || peer.Position != e.Position {
				t.Errorf("%s: %v, %+v", name, e, e.Peer)
			}
		}
		suite.Must(t, h.Release(suite.Context(t)))
	}, suite.Timeless)
}

// A call that does not wait reads no more than the line, so it knows only the node's name,
// and whether the node is of its own session.
func TestErrorNamesThePeerOfARefusal(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, holder, s := suite.Context(t), z.Dial(t), z.Dial(t)
		p, q := z.Path(t), z.Path(t)
		h, err := zksync.NewMulti(zksync.NewMutex(holder, p), zksync.NewMutex(holder, q)).Hold(ctx)
		suite.Must(t, err)
		seq, err := strconv.ParseInt(h.Node()[len(h.Node())-10:], 10, 64)
		suite.Must(t, err)
		for _, s := range []*zksync.Session{s, holder} {
			for name, l := range map[string]zksync.Locker{
				"mutex": zksync.NewMutex(s, p), "write": zksync.NewRWMutex(s, p), "read": zksync.NewRWMutex(s, p).RLocker(),
				"multi": zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-free")),
			} {
				_, err := l.TryHold(ctx)
				e := suite.IsError(t, err, zksync.ErrBusy)
				want := zksync.Peer{LockNode: zksync.LockNode{
					Node: h.Node(), Mode: zksync.ModeMutex, Form: zksync.FormZKSync, Sequence: seq,
				}, Position: e.Position}
				if s == holder { // the node's GUID shows that without a request
					want.Local, want.Session = true, s.ID()
				}
				if e.Peer == nil || *e.Peer != want {
					t.Errorf("%s: %+v, want %+v", name, e.Peer, want)
				}
			}
		}
		suite.Must(t, h.Release(ctx))
	}, suite.Smoke)
}

func TestErrorNamesThePeerOfPermits(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, holder, s, p := suite.Context(t), z.Dial(t), z.Dial(t), z.Path(t)
		h, err := zksync.NewSemaphore(holder, p, 2).Hold(ctx, 2)
		suite.Must(t, err)
		sem := zksync.NewSemaphore(s, p, 2)
		_, err = sem.TryHold(ctx, 1)
		if e := suite.IsError(t, err, zksync.ErrBusy); e.Peer == nil || e.Peer.Node != h.Node() {
			t.Errorf("%v, %+v", e, e.Peer)
		}
		_, err = sem.Hold(suite.BrieflyFor(t, time.Second), 1)
		if e := suite.IsError(t, err, context.DeadlineExceeded); e.Peer == nil || e.Peer.Node != h.Node() || e.Peer.Position != 1 {
			t.Errorf("%v, %+v", e, e.Peer)
		}
		if err := sem.Acquire(suite.BrieflyFor(t, time.Second), 1); err != context.DeadlineExceeded {
			t.Errorf("%v", err)
		}
		suite.Must(t, h.Release(ctx))
	}, suite.Timeless)
}

// Who stood behind nobody, or was granted the lock, names nobody.
func TestErrorWithoutAPeer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		for name, err := range map[string]error{
			"done":  zksync.NewMutex(s, z.Path(t)).LockContext(suite.DoneContext()),
			"path":  zksync.NewMutex(s, "a").LockContext(suite.Context(t)),
			"large": func() error { _, err := zksync.NewSemaphore(s, z.Path(t), 1).TryHold(suite.Context(t), 2); return err }(),
		} {
			if e := suite.IsError(t, err); e.Peer != nil {
				t.Errorf("%s: %v: %+v", name, e, e.Peer)
			}
		}
	})
}

// Refusals of an access list are one error, whoever is asked.
func TestNoAuth(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, c := suite.Context(t), z.Path(t), z.Raw(t)
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		suite.MakePath(t, c, p)
		acl := zk.DigestACL(zk.PermAll, "user", "secret")
		node := suite.Plant(t, c, p+"/lock-", "", zk.FlagEphemeral|zk.FlagSequence)
		_, err := c.SetACL(p, acl, -1)
		suite.Must(t, err)
		_, err = c.SetACL(node, acl, -1)
		suite.Must(t, err)
		for name, call := range map[string]func() error{
			"LockContext": func() error { return zksync.NewMutex(s, p).LockContext(ctx) },
			"TryHold":     func() error { _, err := zksync.NewMutex(s, p).TryHold(ctx); return err },
			"Hold of a Multi": func() error {
				_, err := zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-more")).Hold(ctx)
				return err
			},
			"Acquire":     func() error { return zksync.NewSemaphore(s, p, 1).Acquire(ctx, 1) },
			"Inspect":     func() error { _, err := s.Inspect(ctx, p); return err },
			"InspectTree": func() error { _, err := s.InspectTree(ctx, p); return err },
			"Revoke":      func() error { return s.Revoke(ctx, node) },
			"Break":       func() error { return s.Break(ctx, node) },
		} {
			if e := suite.IsError(t, call(), zksync.ErrNoAuth, zk.ErrNoAuth); e.ErrorType() != "no_auth" {
				t.Errorf("%s: %v, %s", name, e, e.ErrorType())
			}
		}
		rec.Mu.Lock()
		for _, r := range rec.Results {
			if !errors.Is(r.Err, zksync.ErrNoAuth) {
				t.Errorf("the tracer was told %v", r.Err)
			}
		}
		rec.Mu.Unlock()
		if errors.Is(suite.IsError(t, zksync.NewMutex(s, "a").LockContext(ctx)), zksync.ErrNoAuth) {
			t.Error("every error is one")
		}
	}, suite.Smoke)
}
