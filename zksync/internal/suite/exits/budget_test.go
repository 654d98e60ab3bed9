package exits_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// budgetEnd is a session that gives a lock to another one and stands in line again, while a
// call of it waits.
type budgetEnd struct {
	z      *suite.Ground
	s      *suite.Counted
	node   string             // with which the session holds the lock
	cancel context.CancelFunc // of the call that waits
	waits  <-chan error       // its result
	closed <-chan error       // the result of Close, if that was called
}

// Whatever happens to the transaction that deletes one node and makes the next: the lock
// goes to the other session and then back, what gave it back says whether it was lost, and
// no node is left.
func TestExitsAtTheEndOfTheBudget(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, tt := range []struct {
			name    string
			answer  bool // the fault is done to the answer
			fault   func(t *testing.T, b *budgetEnd) ensemble.Action
			unlock  []error // expected of the call that gives the lock back; nil: success
			waiting []error // expected of the call that waits
			any     bool    // the unlock may succeed
		}{
			{name: "the request is lost", fault: func(*testing.T, *budgetEnd) ensemble.Action { return ensemble.DropAndDisconnect }},
			{name: "the answer is lost", answer: true, fault: func(*testing.T, *budgetEnd) ensemble.Action { return ensemble.DropAndDisconnect }},
			{name: "the connection is lost later", answer: true, fault: func(*testing.T, *budgetEnd) ensemble.Action { return ensemble.PassAndDisconnect }},
			{name: "the old node is gone", fault: func(t *testing.T, b *budgetEnd) ensemble.Action {
				if err := b.z.Raw(t).Delete(b.node, -1); err != nil {
					t.Error(err)
				}
				return ensemble.Pass
			}, unlock: []error{zksync.ErrLost}},
			{name: "the session is over", fault: func(t *testing.T, b *budgetEnd) ensemble.Action {
				if err := b.z.Expire(b.s.ID()); err != nil {
					t.Error(err)
				}
				return ensemble.Pass
			}, unlock: []error{zksync.ErrLost}},
			{name: "the call is cancelled", fault: func(_ *testing.T, b *budgetEnd) ensemble.Action {
				b.cancel()
				return ensemble.Pass
			}, waiting: []error{context.Canceled}},
			{name: "the call is cancelled and the answer lost", answer: true, fault: func(_ *testing.T, b *budgetEnd) ensemble.Action {
				b.cancel()
				return ensemble.DropAndDisconnect
			}, waiting: []error{context.Canceled}},
			{name: "the session is closed", fault: func(t *testing.T, b *budgetEnd) ensemble.Action {
				b.closed = suite.Async(b.s.Close)
				suite.Eventually(t, "the call that waits has ended", func() bool { return b.s.Stats().Waiting == 0 })
				return ensemble.Pass
			}, waiting: []error{zksync.ErrClosed}},
			{name: "the session is closed and the answer lost", answer: true, fault: func(t *testing.T, b *budgetEnd) ensemble.Action {
				b.closed = suite.Async(b.s.Close)
				suite.Eventually(t, "the call that waits has ended", func() bool { return b.s.Stats().Waiting == 0 })
				return ensemble.DropAndDisconnect
			}, waiting: []error{zksync.ErrClosed}, unlock: []error{zksync.ErrClosed}, any: true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				b, other, p := newBudgetEnd(t, z)
				m := zksync.NewMutex(b.s.Session, p, zksync.WithHandoff(1))
				var swap suite.Creation
				var once sync.Once
				b.s.Proxy.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
					if swap.Of(f) && f.FromServer == tt.answer {
						once.Do(func() { act = tt.fault(t, b) })
					}
					return act
				})
				err := m.UnlockContext(suite.Context(t))
				switch {
				case tt.any && err == nil:
				case tt.unlock != nil:
					suite.IsError(t, err, tt.unlock...)
				default:
					suite.Must(t, err)
				}
				if n := swap.Count(); n == 0 || n > 1 && tt.answer {
					t.Errorf("a node was asked for %d times", n)
				}
				suite.Must(t, other.Held(t)())
				err = suite.Receive(t, b.waits)
				switch {
				case b.closed != nil:
					suite.IsError(t, err, tt.waiting...)
					suite.Must(t, suite.Receive(t, b.closed))
				case tt.waiting != nil:
					suite.IsError(t, err, tt.waiting...)
					suite.AtRest(t, b.s.Session)
				default:
					suite.Must(t, err)
					suite.Must(t, m.UnlockContext(suite.Context(t)))
					suite.AtRest(t, b.s.Session)
				}
				z.Empty(t, p)
			})
		}
	})
}

// newBudgetEnd returns a session that holds a lock with no hand-over left while a call of it
// waits, and a call of another session that waits for the same lock p.
func newBudgetEnd(t *testing.T, z *suite.Ground) (b *budgetEnd, other suite.LineCall, p string) {
	t.Helper()
	b = &budgetEnd{z: z, s: z.Counted(t)}
	o := z.Counted(t)
	p = z.UsedPath(t, b.s.Session)
	m := zksync.NewMutex(b.s.Session, p, zksync.WithHandoff(1))
	m.Lock()
	b.s.Take(t)
	handed := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
	suite.AwaitWaiting(t, b.s.Session, 1)
	b.s.Watched(t)
	other = suite.CallInLine(t, o, p, suite.Waiting[0])
	for _, n := range suite.Children(t, z.Raw(t), p) {
		if node := p + "/" + n; b.node == "" || node[len(node)-10:] < b.node[len(b.node)-10:] {
			b.node = node
		}
	}
	m.Unlock()
	suite.Must(t, suite.Receive(t, handed))
	ctx, cancel := context.WithCancel(suite.Context(t))
	b.cancel = cancel
	b.waits = suite.Async(func() error { return m.LockContext(ctx) })
	suite.AwaitWaiting(t, b.s.Session, 1)
	return b, other, p
}
