package zksync_test

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
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// soon is far below the time after which a waiter looks by itself, which is T.
const soon = sessionTimeout / 2

// A waiter whose blocker goes while it is cut off, or whose event gets lost with
// the connection, decides again after reconnecting, at once.
func TestLesson25_EventLostOverAReconnect(t *testing.T) {
	for name, fault := range map[string]func(t *testing.T, p *zktest.Proxy, s *zksync.Session, release func()){
		"CutOff": func(t *testing.T, p *zktest.Proxy, s *zksync.Session, release func()) {
			offUntilKnown(t, p, s)
			release()
		},
		"EventLost": func(t *testing.T, p *zktest.Proxy, s *zksync.Session, release func()) {
			n := s.Stats().Disconnects
			var lost atomic.Bool
			p.SetHook(func(f zktest.Frame) zktest.Action {
				switch {
				case f.Op != "notify":
					return zktest.Pass
				case lost.CompareAndSwap(false, true):
					p.Refuse(true)
					return zktest.DropAndCut
				}
				return zktest.Drop // nor does it come again when the watch is set again
			})
			release()
			eventually(t, "the event is lost", func() bool { return s.Stats().Disconnects > n })
		},
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				ctx, at := short(t), lockPath(t)
				holder := zksync.NewMutex(z.dial(t), at)
				p, s := z.behind(t, tellsLine())
				m := zksync.NewMutex(s, at)
				ok(t, holder.LockContext(ctx))
				wctx, waits := watched(ctx)
				result := async(func() error { return m.LockContext(wctx) })
				get(t, waits)
				id := s.ID()
				fault(t, p, s, func() { ok(t, holder.UnlockContext(ctx)) })
				p.Heal()
				within(t, soon, func() { ok(t, get(t, result)) })
				if s.ID() != id {
					t.Error("another session")
				}
				ok(t, m.UnlockContext(ctx))
			})
		})
	}
}

// A deadline holds while there is no connection, whatever the connection tries.
func TestLesson29_DeadlineWhileDisconnected(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		for name, fault := range map[string]func(*zktest.Proxy){
			"Refused": off,
			"Silent":  func(p *zktest.Proxy) { p.Blackhole(true, true) },
			"SilentFromNowOn": func(p *zktest.Proxy) {
				p.Blackhole(true, true)
				p.Cut()
			},
		} {
			t.Run(name, func(t *testing.T) {
				at := lockPath(t)
				p, s := z.behind(t)
				m := zksync.NewMutex(s, at)
				free(t, m)
				fault(p)
				for way, take := range takes {
					const bound = 200 * time.Millisecond
					ctx, cancel := context.WithTimeout(context.Background(), bound)
					within(t, bound, func() {
						_, err := take(ctx, m)
						if isError(t, err, context.DeadlineExceeded); !errors.Is(err, context.Cause(ctx)) {
							t.Errorf("%s: %v", way, err)
						}
					})
					cancel()
				}
				p.Heal()
				free(t, m)
			})
		}
	})
}

// A connection that comes and goes ends no hold.
func TestLesson39_ABlipIsNoLoss(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, at := short(t), lockPath(t)
		p, s := z.behind(t)
		m := zksync.NewMutex(s, at)
		h, err := m.Hold(ctx)
		ok(t, err)
		held := h.Context(ctx)
		for range 10 {
			n := s.Stats()
			p.Cut()
			eventually(t, "the connection is there again", func() bool {
				now := s.Stats()
				return now.Disconnects > n.Disconnects && now.Connects > n.Connects
			})
			ok(t, held.Err())
		}
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
		if node := nodeOf(t, z.raw(t), at, s); node != h.Node() {
			t.Errorf("the node is %s, was %s", node, h.Node())
		}
		ok(t, h.Release(ctx))
	})
}

// While no server answers nothing is refused: every call goes on when one does.
func TestLesson51_NoServerMeansTryAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		ctx, at := short(t), lockPath(t)
		p, s := z.behind(t)
		free(t, zksync.NewMutex(s, at))
		offUntilKnown(t, p, s)
		var results []<-chan error
		for i := range 20 {
			m := zksync.NewMutex(s, fmt.Sprint(at, i))
			results = append(results,
				async(func() error { defer m.Unlock(); m.Lock(); return nil }),
				async(func() error { return m.Do(ctx, func(context.Context, *zksync.Hold) error { return nil }) }),
				async(func() error { return s.Ping(ctx) }))
		}
		pass(overrun)
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
			ok(t, get(t, r))
		}
		atRest(t, s)
	})
}

// A client without contact learns of nothing, and has its own clock: the hold
// ends after half the timeout, while the client still believes in its session.
func TestLesson53_OwnClock(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		ctx, at := short(t), lockPath(t)
		p, s := z.behind(t, zksync.WithSessionTimeout(lossTimeout))
		h, err := zksync.NewMutex(s, at).Hold(ctx)
		ok(t, err)
		id := s.ID()
		p.Blackhole(true, true)
		within(t, s.Timeout()/2, func() { get(t, h.Context(ctx).Done()) })
		if s.ID() != id {
			t.Errorf("session %#x instead of %#x, without a server to say so", s.ID(), id)
		}
		isError(t, h.Release(ctx), zksync.ErrLost)
		p.Heal()
		free(t, zksync.NewMutex(s, at))
	})
}

// A new session stands up by itself, on the same client. What was held is lost,
// what waits goes on at the back of the queue.
func TestLesson54_NewSession(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, at, raw := short(t), lockPath(t), z.raw(t)
		s, other := z.dial(t, tellsLine()), z.dial(t, tellsLine())
		old := s.ID()
		hold := zksync.NewMutex(s, at+"-hold")
		h, err := hold.Hold(ctx)
		ok(t, err)
		plain := zksync.NewMutex(s, at+"-plain")
		ok(t, plain.LockContext(ctx))
		// Three in line: somebody, the session that ends, and another one.
		first, err := zksync.NewMutex(z.dial(t), at).Hold(ctx)
		ok(t, err)
		second, third := holdInLine(ctx, t, s, at), holdInLine(ctx, t, other, at)

		ok(t, z.expire(old))
		get(t, h.Context(ctx).Done())
		isError(t, h.Release(ctx), zksync.ErrLost)
		eventually(t, "a new session stands", func() bool { id := s.ID(); return id != 0 && id != old })
		again, err := hold.Hold(ctx)
		ok(t, err)
		if again.Fence() <= h.Fence() {
			t.Errorf("fence %d came after fence %d", again.Fence(), h.Fence())
		}
		nodeOf(t, raw, at+"-hold", s)
		ok(t, again.Release(ctx))
		isError(t, plain.UnlockContext(ctx), zksync.ErrLost)
		free(t, plain)

		lineOf(t, raw, at, 3)
		ok(t, first.Release(ctx))
		g := get(t, third)
		ok(t, g.err)
		ok(t, g.hold.Release(ctx))
		g = get(t, second)
		ok(t, g.err)
		if node := nodeOf(t, raw, at, s); node != g.hold.Node() {
			t.Errorf("holds %s, where only %s is", g.hold.Node(), node)
		}
		ok(t, g.hold.Release(ctx))
	})
}

// Events of one reconnect come in any order, and the end of the blocker says
// nothing where the own node may be gone: a waiter that lost both its blocker
// and its place stands at the back again.
func TestLesson59_OwnNodeAndBlockerGone(t *testing.T) {
	for _, connected := range []bool{true, false} {
		name := map[bool]string{true: "Connected", false: "WhileCutOff"}[connected]
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				const n = 40
				ctx, raw, root := short(t), z.raw(t), lockPath(t)
				a, c := z.dial(t), z.dial(t, tellsLine())
				p, b := z.behind(t, tellsLine())
				var (
					first         = make([]*zksync.Hold, n)
					own           = make([]string, n)
					second, third = make([]<-chan grant, n), make([]<-chan grant, n)
					gone          []any
				)
				for i := range n {
					at := fmt.Sprint(root, i)
					h, err := zksync.NewMutex(a, at).Hold(ctx)
					ok(t, err)
					first[i] = h
					second[i] = holdInLine(ctx, t, b, at)
					own[i] = otherThan(t, raw, at, h.Node())
					third[i] = holdInLine(ctx, t, c, at)
					gone = append(gone, &zk.DeleteRequest{Path: own[i], Version: -1},
						&zk.DeleteRequest{Path: h.Node(), Version: -1})
				}
				if !connected {
					offUntilKnown(t, p, b)
				}
				_, err := raw.Multi(gone...) // all at once, so that events come in a burst
				ok(t, err)
				p.Heal()
				for i := range n {
					g := get(t, third[i])
					ok(t, g.err)
					select {
					case g := <-second[i]:
						t.Fatalf("%d: granted %s (%v) beside another hold; its place %s is gone",
							i, g.hold.Node(), g.err, own[i])
					default:
					}
					ok(t, g.hold.Release(ctx))
					g = get(t, second[i])
					ok(t, g.err)
					nodeOf(t, raw, fmt.Sprint(root, i), b)
					ok(t, g.hold.Release(ctx))
					isError(t, first[i].Release(ctx), zksync.ErrLost)
				}
			})
		})
	}
}

// holdInLine wants a hold, and returns once the call stands in line behind
// somebody.
func holdInLine(ctx context.Context, t testing.TB, s *zksync.Session, at string) <-chan grant {
	t.Helper()
	ctx, waits := watched(ctx)
	c := async(func() grant {
		h, err := zksync.NewMutex(s, at).Hold(ctx)
		return grant{hold: h, at: time.Now(), err: err}
	})
	get(t, waits)
	return c
}

// otherThan returns the full path of the one node below p that is not node.
func otherThan(t testing.TB, c *zk.Conn, p, node string) string {
	t.Helper()
	other := ""
	for _, name := range children(t, c, p) {
		if full := path.Join(p, name); full != node {
			if other != "" {
				t.Fatalf("%s and %s below %s", other, full, p)
			}
			other = full
		}
	}
	return other
}
