package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// publishes returns the owner's id and name that the only node of a path publishes.
func publishes(t *testing.T, s *zksync.Session, p string) (id, name string) {
	t.Helper()
	q, err := s.Inspect(suite.Context(t), p)
	suite.Must(t, err)
	if len(q.Nodes) != 1 {
		t.Fatalf("%d nodes", len(q.Nodes))
	}
	return q.Nodes[0].OwnerID, q.Nodes[0].OwnerName
}

// A label is published as the owner's name, whatever the lock and the call, in place of
// the name of an owner. The tracers of those who wait are told of it, too.
func TestLabel(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		told := make(chan zksync.Peer, 10)
		tracer := zksync.WithTracer(&zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) { told <- p }})
		near, far := z.Dial(t, tracer), z.Dial(t, tracer)
		for kind, open := range map[string]func(s *zksync.Session, p string) zksync.Locker{
			"Mutex": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewMutex(s, p) },
			"write": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p) },
			"read":  func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p).RLocker() },
			"Multi": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewMulti(zksync.NewMutex(s, p)) },
		} {
			for _, call := range suite.Calls {
				t.Run(kind+", "+call.Name, func(t *testing.T) {
					p, ctx := z.Path(t), zksync.WithLabel(suite.Context(t), "import")
					o := zksync.NewOwner("o")
					for name, who := range map[string]struct {
						ctx      context.Context
						id, name string
					}{
						"label":              {ctx, "", "import"},
						"label and owner":    {zksync.WithOwner(ctx, o), o.ID(), "import"},
						"an inner label":     {zksync.WithLabel(ctx, "export"), "", "export"},
						"an owner, unnamed":  {zksync.WithLabel(zksync.WithOwner(ctx, o), ""), o.ID(), "o"},
						"no label any more":  {zksync.WithLabel(ctx, ""), "", ""},
						"neither to be seen": {suite.Context(t), "", ""},
					} {
						free, err := call.Take(who.ctx, open(s, p))
						suite.Must(t, err)
						if id, text := publishes(t, s, p); id != who.id || text != who.name {
							t.Errorf("%s: published as %q, %q", name, id, text)
						}
						suite.Must(t, free(who.ctx))
					}
				})
			}
		}
		t.Run("permits", func(t *testing.T) {
			p, ctx := z.Path(t), zksync.WithOwner(zksync.WithLabel(suite.Context(t), "import"), zksync.NewOwner("o"))
			suite.Must(t, zksync.NewSemaphore(s, p, 2).Do(ctx, 1, func(context.Context, *zksync.Hold) error {
				if id, text := publishes(t, s, p); id != "" || text != "import" {
					t.Errorf("published as %q, %q", id, text)
				}
				return nil
			}))
		})
		t.Run("peers", func(t *testing.T) {
			p, ctx := z.Path(t), zksync.WithLabel(suite.Context(t), "import")
			m := zksync.NewMutex(near, p)
			suite.Must(t, m.LockContext(ctx))
			for _, waiter := range []*zksync.Session{near, far} {
				err := zksync.NewMutex(waiter, p).LockContext(suite.BrieflyFor(t, suite.Tick))
				suite.IsError(t, err, context.DeadlineExceeded)
				if peer := suite.Receive(t, told); peer.OwnerName != "import" || peer.OwnerID != "" {
					t.Errorf("%+v", peer)
				}
			}
			m.Unlock()
		})
		suite.AtRest(t, s)
	})
}

// A label makes no lock re-entrant, and puts nobody in anybody's place.
func TestLabelIsNoOwner(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, ctx := z.Dial(t), zksync.WithLabel(suite.Context(t), "import")
		m := zksync.NewMutex(s, z.Path(t))
		suite.Must(t, m.LockContext(ctx))
		if got, err := m.TryLockContext(ctx); got || err != nil {
			t.Errorf("with the same label: %v, %v", got, err)
		}
		if o, found := zksync.OwnerFrom(ctx); found {
			t.Errorf("an owner: %v", o)
		}
		suite.Must(t, m.UnlockContext(ctx))
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
	})
}

// Readers of a session share a node, which has the label of one that reads.
func TestLabelsOfReadersThatShare(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s := z.Via(t, z.Server.Dial)
		rw, p := zksync.NewRWMutex(s, "/l"), "/l"
		a, b := zksync.WithLabel(suite.Context(t), "a"), zksync.WithLabel(suite.Context(t), "b")
		says := func(want string) {
			t.Helper()
			suite.Eventually(t, "the node says "+want, func() bool { _, name := publishes(t, s, p); return name == want })
		}
		suite.Must(t, rw.RLockContext(a))
		suite.Must(t, rw.RLockContext(b))
		says("a")
		suite.Must(t, rw.RUnlockContext(a))
		says("b")
		rw.RLock()
		suite.Must(t, rw.RUnlockContext(b))
		says("")
		rw.RUnlock()
		suite.NobodyIn(t, z.Server, s, p)
	})
}
