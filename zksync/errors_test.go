package zksync_test

import (
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"
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

// A refused call knows that the node before it may be a waiter's.
func TestErrorOfATryBehindAWaiter(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		holder, waiter, s := z.Dial(t), z.Dial(t, zksync.WithIdentity("waiter")), z.Dial(t)
		p := z.Path(t)
		h, err := zksync.NewMutex(holder, p).Hold(suite.Context(t))
		suite.Must(t, err)
		end := suite.Async(func() error { return zksync.NewMutex(waiter, p).LockContext(suite.BrieflyFor(t, 5*time.Second)) })
		suite.Eventually(t, "the waiter stands in line", func() bool {
			q, err := s.Inspect(suite.Context(t), p)
			return err == nil && len(q.Nodes) == 2
		})
		_, err = zksync.NewMutex(s, p).TryHold(suite.Context(t))
		if e := suite.IsError(t, err, zksync.ErrBusy); e.Position != 2 || e.Peer == nil || e.Peer.Position != 2 || e.Peer.Identity != "waiter" {
			t.Errorf("%v, %+v", e, e.Peer)
		}
		suite.IsError(t, suite.Receive(t, end), context.DeadlineExceeded)
		suite.Must(t, h.Release(suite.Context(t)))
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

// A handle that is refused costs one more read, which tells who is in the way.
func TestErrorNamesThePeerOfARefusal(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, holder, s := suite.Context(t), z.Dial(t, zksync.WithIdentity("pod-3")), z.Dial(t)
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
				if e.Peer == nil || e.Peer.Since.IsZero() {
					t.Fatalf("%s: %+v", name, e.Peer)
				}
				want := zksync.Peer{LockNode: zksync.LockNode{
					Node: h.Node(), Mode: zksync.ModeMutex, Form: zksync.FormZKSync, Sequence: seq,
					Identity: "pod-3", Host: e.Peer.Host, PID: os.Getpid(), Session: holder.ID(), Since: e.Peer.Since, Fence: h.Fence(),
				}, Position: e.Position, Local: s == holder}
				if *e.Peer != want {
					t.Errorf("%s: %+v, want %+v", name, e.Peer, want)
				}
				if text := `lock held by another (behind "pod-3", in line since ` + want.Since.UTC().Format(time.RFC3339) + ")"; !strings.Contains(e.Error(), text) {
					t.Errorf("%s: %v", name, e)
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

// A refusal whose node is gone when it is read, or can't be read, is still one, with what
// the name of the node shows.
func TestARefusalBehindAnUnreadableNode(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		suite.MakePath(t, z.Raw(t), p)
		holder := zksync.NewMutex(z.Dial(t, digest("a")), p, zksync.WithACL(may("a", zk.PermAll)...))
		h, err := holder.Hold(suite.Context(t))
		suite.Must(t, err)
		_, err = zksync.NewMutex(z.Dial(t), p).TryHold(suite.Context(t))
		e := suite.IsError(t, err, zksync.ErrBusy)
		if e.Peer == nil || e.Peer.Node != h.Node() || e.Peer.Identity != "" || !e.Peer.Since.IsZero() {
			t.Errorf("%+v", e.Peer)
		}
		if want := "lock held by another (behind \"" + path.Base(h.Node()) + "\")"; !strings.HasSuffix(e.Error(), want) {
			t.Errorf("%v, want %s", e, want)
		}
		suite.Must(t, h.Release(suite.Context(t)))
	})
}

// What another program calls itself can't disturb a terminal or fill a log.
func TestErrorQuotesThePeer(t *testing.T) {
	e := &zksync.Error{Op: "lock", Path: "/x", Err: zksync.ErrBusy, Peer: &zksync.Peer{LockNode: zksync.LockNode{
		Identity: "a\n\x1b[31m" + strings.Repeat("b", 1000)}}}
	if text := e.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 250 || !strings.HasPrefix(text, "zksync: lock /x: lock held by another (behind \"a\\n") {
		t.Error(text)
	}
}

// A refused permission is named with the operation and the path, and with no place in line
// where there was none.
func TestErrorNamesTheRefusedPermission(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, admin, top := suite.Context(t), z.Raw(t), z.Path(t)
		suite.MakePath(t, admin, top)
		s := z.Dial(t)
		anyone := func(perms int32) []zk.ACL { return append(zk.WorldACL(perms), may("admin", zk.PermAll)...) }
		for name, tt := range map[string]struct {
			perms int32
			want  string
		}{
			"create": {zk.PermRead | zk.PermDelete, "no permission to create a node below "},
			"list":   {zk.PermCreate | zk.PermDelete, "no permission to list "},
		} {
			p := top + "/" + name
			_, err := admin.Create(p, nil, 0, anyone(tt.perms))
			suite.Must(t, err)
			for how, call := range map[string]func(zksync.Locker) error{
				"LockContext": func(l zksync.Locker) error { return l.LockContext(ctx) },
				"TryHold":     func(l zksync.Locker) error { _, err := l.TryHold(ctx); return err },
				"Multi": func(l zksync.Locker) error {
					return zksync.NewMulti(l, zksync.NewMutex(s, p+"-free")).LockContext(ctx)
				},
			} {
				err := call(zksync.NewMutex(s, p))
				e := suite.IsError(t, err, zksync.ErrNoAuth, zk.ErrNoAuth)
				if !strings.Contains(e.Error(), ": "+tt.want+p) || name == "create" && strings.Contains(e.Error(), "in line") {
					t.Errorf("%s, %s: %v", name, how, e)
				}
			}
			suite.AtRest(t, s)
		}
	})
}

// Errors about a node name it.
func TestErrorsOfBreakAndRevokeNameTheNode(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, node := z.Dial(t), z.Path(t)+"/_c_00000000-0000-0000-0000-000000000000-lock-0000000001"
		for op, err := range map[string]error{"break": s.Break(suite.Context(t), node), "revoke": s.Revoke(suite.Context(t), node)} {
			if e := suite.IsError(t, err, zk.ErrNoNode); e.Error() != "zksync: "+op+" "+node+": zk: node does not exist" {
				t.Error(e)
			}
		}
		if e := suite.IsError(t, s.Break(suite.Context(t), "/etc/passwd")); e.Error() != "zksync: break /etc/passwd: not the path of a lock node" {
			t.Error(e)
		}
	})
}
