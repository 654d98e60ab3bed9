package lessons_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// bounded are the ways to a lock that a caller can bound.
var bounded = suite.WaysNamed("LockContext", "Hold", "TryHold")

// The node whose create was not answered is found and stood on.
func TestLostCreateReply(t *testing.T) {
	suite.Beside(t)
	for _, way := range bounded {
		name, take := way.Name, way.Lock
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
				p, s := z.Behind(t)
				id := s.ID()
				m := zksync.NewMutex(s, path)
				suite.LockAndUnlock(t, m) // the path is there
				c := suite.LoseCreateReply(p, nil)
				release, err := take(ctx, m)
				suite.Must(t, err)
				suite.NodeOf(t, raw, path, s)
				if s.ID() != id {
					t.Error("another session")
				}
				if c.Count() != 1 {
					t.Errorf("the node was asked for %d times, want 1", c.Count())
				}
				suite.Must(t, release())
				z.Empty(t, path)
			}, suite.Smoke)
		})
	}
}

// A server that lags does not show the node until it is brought up to date.
func TestLaggingServer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
		p, s := z.Behind(t)
		m := zksync.NewMutex(s, path)
		suite.LockAndUnlock(t, m)
		var mu sync.Mutex
		fresh := make(map[int64]bool) // connections on which a sync was answered
		hidden := 0
		c := suite.LoseCreateReply(p, func(f ensemble.Frame) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !f.FromServer:
			case f.Op == "sync":
				fresh[f.Conn] = true
			case strings.HasPrefix(f.Op, "getChildren") && !fresh[f.Conn]:
				// As if our node were not there: its name is another's.
				for i := bytes.Index(f.Payload, []byte("_c_")); i >= 0 && i < len(f.Payload)-3; {
					copy(f.Payload[i+3:], "00000000-0000-0000-0000-000000000000")
					hidden++
					next := bytes.Index(f.Payload[i+3:], []byte("_c_"))
					if next < 0 {
						break
					}
					i += 3 + next
				}
			}
		})
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		suite.NodeOf(t, raw, path, s)
		mu.Lock()
		if len(fresh) == 0 || hidden != 0 || c.Count() != 1 {
			t.Errorf("%d syncs, %d looks at a server that lags, %d creates", len(fresh), hidden, c.Count())
		}
		mu.Unlock()
		suite.Must(t, h.Release(ctx))
	})
}

// A node that is found, but is of another session, is the one before's, which
// is dying: it is deleted, and stood on no more.
func TestNodeOfTheDyingSession(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
		p, s := z.Behind(t)
		m := zksync.NewMutex(s, path)
		suite.LockAndUnlock(t, m)
		var told atomic.Bool
		c := suite.LoseCreateReply(p, func(f ensemble.Frame) {
			const owner = 16 + 44 // behind the header, in the Stat
			if f.FromServer && f.Op == "exists" && f.Err == 0 && told.CompareAndSwap(false, true) {
				binary.BigEndian.PutUint64(f.Payload[owner:], 4711)
			}
		})
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		if node := suite.NodeOf(t, raw, path, s); node != h.Node() {
			t.Errorf("stands on %s, holds %s", node, h.Node())
		}
		if !told.Load() || c.Count() != 2 {
			t.Errorf("asked for the node's owner: %v; creates: %d, want 2", told.Load(), c.Count())
		}
		if !strings.HasSuffix(h.Node(), "-0000000002") { // 0 was free's, 1 is the session's before
			t.Errorf("holds %s, the node of the session before", h.Node())
		}
		suite.Must(t, h.Release(ctx))
	})
}

// A call that is cancelled while its node is being made returns at once, and
// the node that comes late is deleted: by the answer, after a cut, or when the
// request goes out at last.
func TestAnswerLateOrLost(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, test := range []struct {
			name string
			// fault happens to the answer, and may wait until healed is closed.
			fault func(p *ensemble.Proxy, healed <-chan struct{}) ensemble.Action
		}{
			{"AnswerLate", func(_ *ensemble.Proxy, healed <-chan struct{}) ensemble.Action {
				<-healed
				return ensemble.Pass
			}},
			{"AnswerLost", func(p *ensemble.Proxy, _ <-chan struct{}) ensemble.Action {
				p.Refuse()
				return ensemble.DropAndDisconnect
			}},
		} {
			for _, way := range bounded {
				name, take := way.Name, way.Lock
				t.Run(test.name+"/"+name, func(t *testing.T) {
					path := z.Path(t)
					p, s := z.Behind(t)
					other := z.Dial(t)
					m := zksync.NewMutex(s, path)
					suite.LockAndUnlock(t, m)
					var c suite.Creation
					var once sync.Once
					made, healed := make(chan struct{}), make(chan struct{})
					p.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
						if c.Of(f) && f.FromServer {
							once.Do(func() {
								close(made)
								act = test.fault(p, healed)
							})
						}
						return act
					})
					ctx, cancel := context.WithCancel(suite.Context(t))
					result := suite.Async(func() error { _, err := take(ctx, m); return err })
					suite.Receive(t, made)
					cancel()
					suite.Within(t, 0, func() { suite.IsError(t, suite.Receive(t, result), context.Canceled) })
					close(healed)
					p.Heal()
					z.Empty(t, path)
					suite.LockAndUnlock(t, zksync.NewMutex(other, path))
					suite.AtRest(t, s)
				})
			}
		}
	})
}

// No call of the client takes a context: a request that waits in a connection
// that does not move is left behind at once, and answered for later.
func TestCallsHonourContexts(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		path := z.Path(t)
		p, s := z.Behind(t)
		m := zksync.NewMutex(s, path)
		suite.LockAndUnlock(t, m)
		for name, call := range map[string]func(ctx context.Context) error{
			"LockContext":    m.LockContext,
			"TryLockContext": func(ctx context.Context) error { _, err := m.TryLockContext(ctx); return err },
			"Hold":           func(ctx context.Context) error { _, err := m.Hold(ctx); return err },
			"Ping":           s.Ping,
		} {
			t.Run(name, func(t *testing.T) {
				p.Blackhole(ensemble.ToServer)
				const bound = 100 * time.Millisecond
				ctx, cancel := context.WithTimeout(context.Background(), bound)
				defer cancel()
				suite.Within(t, bound, func() { suite.IsError(t, call(ctx), context.DeadlineExceeded) })
				p.Heal()
				z.Empty(t, path)
				suite.LockAndUnlock(t, m)
			})
		}
		suite.AtRest(t, s)
	})
}

// A create that a program's client has kept back under one session is run under the
// next: its call stands on the new session's node; without a call it is
// deleted, though the session it was meant for is over. On a connection of the
// library's own it ends with the connection: no other one sends it.
func TestCreateRunsUnderTheNextSession(t *testing.T) {
	suite.Beside(t)
	for name, test := range map[string]struct{ cancelled, lent bool }{
		"Waiting": {}, "Cancelled": {cancelled: true},
		"Lent/Waiting": {lent: true}, "Lent/Cancelled": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				cancelled := test.cancelled
				path, raw := z.Path(t), z.Raw(t)
				var w suite.Wires
				p := z.Proxied(t)
				s := adaptOr(t, test.lent, p.Addr(), w.Dial)
				m := zksync.NewMutex(s, path)
				suite.LockAndUnlock(t, m)
				old := s.ID()
				var c suite.Creation
				late := make(chan int64, 10) // connections that carried a create
				p.SetHook(func(f ensemble.Frame) ensemble.Action {
					if c.Of(f) && !f.FromServer {
						late <- f.Conn
					}
					return ensemble.Pass
				})
				// The client's sender gets stuck in a write, and what comes
				// after that waits for it.
				stuck, freed := make(chan struct{}), make(chan struct{})
				var once sync.Once
				w.OnWrite(func(conn int, _ []byte) error {
					if conn != 1 {
						return nil
					}
					once.Do(func() { close(stuck) })
					<-freed
					return suite.ErrInjected
				})
				ping := suite.Async(func() error { return s.Ping(suite.Context(t)) })
				suite.Receive(t, stuck)
				ctx, cancel := context.WithCancel(suite.Context(t))
				defer cancel()
				n := s.Stats().Requests
				result := suite.Async(func() error { return m.LockContext(ctx) })
				suite.Eventually(t, "the create is on its way", func() bool { return s.Stats().Requests >= n+1 })
				if cancelled {
					cancel()
					suite.IsError(t, suite.Receive(t, result), context.Canceled)
				}
				suite.Must(t, z.Expire(old))
				close(freed)
				if test.lent || !cancelled {
					if conn := suite.Receive(t, late); conn == 1 {
						t.Fatal("the create went out at once")
					}
				}
				suite.Must(t, suite.Receive(t, ping))
				if !cancelled {
					suite.Must(t, suite.Receive(t, result))
					suite.NodeOf(t, raw, path, s)
					suite.Must(t, m.UnlockContext(ctx))
				}
				if s.ID() == old {
					t.Error("the session did not change")
				}
				z.Empty(t, path)
				suite.AtRest(t, s)
				if n := len(late); n != 0 {
					t.Errorf("%d more creates", n)
				}
				suite.LockAndUnlock(t, zksync.NewMutex(z.Dial(t), path))
			})
		})
	}
}

// adaptOr opens a session with a dialer: on a client of the test's own if lent.
func adaptOr(t *testing.T, lent bool, server string, dial zk.Dialer) *zksync.Session {
	t.Helper()
	if lent {
		return suite.AdaptVia(t, server, dial)
	}
	return suite.DialTo(t, []string{server}, suite.WithDialer(dial))
}
