package zksync_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestStats(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		other := zksync.NewMutex(z.Dial(t), p)
		m := zksync.NewMutex(s, p)
		var want zksync.Stats
		check := func(what string) {
			t.Helper()
			suite.Eventually(t, what, func() bool { return s.Stats().CleanupPending == 0 })
			got := s.Stats()
			got.Requests, got.Connects = 0, 0
			if got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		check("at the start")
		m.Lock()
		want.Held, want.Acquired = 1, 1
		check("held")
		second, third := suite.Async(func() error { return m.LockContext(suite.Context(t)) }), suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 2)
		want.Waiting = 2
		check("waiting")
		m.Unlock()
		select { // one of them is through
		case err := <-second:
			suite.Must(t, err)
			second = third
		case err := <-third:
			suite.Must(t, err)
		}
		want.Waiting, want.Acquired, want.Handoffs = 1, 2, 1
		suite.AwaitWaiting(t, s, 1)
		check("handed over")
		m.Unlock()
		suite.Must(t, suite.Receive(t, second))
		m.Unlock()
		want.Waiting, want.Acquired, want.Handoffs, want.Held = 0, 3, 2, 0
		check("released")
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		want.Held, want.Acquired = 1, 4
		check("a hold")
		if n := s.Stats(); n.Connects < 1 || n.Requests < 6 {
			t.Errorf("%+v", n)
		}
		suite.Must(t, z.Raw(t).Delete(h.Node(), -1))
		suite.Eventually(t, "the loss is noticed", func() bool { return h.Err() != nil })
		want.Held, want.Losses = 0, 1
		check("lost")
		suite.Must(t, other.LockContext(suite.Context(t)))
		if m.TryLock() {
			t.Error("two holders")
		}
		check("refused")
		other.Unlock()
	})
}

func TestPing(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		before := s.Stats().Requests
		suite.Must(t, s.Ping(suite.Context(t)))
		if n := s.Stats().Requests - before; n != 1 {
			t.Errorf("%d requests", n)
		}
		e := suite.IsError(t, s.Ping(suite.DoneContext()), context.Canceled, suite.ErrCause)
		if e.Op != "ping" {
			t.Errorf("%#v", e)
		}
		if s.ID() == 0 || s.Timeout() != suite.SessionTimeout {
			t.Errorf("session %#x, timeout %v", s.ID(), s.Timeout())
		}
	})
}

// The program's own client stays open and usable.
func TestNewSessionLeavesClient(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Client(t)
		s, err := zksync.NewSession(c, suite.SessionTimeout)
		suite.Must(t, err)
		suite.Must(t, s.Ping(suite.Context(t)))
		if s.Conn() != c || s.ID() != c.SessionID() || s.Timeout() != suite.SessionTimeout {
			t.Errorf("session %#x on %#x, timeout %v", s.ID(), c.SessionID(), s.Timeout())
		}
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		suite.Must(t, s.Close())
		if len(suite.Children(t, c, p)) != 0 {
			t.Error("a node is left on the program's session")
		}
		again, err := zksync.NewSession(c, suite.SessionTimeout)
		suite.Must(t, err)
		suite.LockAndUnlock(t, zksync.NewMutex(again, p))
		suite.Must(t, again.Close())
		if c.State() != zk.StateHasSession {
			t.Error(c.State())
		}
	}, suite.Smoke)
}
