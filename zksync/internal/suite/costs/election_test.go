package costs_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A new leader costs an observer two requests and one event. Those who stand behind the
// leader cost nothing, however many come and go.
func TestRequestsOfAnElection(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, cancel := context.WithCancel(suite.Context(t))
		p := z.Path(t)
		s := z.Counted(t)
		leader, next := z.Dial(t), z.Dial(t)
		e := zksync.NewElection(s.Session, p)
		look := func(what string, want suite.Ops) {
			t.Helper()
			_, _ = e.Leader(ctx)
			s.Wants(t, what, want)
		}
		look("Leader of a path that is missing", suite.Ops{"getChildren2": 1})

		leaders, end := make(chan zksync.LockNode), make(chan error, 1)
		go func() {
			for n, err := range e.Observe(ctx) {
				if err != nil {
					end <- err
					return
				}
				leaders <- n
			}
		}()
		events := int64(0)
		change := func(what, node string, more int64, want suite.Ops) {
			t.Helper()
			if n := suite.Receive(t, leaders); n.Node != node {
				t.Errorf("%s: %+v leads, want %q", what, n, node)
			}
			s.Wants(t, what, want)
			if n := s.Events.Load() - events; n != more {
				t.Errorf("%s: %d events, want %d", what, n, more)
			}
			events = s.Events.Load()
		}
		change("the path is missing", "", 0, suite.Ops{"getChildren2": 1, "exists": 1})

		m := zksync.NewMutex(leader, p)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		change("the first leader", h.Node(), 1, suite.Ops{"getChildren2": 1, "getData": 1})
		look("Leader", suite.Ops{"getChildren2": 1, "getData": 1})

		waiting, stop := context.WithCancel(ctx)
		for range 5 {
			behind := suite.Async(func() error { return zksync.NewMutex(next, p).LockContext(waiting) })
			suite.InLine(t, z.Raw(t), p, 2)
			stop()
			<-behind
			suite.AtRest(t, next)
			waiting, stop = context.WithCancel(ctx)
		}
		s.Wants(t, "others come and go", suite.Ops{})
		if n := s.Events.Load() - events; n != 0 {
			t.Errorf("%d events of others", n)
		}

		suite.Must(t, leader.Revoke(ctx, h.Node()))
		suite.Eventually(t, "the leader's data is read", func() bool { return s.Looks.Load() == 1 })
		s.Wants(t, "the leader is asked to resign", suite.Ops{"getData": 1})
		events = s.Events.Load()

		held := suite.Async(func() *zksync.Hold {
			h, err := zksync.NewMutex(next, p).Hold(ctx)
			if err != nil {
				t.Error(err)
			}
			return h
		})
		suite.InLine(t, z.Raw(t), p, 2)
		suite.Must(t, h.Release(ctx))
		h = suite.Receive(t, held)
		change("the next leader", h.Node(), 1, suite.Ops{"getChildren2": 1, "getData": 1})

		suite.Must(t, h.Release(ctx))
		change("no leader", "", 1, suite.Ops{"getChildren2": 2})
		look("Leader of nobody", suite.Ops{"getChildren2": 1})

		h, err = m.Hold(ctx)
		suite.Must(t, err)
		change("a leader on a path that exists", h.Node(), 1, suite.Ops{"getChildren2": 1, "getData": 1})
		suite.Must(t, h.Release(ctx))
		change("no leader again", "", 1, suite.Ops{"getChildren2": 2})
		stop()
		cancel()
		suite.IsError(t, suite.Receive(t, end), context.Canceled)
	}, suite.Smoke)
}
