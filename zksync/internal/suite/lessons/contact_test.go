package lessons_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A waiter whose blocker goes while it is cut off, or whose event gets lost with
// the connection, decides again after reconnecting, at once.
func TestEventLostOverAReconnect(t *testing.T) {
	suite.Beside(t)
	for name, fault := range map[string]func(t *testing.T, p *ensemble.Proxy, s *zksync.Session, release func()){
		"CutOff": func(t *testing.T, p *ensemble.Proxy, s *zksync.Session, release func()) {
			suite.CutOffUntilKnown(t, p, s)
			release()
		},
		"EventLost": func(t *testing.T, p *ensemble.Proxy, s *zksync.Session, release func()) {
			n := s.Stats().Disconnects
			var lost atomic.Bool
			p.SetHook(func(f ensemble.Frame) ensemble.Action {
				switch {
				case f.Op != "notify":
					return ensemble.Pass
				case lost.CompareAndSwap(false, true):
					p.Refuse()
					return ensemble.DropAndDisconnect
				}
				return ensemble.Drop // nor does it come again when the watch is set again
			})
			release()
			suite.Eventually(t, "the event is lost", func() bool { return s.Stats().Disconnects > n })
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, at := suite.Context(t), z.Path(t)
				holder := zksync.NewMutex(z.Dial(t), at)
				p, s := z.Behind(t, suite.TellsLine())
				m := zksync.NewMutex(s, at)
				suite.Must(t, holder.LockContext(ctx))
				wctx, waits := suite.Watched(ctx)
				result := suite.Async(func() error { return m.LockContext(wctx) })
				suite.Receive(t, waits)
				id := s.ID()
				fault(t, p, s, func() { suite.Must(t, holder.UnlockContext(ctx)) })
				p.Heal()
				suite.Within(t, suite.Soon, func() { suite.Must(t, suite.Receive(t, result)) })
				if s.ID() != id {
					t.Error("another session")
				}
				suite.Must(t, m.UnlockContext(ctx))
			})
		})
	}
}

// A deadline holds while there is no connection, whatever the connection tries.
func TestDeadlineWhileDisconnected(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, fault := range map[string]func(*ensemble.Proxy){
			"Refused": suite.CutOff,
			"Silent":  func(p *ensemble.Proxy) { p.Blackhole() },
			"SilentFromNowOn": func(p *ensemble.Proxy) {
				p.Blackhole()
				p.DisconnectAll()
			},
		} {
			t.Run(name, func(t *testing.T) {
				at := z.Path(t)
				p, s := z.Behind(t)
				m := zksync.NewMutex(s, at)
				suite.LockAndUnlock(t, m)
				fault(p)
				for _, way := range bounded {
					const bound = 200 * time.Millisecond
					ctx, cancel := context.WithTimeout(context.Background(), bound)
					suite.Within(t, bound, func() {
						_, err := way.Lock(ctx, m)
						if suite.IsError(t, err, context.DeadlineExceeded); !errors.Is(err, context.Cause(ctx)) {
							t.Errorf("%s: %v", way.Name, err)
						}
					})
					cancel()
				}
				p.Heal()
				suite.LockAndUnlock(t, m)
			})
		}
	})
}

// A connection that comes and goes ends no hold.
func TestABlipIsNoLoss(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, at := suite.Context(t), z.Path(t)
		p, s := z.Behind(t)
		m := zksync.NewMutex(s, at)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		held := h.Context(ctx)
		for range 10 {
			n := s.Stats()
			p.DisconnectAll()
			suite.Eventually(t, "the connection is there again", func() bool {
				now := s.Stats()
				return now.Disconnects > n.Disconnects && now.Connects > n.Connects
			})
			suite.Must(t, held.Err())
		}
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
		if node := suite.NodeOf(t, z.Raw(t), at, s); node != h.Node() {
			t.Errorf("the node is %s, was %s", node, h.Node())
		}
		suite.Must(t, h.Release(ctx))
	})
}

// While no server answers nothing is refused: every call goes on when one does.
func TestNoServerMeansTryAgain(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, at := suite.Context(t), z.Path(t)
		p, s := z.Behind(t)
		suite.LockAndUnlock(t, zksync.NewMutex(s, at))
		suite.CutOffUntilKnown(t, p, s)
		var results []<-chan error
		for i := range 20 {
			m := zksync.NewMutex(s, fmt.Sprint(at, i))
			results = append(results,
				suite.Async(func() error { defer m.Unlock(); m.Lock(); return nil }),
				suite.Async(func() error { return m.Do(ctx, func(context.Context, *zksync.Hold) error { return nil }) }),
				suite.Async(func() error { return s.Ping(ctx) }))
		}
		suite.SleepReal(suite.Overrun)
		for i, r := range results {
			select {
			case err := <-r:
				t.Errorf("call %d ended without a server: %v", i, err)
			default:
			}
		}
		if m := zksync.NewMutex(s, at); m.TryLock() {
			t.Error("TryLock without a server")
		}
		p.Heal()
		for _, r := range results {
			suite.Must(t, suite.Receive(t, r))
		}
		suite.AtRest(t, s)
	})
}

// A client without contact learns of nothing, and has its own clock: the hold
// ends after half the timeout, while the client still believes in its session.
func TestOwnClock(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, at := suite.Context(t), z.Path(t)
		p, s := z.Behind(t, zksync.WithSessionTimeout(suite.LossTimeout))
		h, err := zksync.NewMutex(s, at).Hold(ctx)
		suite.Must(t, err)
		id := s.ID()
		p.Blackhole()
		suite.Within(t, s.Timeout()/2, func() { suite.Receive(t, h.Context(ctx).Done()) })
		if s.ID() != id {
			t.Errorf("session %#x instead of %#x, without a server to say so", s.ID(), id)
		}
		suite.IsError(t, h.Release(ctx), zksync.ErrLost)
		p.Heal()
		suite.LockAndUnlock(t, zksync.NewMutex(s, at))
	})
}

// A new session stands up by itself, on the same client. What was held is lost,
// what waits goes on at the back of the queue.
func TestNewSession(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, at, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s, other := z.Dial(t, suite.TellsLine()), z.Dial(t, suite.TellsLine())
		old := s.ID()
		hold := zksync.NewMutex(s, at+"-hold")
		h, err := hold.Hold(ctx)
		suite.Must(t, err)
		plain := zksync.NewMutex(s, at+"-plain")
		suite.Must(t, plain.LockContext(ctx))
		// Three in line: somebody, the session that ends, and another one.
		first, err := zksync.NewMutex(z.Dial(t), at).Hold(ctx)
		suite.Must(t, err)
		second, third := holdInLine(ctx, t, s, at), holdInLine(ctx, t, other, at)

		suite.Must(t, z.Expire(old))
		suite.Receive(t, h.Context(ctx).Done())
		suite.IsError(t, h.Release(ctx), zksync.ErrLost)
		suite.Eventually(t, "a new session stands", func() bool { id := s.ID(); return id != 0 && id != old })
		again, err := hold.Hold(ctx)
		suite.Must(t, err)
		if again.Fence() <= h.Fence() {
			t.Errorf("fence %d came after fence %d", again.Fence(), h.Fence())
		}
		suite.NodeOf(t, raw, at+"-hold", s)
		suite.Must(t, again.Release(ctx))
		suite.IsError(t, plain.UnlockContext(ctx), zksync.ErrLost)
		suite.LockAndUnlock(t, plain)

		suite.InLine(t, raw, at, 3)
		suite.Must(t, first.Release(ctx))
		g := suite.Receive(t, third)
		suite.Must(t, g.Err)
		suite.Must(t, g.Hold.Release(ctx))
		g = suite.Receive(t, second)
		suite.Must(t, g.Err)
		if node := suite.NodeOf(t, raw, at, s); node != g.Hold.Node() {
			t.Errorf("holds %s, where only %s is", g.Hold.Node(), node)
		}
		suite.Must(t, g.Hold.Release(ctx))
	})
}

// Events of one reconnect come in any order, and the end of the blocker says
// nothing where the own node may be gone: a waiter that lost both its blocker
// and its place stands at the back again.
func TestOwnNodeAndBlockerGone(t *testing.T) {
	suite.Beside(t)
	for _, connected := range []bool{true, false} {
		name := map[bool]string{true: "Connected", false: "WhileCutOff"}[connected]
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				const n = 40
				ctx, raw, root := suite.Context(t), z.Raw(t), z.Path(t)
				a, c := z.Dial(t), z.Dial(t, suite.TellsLine())
				p, b := z.Behind(t, suite.TellsLine())
				var (
					first         = make([]*zksync.Hold, n)
					own           = make([]string, n)
					second, third = make([]<-chan suite.Grant, n), make([]<-chan suite.Grant, n)
					gone          []any
				)
				for i := range n {
					at := fmt.Sprint(root, i)
					h, err := zksync.NewMutex(a, at).Hold(ctx)
					suite.Must(t, err)
					first[i] = h
					second[i] = holdInLine(ctx, t, b, at)
					own[i] = otherThan(t, raw, at, h.Node())
					third[i] = holdInLine(ctx, t, c, at)
					gone = append(gone, &zk.DeleteRequest{Path: own[i], Version: -1},
						&zk.DeleteRequest{Path: h.Node(), Version: -1})
				}
				if !connected {
					suite.CutOffUntilKnown(t, p, b)
				}
				_, err := raw.Multi(gone...) // all at once, so that events come in a burst
				suite.Must(t, err)
				p.Heal()
				for i := range n {
					g := suite.Receive(t, third[i])
					suite.Must(t, g.Err)
					select {
					case g := <-second[i]:
						t.Fatalf("%d: granted %s (%v) beside another hold; its place %s is gone",
							i, g.Hold.Node(), g.Err, own[i])
					default:
					}
					suite.Must(t, g.Hold.Release(ctx))
					g = suite.Receive(t, second[i])
					suite.Must(t, g.Err)
					suite.NodeOf(t, raw, fmt.Sprint(root, i), b)
					suite.Must(t, g.Hold.Release(ctx))
					suite.IsError(t, first[i].Release(ctx), zksync.ErrLost)
				}
			})
		})
	}
}

// holdInLine wants a hold, and returns once the call stands in line behind
// somebody.
func holdInLine(ctx context.Context, t testing.TB, s *zksync.Session, at string) <-chan suite.Grant {
	t.Helper()
	ctx, waits := suite.Watched(ctx)
	c := suite.Async(func() suite.Grant {
		h, err := zksync.NewMutex(s, at).Hold(ctx)
		return suite.Grant{Hold: h, At: time.Now(), Err: err}
	})
	suite.Receive(t, waits)
	return c
}

// otherThan returns the full path of the one node below p that is not node.
func otherThan(t testing.TB, c *zk.Conn, p, node string) string {
	t.Helper()
	other := ""
	for _, name := range suite.Children(t, c, p) {
		if full := path.Join(p, name); full != node {
			if other != "" {
				t.Fatalf("%s and %s below %s", other, full, p)
			}
			other = full
		}
	}
	return other
}
