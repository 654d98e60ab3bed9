package lessons_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The answer to a create is lost, and the next server lags: it does not show the
// node. It is found all the same, and neither made again nor taken for somebody
// else's.
func TestLaggingFollower(t *testing.T) {
	for _, way := range bounded {
		name, take := way.Name, way.Lock
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				follower := srv.AddMember()
				var moved atomic.Bool
				s := z.Via(t, func(network, addr string, timeout time.Duration) (net.Conn, error) {
					if moved.Load() {
						return follower.Dial(network, addr, timeout)
					}
					return srv.Dial(network, addr, timeout)
				})
				m := zksync.NewMutex(s, "/l")
				suite.LockAndUnlock(t, m)
				follower.LagUntilSync()
				srv.ResetRequests()
				srv.DropReply(suite.Once(func(r zktest.Request) bool {
					moved.Store(moved.Load() || r.Op == "create")
					return r.Op == "create"
				}))
				release, err := take(suite.Context(t), m)
				suite.Must(t, err)
				if n := srv.Requests()["create"]; n != 1 {
					t.Errorf("%d creates", n)
				}
				if nodes := suite.NodesOf(srv, s.ID()); len(nodes) != 1 {
					t.Errorf("nodes %v", nodes)
				}
				suite.Must(t, release())
				suite.NobodyIn(t, srv, s, "/l")
			})
		})
	}
}

// A node of this process that nobody answers for holds nobody up. Those of
// others are theirs.
func TestNobodysNode(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		m := zksync.NewMutex(s, "/l")
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		// A GUID begins with the process, which all sessions here share.
		process := path.Base(h.Node())[len("_c_"):len("_c_00000000-0000")]
		node := func(c *zk.Conn, guid string) string {
			n, err := c.Create("/l/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			suite.Must(t, err)
			return n
		}
		lost := node(s.Conn(), process+"-8000-8000-000000000001") // as by a create that ran too late
		foreign := node(other.Conn(), process+"-8000-8000-000000000002")
		copied := node(s.Conn(), "00000000-0000-8000-8000-000000000003")
		next := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		suite.Must(t, h.Release(suite.Context(t)))
		time.Sleep(suite.VirtualTimeout / 3)
		if _, _, there := srv.Get(lost); there {
			t.Errorf("%s is still there", lost)
		}
		for _, node := range []string{foreign, copied} {
			if _, _, there := srv.Get(node); !there {
				t.Errorf("%s is gone", node)
				continue
			}
			suite.Must(t, other.Conn().Delete(node, -1))
		}
		suite.Must(t, suite.Receive(t, next))
		m.Unlock()
		suite.NobodyIn(t, srv, s, "/l")
	})
}

// At the end of the counter, numbers no longer give the order: no grant, no wait,
// and no node left behind, until the path is made anew.
func TestEndOfTheCounter(t *testing.T) {
	const last = math.MaxInt32 - 1000 // the highest number that is good
	for _, call := range suite.Calls {
		t.Run(call.Name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
				m := zksync.NewMutex(s, "/l")
				suite.LockAndUnlock(t, m)
				suite.Must(t, srv.SetSequence("/l", last))
				h, err := m.Hold(suite.Context(t))
				suite.Must(t, err)
				if want := fmt.Sprintf("-lock-%010d", last); !strings.HasSuffix(h.Node(), want) {
					t.Fatalf("%s, want it to end in %s", h.Node(), want)
				}
				if !call.Try { // those are refused by the listing
					_, err = call.Take(suite.Context(t), zksync.NewMutex(other, "/l"))
					suite.IsError(t, err, zksync.ErrSequenceExhausted)
				}
				suite.Must(t, h.Release(suite.Context(t)))
				// Far from the end, at it, and behind it, where numbers are negative.
				for _, n := range []int32{last + 1, math.MaxInt32, math.MinInt32 + 1, -1, math.MinInt32} {
					suite.Must(t, srv.SetSequence("/l", n))
					_, err := call.Take(suite.Context(t), m)
					suite.IsError(t, err, zksync.ErrSequenceExhausted)
					suite.AtRest(t, s)
				}
				suite.PanicsWith(t, m.Lock, zksync.ErrSequenceExhausted)
				if m.TryLock() {
					t.Error("TryLock at the end of the counter")
				}
				suite.NobodyIn(t, srv, s, "/l")
				suite.NobodyIn(t, srv, other, "/l")
				suite.Must(t, s.Conn().Delete("/l", -1))
				release, err := call.Take(suite.Context(t), m)
				suite.Must(t, err)
				suite.Must(t, release(suite.Context(t)))
			})
		})
	}
}

// A create that a program's client has kept back is run under the next session, and is
// answered or not. The node is found there: it is stood on, or, if the call has
// ended, deleted, though the session that it was asked for under is over. On a
// connection of the library's own it ends with the connection, and no session runs it.
func TestFoundInTheNextSession(t *testing.T) {
	for _, test := range []struct {
		name                  string
		cancelled, lost, lent bool
	}{
		{"Waiting/Answered", false, false, false},
		{"Waiting/AnswerLost", false, true, false},
		{"Cancelled", true, false, false},
		{"Lent/Waiting/Answered", false, false, true},
		{"Lent/Waiting/AnswerLost", false, true, true},
		{"Lent/Cancelled/Answered", true, false, true},
		{"Lent/Cancelled/AnswerLost", true, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				w := &suite.Tap{To: srv.Dial}
				s := adaptOr(t, test.lent, z.Servers[0], w.Dial)
				m := zksync.NewMutex(s, "/l")
				suite.LockAndUnlock(t, m)
				old := s.ID()
				srv.ResetRequests()

				// The sender gets stuck: one frame is kept on the way, the next
				// can't be written, and what comes after that waits in the client.
				freed := make(chan struct{})
				w.On(func(f suite.TapFrame) suite.TapAct {
					if f.Conn == 1 && !f.FromServer {
						<-freed
						return suite.TapCut
					}
					return suite.TapPass
				})
				n := s.Stats().Requests
				pings := []<-chan error{
					suite.Async(func() error { return s.Ping(suite.Context(t)) }),
					suite.Async(func() error { return s.Ping(suite.Context(t)) }),
				}
				suite.Eventually(t, "they are out", func() bool { return s.Stats().Requests == n+2 })
				ctx, cancel := context.WithCancel(suite.Context(t))
				defer cancel()
				result := suite.Async(func() error { return m.LockContext(ctx) })
				suite.Eventually(t, "the create waits behind them", func() bool { return s.Stats().Requests >= n+3 })
				if test.cancelled {
					cancel()
					suite.IsError(t, suite.Receive(t, result), context.Canceled)
				}
				if test.lost {
					srv.DropReply(suite.Once(suite.Asks("create")))
				}
				srv.Expire(old)
				close(freed)
				for _, p := range pings {
					suite.Must(t, suite.Receive(t, p))
				}
				if s.ID() == old {
					t.Error("the session did not change")
				}
				if !test.cancelled {
					suite.Must(t, suite.Receive(t, result))
					if nodes := suite.NodesOf(srv, s.ID()); len(nodes) != 1 {
						t.Errorf("nodes %v", nodes)
					}
					suite.Must(t, m.UnlockContext(suite.Context(t)))
				}
				suite.NobodyIn(t, srv, s, "/l")
				want := 1
				if test.cancelled && !test.lent {
					want = 0
				}
				if n := srv.Requests()["create"]; n != want {
					t.Errorf("%d creates, want %d", n, want)
				}
				suite.LockAndUnlock(t, zksync.NewMutex(z.Via(t, srv.Dial), "/l"))
			})
		})
	}
}

// The fence is the zxid that the node was made with, in whatever way the hold
// was obtained.
func TestFenceIsOfTheNode(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		m := zksync.NewMutex(s, "/l")
		var last int64
		check := func(what string, h *zksync.Hold, err error) {
			t.Helper()
			suite.Must(t, err)
			_, st, there := srv.Get(h.Node())
			if !there || h.Fence() != st.Czxid || st.EphemeralOwner != s.ID() {
				t.Errorf("%s: fence %d of %s, made by %d in session %#x", what, h.Fence(), h.Node(), st.Czxid, st.EphemeralOwner)
			}
			if h.Fence() <= last {
				t.Errorf("%s: fence %d after %d", what, h.Fence(), last)
			}
			last = h.Fence()
		}
		h, err := m.Hold(suite.Context(t)) // the path is made, too
		check("first", h, err)
		suite.Must(t, h.Release(suite.Context(t)))

		h, err = m.TryHold(suite.Context(t))
		check("TryHold", h, err)
		suite.Must(t, h.Release(suite.Context(t)))

		srv.DropReply(suite.Once(suite.Asks("create")))
		h, err = m.Hold(suite.Context(t))
		check("answer lost", h, err)
		suite.Must(t, h.Release(suite.Context(t)))

		blocker, err := zksync.NewMutex(other, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		next := holdInLine(suite.Context(t), t, s, "/l")
		suite.Must(t, blocker.Release(suite.Context(t)))
		g := suite.Receive(t, next)
		check("waited", g.Hold, g.Err)
		suite.Must(t, g.Hold.Release(suite.Context(t)))

		// The place in line is lost while waiting, and with it the node whose
		// fence was known; the next one is first at once.
		blocker, err = zksync.NewMutex(other, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		next = holdInLine(suite.Context(t), t, s, "/l")
		_, err = other.Conn().Multi(&zk.DeleteRequest{Path: suite.NodesOf(srv, s.ID())[0], Version: -1},
			&zk.DeleteRequest{Path: blocker.Node(), Version: -1})
		suite.Must(t, err)
		g = suite.Receive(t, next)
		check("waited again", g.Hold, g.Err)
		suite.Must(t, g.Hold.Release(suite.Context(t)))

		// Taken without one, and asked for later, when the node has been written
		// to: by the same owner.
		o := zksync.NewOwner("o")
		suite.Must(t, m.As(o).LockContext(suite.Context(t)))
		_, err = other.Conn().Set(suite.NodesOf(srv, s.ID())[0], []byte("x"), -1)
		suite.Must(t, err)
		h, err = m.As(o).Hold(suite.Context(t))
		check("re-entered", h, err)
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, m.UnlockContext(suite.Context(t)))

		// The parent is made anew: numbers begin again.
		suite.Must(t, other.Conn().Delete("/l", -1))
		h, err = m.Hold(suite.Context(t))
		check("new parent", h, err)
		suite.Must(t, h.Release(suite.Context(t)))
		suite.NobodyIn(t, srv, s, "/l")
	})
}

// Two values of one path that would look different in ZooKeeper can't share a
// hold: the second one is refused as long as the first is in use, and nothing of
// it is to be seen.
func TestValuesMustAgree(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial, zksync.WithAuth("digest", []byte("me:secret")))
		world := zksync.NewMutex(s, "/l")
		mine := zksync.NewMutex(s, "/l", zksync.WithACL(zk.DigestACL(zk.PermAll, "me", "secret")...))
		suite.LockAndUnlock(t, world)
		synctest.Wait()
		for i, pair := range [][2]*zksync.Mutex{{world, mine}, {mine, world}} {
			first, second := pair[0], pair[1]
			suite.Must(t, first.LockContext(suite.Context(t)))
			acl, _, err := s.Conn().GetACL(suite.NodesOf(srv, s.ID())[0])
			suite.Must(t, err)
			if scheme := []string{"world", "digest"}[i]; len(acl) != 1 || acl[0].Scheme != scheme {
				t.Errorf("%v on the node, want scheme %s", acl, scheme)
			}
			srv.ResetRequests()
			for _, call := range suite.Calls {
				_, err := call.Take(suite.Context(t), second)
				if e := suite.IsError(t, err); !strings.Contains(e.Error(), "WithACL") {
					t.Errorf("%s: %v", call.Name, err)
				}
			}
			suite.PanicsWith(t, second.Lock)
			if len(srv.Requests()) != 0 {
				t.Errorf("requests of a value that was refused: %v", srv.Requests())
			}
			suite.Must(t, first.UnlockContext(suite.Context(t)))
			synctest.Wait() // it is in use no more
		}
		suite.LockAndUnlock(t, world)
	})
}
