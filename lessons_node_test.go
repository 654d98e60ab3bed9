package zksync_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// takes are the ways to a lock that a caller can bound. Each returns how to
// give it back.
var takes = map[string]lockWay{
	"LockContext": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		return func() error { return m.UnlockContext(ctx) }, m.LockContext(ctx)
	},
	"Hold": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		h, err := m.Hold(ctx)
		return func() error { return h.Release(ctx) }, err
	},
	"TryHold": func(ctx context.Context, m *zksync.Mutex) (func() error, error) {
		h, err := m.TryHold(ctx)
		return func() error { return h.Release(ctx) }, err
	},
}

// loseCreateReply has the server make the next lock node and the answer get
// lost with the connection.
func loseCreateReply(p *zktest.Proxy, also func(zktest.Frame)) *creation {
	var (
		c    creation
		lost atomic.Bool
	)
	p.SetHook(func(f zktest.Frame) zktest.Action {
		if c.of(f) && f.FromServer && f.Err == 0 && lost.CompareAndSwap(false, true) {
			return zktest.DropAndCut
		}
		if also != nil && lost.Load() {
			also(f)
		}
		return zktest.Pass
	})
	return &c
}

// The node whose create was not answered is found and stood on.
func TestLesson1_LostCreateReply(t *testing.T) {
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				ctx, path, raw := short(t), lockPath(t), z.raw(t)
				p, s := z.behind(t)
				id := s.ID()
				m := zksync.NewMutex(s, path)
				free(t, m) // the path is there
				c := loseCreateReply(p, nil)
				release, err := take(ctx, m)
				ok(t, err)
				nodeOf(t, raw, path, s)
				if s.ID() != id {
					t.Error("another session")
				}
				if c.count() != 1 {
					t.Errorf("the node was asked for %d times, want 1", c.count())
				}
				ok(t, release())
				z.empty(t, path)
			})
		})
	}
}

// A server that lags does not show the node until it is brought up to date.
func TestLesson2_LaggingServer(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, path, raw := short(t), lockPath(t), z.raw(t)
		p, s := z.behind(t)
		m := zksync.NewMutex(s, path)
		free(t, m)
		var mu sync.Mutex
		fresh := make(map[int64]bool) // connections on which a sync was answered
		hidden := 0
		c := loseCreateReply(p, func(f zktest.Frame) {
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
		ok(t, err)
		nodeOf(t, raw, path, s)
		mu.Lock()
		if len(fresh) == 0 || hidden != 0 || c.count() != 1 {
			t.Errorf("%d syncs, %d looks at a server that lags, %d creates", len(fresh), hidden, c.count())
		}
		mu.Unlock()
		ok(t, h.Release(ctx))
	})
}

// A node that is found, but is of another session, is the one before's, which
// is dying: it is deleted, and stood on no more.
func TestLesson3_NodeOfTheDyingSession(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, path, raw := short(t), lockPath(t), z.raw(t)
		p, s := z.behind(t)
		m := zksync.NewMutex(s, path)
		free(t, m)
		var told atomic.Bool
		c := loseCreateReply(p, func(f zktest.Frame) {
			const owner = 16 + 44 // behind the header, in the Stat
			if f.FromServer && f.Op == "exists" && f.Err == 0 && told.CompareAndSwap(false, true) {
				binary.BigEndian.PutUint64(f.Payload[owner:], 4711)
			}
		})
		h, err := m.Hold(ctx)
		ok(t, err)
		if node := nodeOf(t, raw, path, s); node != h.Node() {
			t.Errorf("stands on %s, holds %s", node, h.Node())
		}
		if !told.Load() || c.count() != 2 {
			t.Errorf("asked for the node's owner: %v; creates: %d, want 2", told.Load(), c.count())
		}
		if !strings.HasSuffix(h.Node(), "-0000000002") { // 0 was free's, 1 is the session's before
			t.Errorf("holds %s, the node of the session before", h.Node())
		}
		ok(t, h.Release(ctx))
	})
}

// A call that is cancelled while its node is being made returns at once, and
// the node that comes late is deleted: by the answer, after a cut, or when the
// request goes out at last.
func TestLesson5_AnswerLateOrLost(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		for _, test := range []struct {
			name string
			// fault happens to the answer, and may wait until healed is closed.
			fault func(p *zktest.Proxy, healed <-chan struct{}) zktest.Action
		}{
			{"AnswerLate", func(_ *zktest.Proxy, healed <-chan struct{}) zktest.Action {
				<-healed
				return zktest.Pass
			}},
			{"AnswerLost", func(p *zktest.Proxy, _ <-chan struct{}) zktest.Action {
				p.Refuse(true)
				return zktest.DropAndCut
			}},
		} {
			for name, take := range takes {
				t.Run(test.name+"/"+name, func(t *testing.T) {
					path := lockPath(t)
					p, s := z.behind(t)
					other := z.dial(t)
					m := zksync.NewMutex(s, path)
					free(t, m)
					var c creation
					var once sync.Once
					made, healed := make(chan struct{}), make(chan struct{})
					p.SetHook(func(f zktest.Frame) (act zktest.Action) {
						if c.of(f) && f.FromServer {
							once.Do(func() {
								close(made)
								act = test.fault(p, healed)
							})
						}
						return act
					})
					ctx, cancel := context.WithCancel(short(t))
					result := async(func() error { _, err := take(ctx, m); return err })
					get(t, made)
					cancel()
					within(t, 0, func() { isError(t, get(t, result), context.Canceled) })
					close(healed)
					p.Heal()
					z.empty(t, path)
					free(t, zksync.NewMutex(other, path))
					atRest(t, s)
				})
			}
		}
	})
}

// No call of the client takes a context: a request that waits in a connection
// that does not move is left behind at once, and answered for later.
func TestLesson50_CallsHonourContexts(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		path := lockPath(t)
		p, s := z.behind(t)
		m := zksync.NewMutex(s, path)
		free(t, m)
		for name, call := range map[string]func(ctx context.Context) error{
			"LockContext":    m.LockContext,
			"TryLockContext": func(ctx context.Context) error { _, err := m.TryLockContext(ctx); return err },
			"Hold":           func(ctx context.Context) error { _, err := m.Hold(ctx); return err },
			"Ping":           s.Ping,
		} {
			t.Run(name, func(t *testing.T) {
				p.Blackhole(true, false)
				const bound = 100 * time.Millisecond
				ctx, cancel := context.WithTimeout(context.Background(), bound)
				defer cancel()
				within(t, bound, func() { isError(t, call(ctx), context.DeadlineExceeded) })
				p.Heal()
				z.empty(t, path)
				free(t, m)
			})
		}
		atRest(t, s)
	})
}

var errInjected = errors.New("injected by the test")

// A create that the client has kept back under one session is run under the
// next: its call stands on the new session's node; without a call it is
// deleted, though the session it was meant for is over.
func TestLesson74_CreateRunsUnderTheNextSession(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		name := map[bool]string{false: "Waiting", true: "Cancelled"}[cancelled]
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, z *site) {
				path, raw := lockPath(t), z.raw(t)
				var w wires
				p, s := z.behind(t, zksync.WithDialer(w.dial))
				m := zksync.NewMutex(s, path)
				free(t, m)
				old := s.ID()
				var c creation
				late := make(chan int64, 10) // connections that carried a create
				p.SetHook(func(f zktest.Frame) zktest.Action {
					if c.of(f) && !f.FromServer {
						late <- f.Conn
					}
					return zktest.Pass
				})
				// The client's sender gets stuck in a write, and what comes
				// after that waits for it.
				stuck, freed := make(chan struct{}), make(chan struct{})
				var once sync.Once
				w.onWrite(func(conn int, _ []byte) error {
					if conn != 1 {
						return nil
					}
					once.Do(func() { close(stuck) })
					<-freed
					return errInjected
				})
				ping := async(func() error { return s.Ping(short(t)) })
				get(t, stuck)
				ctx, cancel := context.WithCancel(short(t))
				defer cancel()
				n := s.Stats().Requests
				result := async(func() error { return m.LockContext(ctx) })
				eventually(t, "the create is on its way", func() bool { return s.Stats().Requests == n+1 })
				if cancelled {
					cancel()
					isError(t, get(t, result), context.Canceled)
				}
				ok(t, z.expire(old))
				close(freed)
				if conn := get(t, late); conn == 1 {
					t.Fatal("the create went out at once")
				}
				ok(t, get(t, ping))
				if !cancelled {
					ok(t, get(t, result))
					nodeOf(t, raw, path, s)
					ok(t, m.UnlockContext(ctx))
				}
				if s.ID() == old {
					t.Error("the session did not change")
				}
				z.empty(t, path)
				atRest(t, s)
				free(t, zksync.NewMutex(z.dial(t), path))
			})
		})
	}
}
