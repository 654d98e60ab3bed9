package zksync_test

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
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The answer to a create is lost, and the next server lags: it does not show the
// node. It is found all the same, and neither made again nor taken for somebody
// else's.
func TestLesson2_LaggingFollower(t *testing.T) {
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				follower := srv.Door()
				var moved atomic.Bool
				s := via(t, func(network, addr string, timeout time.Duration) (net.Conn, error) {
					if moved.Load() {
						return follower.Dial(network, addr, timeout)
					}
					return srv.Dial(network, addr, timeout)
				})
				m := zksync.NewMutex(s, "/l")
				free(t, m)
				follower.LagUntilSync(true)
				srv.ResetRequests()
				srv.DropReply(once(func(r zktest.Request) bool {
					moved.Store(moved.Load() || r.Op == "create")
					return r.Op == "create"
				}))
				release, err := take(short(t), m)
				ok(t, err)
				if n := srv.Requests()["create"]; n != 1 {
					t.Errorf("%d creates", n)
				}
				if nodes := nodesOf(srv, s.ID()); len(nodes) != 1 {
					t.Errorf("nodes %v", nodes)
				}
				ok(t, release())
				nobodyIn(t, srv, s, "/l")
			})
		})
	}
}

// A node of this process that nobody answers for holds nobody up. Those of
// others are theirs.
func TestLesson5_NobodysNode(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		m := zksync.NewMutex(s, "/l")
		h, err := m.Hold(short(t))
		ok(t, err)
		// A GUID begins with the process, which all sessions here share.
		process := path.Base(h.Node())[len("_c_"):len("_c_00000000-0000")]
		node := func(c *zk.Conn, guid string) string {
			n, err := c.Create("/l/_c_"+guid+"-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			ok(t, err)
			return n
		}
		lost := node(s.Conn(), process+"-8000-8000-000000000001") // as by a create that ran too late
		foreign := node(other.Conn(), process+"-8000-8000-000000000002")
		copied := node(s.Conn(), "00000000-0000-8000-8000-000000000003")
		next := async(func() error { return m.LockContext(short(t)) })
		waiting(t, s, 1)
		ok(t, h.Release(short(t)))
		time.Sleep(virtualTimeout / 3)
		if _, _, there := srv.Get(lost); there {
			t.Errorf("%s is still there", lost)
		}
		for _, node := range []string{foreign, copied} {
			if _, _, there := srv.Get(node); !there {
				t.Errorf("%s is gone", node)
				continue
			}
			ok(t, other.Conn().Delete(node, -1))
		}
		ok(t, get(t, next))
		m.Unlock()
		nobodyIn(t, srv, s, "/l")
	})
}

// At the end of the counter numbers tell nothing any more: no grant, no wait,
// and no node left behind, until the path is made anew.
func TestLesson13_EndOfTheCounter(t *testing.T) {
	const last = math.MaxInt32 - 1000 // the highest number that is good
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				s, other := via(t, srv.Dial), via(t, srv.Dial)
				m := zksync.NewMutex(s, "/l")
				free(t, m)
				ok(t, srv.SetSequence("/l", last))
				h, err := m.Hold(short(t))
				ok(t, err)
				if want := fmt.Sprintf("-lock-%010d", last); !strings.HasSuffix(h.Node(), want) {
					t.Fatalf("%s, want it to end in %s", h.Node(), want)
				}
				if !call.try { // those are refused by the listing
					_, err = call.take(short(t), zksync.NewMutex(other, "/l"))
					isError(t, err, zksync.ErrSequenceExhausted)
				}
				ok(t, h.Release(short(t)))
				// Far from the end, at it, and behind it, where numbers are negative.
				for _, n := range []int32{last + 1, math.MaxInt32, math.MinInt32 + 1, -1, math.MinInt32} {
					ok(t, srv.SetSequence("/l", n))
					_, err := call.take(short(t), m)
					isError(t, err, zksync.ErrSequenceExhausted)
					atRest(t, s)
				}
				panicsWith(t, m.Lock, zksync.ErrSequenceExhausted)
				if m.TryLock() {
					t.Error("TryLock at the end of the counter")
				}
				nobodyIn(t, srv, s, "/l")
				nobodyIn(t, srv, other, "/l")
				ok(t, s.Conn().Delete("/l", -1))
				release, err := call.take(short(t), m)
				ok(t, err)
				ok(t, release(short(t)))
			})
		})
	}
}

// A create that the client has kept back is run under the next session, and is
// answered or not. The node is found there: it is stood on, or, if the call has
// ended, deleted, though the session that it was asked for under is over.
func TestLesson74_FoundInTheNextSession(t *testing.T) {
	for _, test := range []struct {
		name            string
		cancelled, lost bool
	}{
		{"Waiting/Answered", false, false},
		{"Waiting/AnswerLost", false, true},
		{"Cancelled/Answered", true, false},
		{"Cancelled/AnswerLost", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				w := &tap{to: srv.Dial}
				s := via(t, w.dial)
				m := zksync.NewMutex(s, "/l")
				free(t, m)
				old := s.ID()
				srv.ResetRequests()

				// The sender gets stuck: one frame is kept on the way, the next
				// can't be written, and what comes after that waits in the client.
				freed := make(chan struct{})
				w.on(func(f tapFrame) tapAct {
					if f.conn == 1 && !f.fromServer {
						<-freed
						return tapCut
					}
					return tapPass
				})
				n := s.Stats().Requests
				pings := []<-chan error{
					async(func() error { return s.Ping(short(t)) }),
					async(func() error { return s.Ping(short(t)) }),
				}
				eventually(t, "they are out", func() bool { return s.Stats().Requests == n+2 })
				ctx, cancel := context.WithCancel(short(t))
				defer cancel()
				result := async(func() error { return m.LockContext(ctx) })
				eventually(t, "the create waits behind them", func() bool { return s.Stats().Requests == n+3 })
				if test.cancelled {
					cancel()
					isError(t, get(t, result), context.Canceled)
				}
				if test.lost {
					srv.DropReply(once(asks("create")))
				}
				srv.Expire(old)
				close(freed)
				for _, p := range pings {
					ok(t, get(t, p))
				}
				if s.ID() == old {
					t.Error("the session did not change")
				}
				if !test.cancelled {
					ok(t, get(t, result))
					if nodes := nodesOf(srv, s.ID()); len(nodes) != 1 {
						t.Errorf("nodes %v", nodes)
					}
					ok(t, m.UnlockContext(short(t)))
				}
				nobodyIn(t, srv, s, "/l")
				if n := srv.Requests()["create"]; n != 1 {
					t.Errorf("%d creates", n)
				}
				free(t, zksync.NewMutex(via(t, srv.Dial), "/l"))
			})
		})
	}
}

// The fence is the zxid that the node was made with, in whatever way the hold
// was come by: the answer to a create does not tell it.
func TestLesson57_FenceIsOfTheNode(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		m := zksync.NewMutex(s, "/l")
		var last int64
		check := func(what string, h *zksync.Hold, err error) {
			t.Helper()
			ok(t, err)
			_, st, there := srv.Get(h.Node())
			if !there || h.Fence() != st.Czxid || st.EphemeralOwner != s.ID() {
				t.Errorf("%s: fence %d of %s, made by %d in session %#x", what, h.Fence(), h.Node(), st.Czxid, st.EphemeralOwner)
			}
			if h.Fence() <= last {
				t.Errorf("%s: fence %d after %d", what, h.Fence(), last)
			}
			last = h.Fence()
		}
		h, err := m.Hold(short(t)) // the path is made, too
		check("first", h, err)
		ok(t, h.Release(short(t)))

		h, err = m.TryHold(short(t))
		check("TryHold", h, err)
		ok(t, h.Release(short(t)))

		srv.DropReply(once(asks("create")))
		h, err = m.Hold(short(t))
		check("answer lost", h, err)
		ok(t, h.Release(short(t)))

		blocker, err := zksync.NewMutex(other, "/l").Hold(short(t))
		ok(t, err)
		next := holdInLine(short(t), t, s, "/l")
		ok(t, blocker.Release(short(t)))
		g := get(t, next)
		check("waited", g.hold, g.err)
		ok(t, g.hold.Release(short(t)))

		// The place in line is lost while waiting, and with it the node whose
		// fence was known; the next one is first at once.
		blocker, err = zksync.NewMutex(other, "/l").Hold(short(t))
		ok(t, err)
		next = holdInLine(short(t), t, s, "/l")
		_, err = other.Conn().Multi(&zk.DeleteRequest{Path: nodesOf(srv, s.ID())[0], Version: -1},
			&zk.DeleteRequest{Path: blocker.Node(), Version: -1})
		ok(t, err)
		g = get(t, next)
		check("waited again", g.hold, g.err)
		ok(t, g.hold.Release(short(t)))

		// Taken without one, and asked for later, when the node has been written
		// to: by the same owner.
		o := zksync.NewOwner("o")
		ok(t, m.As(o).LockContext(short(t)))
		_, err = other.Conn().Set(nodesOf(srv, s.ID())[0], []byte("x"), -1)
		ok(t, err)
		h, err = m.As(o).Hold(short(t))
		check("re-entered", h, err)
		ok(t, h.Release(short(t)))
		m.Unlock()

		// The parent is made anew: numbers begin again.
		ok(t, other.Conn().Delete("/l", -1))
		h, err = m.Hold(short(t))
		check("new parent", h, err)
		ok(t, h.Release(short(t)))
		nobodyIn(t, srv, s, "/l")
	})
}

// Two values of one path that would look different in ZooKeeper can't share a
// hold: the second one is refused as long as the first is in use, and nothing of
// it is to be seen.
func TestLesson76_ValuesMustAgree(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial, zksync.WithAuth("digest", []byte("me:secret")))
		world := zksync.NewMutex(s, "/l")
		mine := zksync.NewMutex(s, "/l", zksync.WithACL(zk.DigestACL(zk.PermAll, "me", "secret")...))
		free(t, world)
		synctest.Wait()
		for i, pair := range [][2]*zksync.Mutex{{world, mine}, {mine, world}} {
			first, second := pair[0], pair[1]
			ok(t, first.LockContext(short(t)))
			acl, _, err := s.Conn().GetACL(nodesOf(srv, s.ID())[0])
			ok(t, err)
			if scheme := []string{"world", "digest"}[i]; len(acl) != 1 || acl[0].Scheme != scheme {
				t.Errorf("%v on the node, want scheme %s", acl, scheme)
			}
			srv.ResetRequests()
			for _, call := range calls {
				_, err := call.take(short(t), second)
				if e := isError(t, err); !strings.Contains(e.Error(), "WithACL") {
					t.Errorf("%s: %v", call.name, err)
				}
			}
			panicsWith(t, second.Lock)
			if len(srv.Requests()) != 0 {
				t.Errorf("requests of a value that was refused: %v", srv.Requests())
			}
			ok(t, first.UnlockContext(short(t)))
			synctest.Wait() // it is in use no more
		}
		free(t, world)
	})
}
