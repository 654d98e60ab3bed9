package zksync_test

import (
	"context"
	"iter"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// seen is what one loop over the leaders has got.
type seen struct {
	nodes chan zksync.LockNode
	end   chan error // of the loop; nil: the body broke out of it
}

// observe runs a loop over the leaders until it fails, or until stop is closed.
func observe(leaders iter.Seq2[zksync.LockNode, error], stop <-chan struct{}) seen {
	o := seen{make(chan zksync.LockNode), make(chan error, 1)}
	go func() {
		for n, err := range leaders {
			if err != nil {
				o.end <- err
				return
			}
			select {
			case o.nodes <- n:
			case <-stop:
				o.end <- nil
				return
			}
		}
	}()
	return o
}

// wants checks the next leader.
func (o seen) wants(t *testing.T, node string) {
	t.Helper()
	if n := suite.Receive(t, o.nodes); n.Node != node || n.Held != (node != "") {
		t.Errorf("observed %+v, want %q", n, node)
	}
}

// Leader and Observe show the present leader, the next one, and that there is none,
// whether the path exists or not.
func TestElectionLeaders(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, c := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t, zksync.WithIdentity("first"))
		e := zksync.NewElection(s, p)
		watching := zksync.NewElection(z.Dial(t), p)
		leads := func(h *zksync.Hold) {
			t.Helper()
			n, err := watching.Leader(ctx)
			if h == nil {
				if e := suite.IsError(t, err, zksync.ErrNoLeader); e.Path != p || e.Op != "leader" || e.ErrorType() != "no_leader" {
					t.Errorf("%#v", e)
				}
				return
			}
			suite.Must(t, err)
			if n.Node != h.Node() || n.Fence != h.Fence() || n.Identity != "first" || n.Session != s.ID() || !n.Held || n.Mode != zksync.ModeMutex {
				t.Errorf("%+v leads, want %s", n, h.Node())
			}
		}
		stop := make(chan struct{})
		o := observe(watching.Observe(ctx), stop)
		o.wants(t, "")
		leads(nil)
		for range 3 { // the path is missing the first time only
			l := newLead()
			result := suite.Async(func() error { return e.Run(ctx, l.lead) })
			now := l.next(t)
			o.wants(t, now.h.Node())
			leads(now.h)
			behind := newLead()
			next := suite.Async(func() error { return e.Run(ctx, behind.lead) })
			now.end <- nil
			suite.Must(t, suite.Receive(t, result))
			now = behind.next(t)
			for n := (zksync.LockNode{}); n.Node == ""; { // nobody stands for a moment, perhaps
				n = suite.Receive(t, o.nodes)
				if n.Node != "" && n.Node != now.h.Node() {
					t.Errorf("observed %+v, want %s", n, now.h.Node())
				}
			}
			leads(now.h)
			now.end <- nil
			suite.Must(t, suite.Receive(t, next))
			o.wants(t, "")
			leads(nil)
		}
		suite.Must(t, c.Delete(p, -1)) // as the servers do with an empty container
		leads(nil)
		m := zksync.NewMutex(s, p)
		suite.Must(t, m.LockContext(ctx))
		o.wants(t, suite.NodeOf(t, c, p, s))
		close(stop)
		suite.Must(t, m.UnlockContext(ctx))
		suite.Must(t, suite.Receive(t, o.end))
	}, suite.Smoke)
}

// A loop ends with its ctx, with the session, and with a refusal, and says so. It needs
// no more than to read.
func TestElectionObserveEnds(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p, s := z.Path(t), z.Dial(t)
		e := zksync.NewElection(s, p)
		for _, exists := range []bool{false, true} {
			if exists {
				zksync.NewMutex(s, p).Lock()
			}
			ctx, cancel := context.WithCancelCause(suite.Context(t))
			o := observe(e.Observe(ctx), nil)
			if n := suite.Receive(t, o.nodes); (n.Node != "") != exists {
				t.Errorf("%+v", n)
			}
			cancel(suite.ErrCause)
			if err := suite.IsError(t, suite.Receive(t, o.end), context.Canceled, suite.ErrCause); err.Op != "observe" || err.Path != p {
				t.Errorf("%#v", err)
			}
			_, err := e.Leader(ctx)
			suite.IsError(t, err, context.Canceled, suite.ErrCause)
		}
		suite.Must(t, zksync.NewMutex(s, p).UnlockContext(suite.Context(t)))

		bad := zksync.NewElection(s, "elections")
		suite.IsError(t, suite.Receive(t, observe(bad.Observe(suite.Context(t)), nil).end), zksync.ErrInvalidPath)
		_, err := bad.Leader(suite.Context(t))
		suite.IsError(t, err, zksync.ErrInvalidPath)

		o := observe(e.Observe(suite.Context(t)), nil)
		o.wants(t, "")
		suite.Must(t, s.Close())
		suite.IsError(t, suite.Receive(t, o.end), zksync.ErrClosed)
		_, err = e.Leader(suite.Context(t))
		suite.IsError(t, err, zksync.ErrClosed)
	}, suite.Smoke)
}

// A session that may list the path, but not read the nodes, learns what the names say. One
// that may not list it learns nothing.
func TestElectionOfUnreadableNodes(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		own := zk.DigestACL(zk.PermAll, "leader", "secret")
		s := z.Dial(t, zksync.WithAuth("digest", []byte("leader:secret")))
		e := zksync.NewElection(z.Dial(t), p)
		mine := zksync.NewMutex(s, p, zksync.WithACL(own...))
		zksync.NewMutex(s, p+"/deep").Lock() // makes the path readable
		stop := make(chan struct{})
		o := observe(e.Observe(ctx), stop)
		o.wants(t, "")
		for range 2 {
			h, err := mine.Hold(ctx)
			suite.Must(t, err)
			o.wants(t, h.Node())
			n, err := e.Leader(ctx)
			suite.Must(t, err)
			if n.Node != h.Node() || n.Identity != "" || !n.Held {
				t.Errorf("%+v", n)
			}
			suite.Must(t, h.Release(ctx))
			o.wants(t, "")
		}
		close(stop)
		h, err := mine.Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, suite.Receive(t, o.end))
		suite.Must(t, h.Release(ctx))

		secret := zksync.NewMutex(s, p+"-secret", zksync.WithACL(own...))
		suite.Must(t, secret.LockContext(ctx))
		hidden := zksync.NewElection(z.Dial(t), p+"-secret")
		_, err = hidden.Leader(ctx)
		suite.IsError(t, err, zksync.ErrNoAuth)
		suite.IsError(t, suite.Receive(t, observe(hidden.Observe(ctx), nil).end), zksync.ErrNoAuth)
		suite.Must(t, secret.UnlockContext(ctx))
		zksync.NewMutex(s, p+"/deep").Unlock()
	}, suite.Smoke)
}

// What a loop misses while it is disconnected shows afterwards, and a disconnect alone
// shows nothing. A session that has expired goes on, too.
func TestElectionObserveThroughADisconnect(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		net, s := z.Through(t)
		m := zksync.NewMutex(z.Dial(t), p)
		stop := make(chan struct{})
		o := observe(zksync.NewElection(s, p).Observe(ctx), stop)
		o.wants(t, "")
		away := func(meanwhile func()) {
			t.Helper()
			n := s.Stats().Disconnects
			net.Refuse()
			net.DisconnectAll()
			suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
			meanwhile()
			net.Heal()
			suite.Eventually(t, "the session is back", func() bool { return s.Ping(ctx) == nil })
		}
		var h *zksync.Hold
		take := func() (err error) { h, err = m.Hold(ctx); return err }
		away(func() { suite.Must(t, take()) })
		o.wants(t, h.Node())
		away(func() {})
		away(func() { // a leader that the loop never hears of
			suite.Must(t, h.Release(ctx))
			suite.Must(t, take())
			suite.Must(t, h.Release(ctx))
			suite.Must(t, take())
		})
		o.wants(t, h.Node())
		suite.Must(t, z.Expire(s.ID()))
		suite.Must(t, h.Release(ctx))
		o.wants(t, "")
		close(stop)
		suite.Must(t, take())
		suite.Must(t, suite.Receive(t, o.end))
		suite.Must(t, h.Release(ctx))
	}, suite.Timeless, suite.Smoke)
}

// A request to resign changes the leader's data, which is no new leader, and the loop
// still hears of the next one.
func TestElectionObserveOfARequest(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, s := suite.Context(t), z.Path(t), z.Dial(t)
		m := zksync.NewMutex(s, p)
		first, err := m.Hold(ctx)
		suite.Must(t, err)
		stop := make(chan struct{})
		o := observe(zksync.NewElection(z.Dial(t), p).Observe(ctx), stop)
		o.wants(t, first.Node())
		for range 3 {
			suite.Must(t, s.Revoke(ctx, first.Node()))
		}
		suite.Must(t, first.Release(ctx))
		o.wants(t, "")
		next, err := m.Hold(ctx)
		suite.Must(t, err)
		o.wants(t, next.Node())
		close(stop)
		suite.Must(t, next.Release(ctx))
		suite.Must(t, suite.Receive(t, o.end))
	}, suite.Smoke)
}
