package lessons_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// atOnce is the longest that a call takes in virtual time that only has to
// reconnect: far below the session timeout, after which a waiter looks by itself.
const atOnce = suite.VirtualTimeout / 6

// A waiter whose blocker goes while it is cut off decides again as soon as it is
// connected, though no event ever says so.
func TestNoEventAfterAReconnect(t *testing.T) {
	for name, fault := range map[string]func(t *testing.T, srv *zktest.Server, s *zksync.Session, release func()){
		"CutOff": func(t *testing.T, srv *zktest.Server, s *zksync.Session, release func()) {
			srv.Refuse()
			srv.Disconnect(s.ID())
			suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects == 1 })
			release()
			srv.Accept()
		},
		"EventLost": func(_ *testing.T, srv *zktest.Server, s *zksync.Session, release func()) {
			release() // the tap keeps the event back
			srv.Disconnect(s.ID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				w := &suite.Tap{To: srv.Dial}
				s, holder := z.Via(t, w.Dial), zksync.NewMutex(z.Via(t, srv.Dial), "/l")
				suite.Must(t, holder.LockContext(suite.Context(t)))
				next := holdInLine(suite.Context(t), t, s, "/l")
				w.On(func(f suite.TapFrame) suite.TapAct {
					if _, path := f.Event(); path != "" {
						return suite.TapDrop
					}
					return suite.TapPass
				})
				id, start := s.ID(), time.Now()
				fault(t, srv, s, func() { suite.Must(t, holder.UnlockContext(suite.Context(t))) })
				g := suite.Receive(t, next)
				suite.Must(t, g.Err)
				if took := time.Since(start); took > atOnce || s.ID() != id {
					t.Errorf("granted after %v, in session %#x, was %#x", took, s.ID(), id)
				}
				suite.Must(t, g.Hold.Release(suite.Context(t)))
			})
		})
	}
}

// After a reconnect requests may go out, and be answered, before the watches are
// set again: that is as of what was seen before the connection, whatever those
// answers say, and the client delivers events for what has changed meanwhile.
func TestWatchesAsOfTheConnect(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		const queued, slow = 20, 5 * time.Millisecond
		w := &suite.Tap{To: srv.Dial}
		s, other := z.Via(t, w.Dial), z.Via(t, srv.Dial)
		c := s.Conn()
		suite.LockAndUnlock(t, zksync.NewMutex(s, "/l"))
		_, _, events, err := c.ChildrenW("/l")
		suite.Must(t, err)
		// From now on each request takes a while to be written.
		var mu sync.Mutex
		var seen []byte
		var set time.Time
		w.On(func(f suite.TapFrame) suite.TapAct {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case f.FromServer || f.Conn == 1:
				return suite.TapPass
			case f.Op == 0: // connect
				seen = bytes.Clone(f.Payload[4:12])
				return suite.TapPass
			case f.Op == suite.OpSetWatches:
				set = time.Now()
				if !bytes.Equal(f.Payload[8:16], seen) || binary.BigEndian.Uint64(seen) == 0 {
					t.Errorf("SetWatches as of %x, had seen %x", f.Payload[8:16], seen)
				}
			}
			mu.Unlock()
			time.Sleep(slow)
			mu.Lock()
			return suite.TapPass
		})
		srv.Refuse()
		srv.Disconnect(s.ID())
		suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects == 1 })
		_, err = other.Conn().Create("/l/child", nil, 0, zk.WorldACL(zk.PermAll))
		suite.Must(t, err)
		var answers []<-chan time.Time
		for range queued { // they go out before the watches
			answers = append(answers, suite.Async(func() time.Time {
				if _, _, err := c.Exists("/l"); err != nil {
					t.Error(err)
				}
				return time.Now()
			}))
		}
		time.Sleep(time.Millisecond)
		srv.Accept()
		if ev := suite.Receive(t, events); ev.Type != zk.EventNodeChildrenChanged {
			t.Errorf("event %+v", ev)
		}
		early := 0
		for _, a := range answers {
			at := suite.Receive(t, a)
			mu.Lock()
			if at.Before(set) {
				early++
			}
			mu.Unlock()
		}
		t.Logf("%d answers before the watches were set again", early)
		if early == 0 {
			t.Error("nothing was answered before the watches were set again")
		}
	})
}

// A follower that is cut off from its leader goes on answering pings and reads.
// The holder of a lock through it learns of the loss before another one holds it.
func TestFollowerCutFromItsLeader(t *testing.T) {
	for _, after := range []time.Duration{0, suite.VirtualTimeout / 12, suite.VirtualTimeout / 6, suite.VirtualTimeout / 3, suite.VirtualTimeout} {
		t.Run(after.String(), func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				follower := srv.AddMember()
				first, second := z.Via(t, follower.Dial), z.Via(t, srv.Dial)
				d, err := suite.BeginDuel(suite.Context(t), first, second, "/l")
				suite.Must(t, err)
				time.Sleep(after)
				suite.Must(t, d.First.Err())
				cut := time.Now()
				follower.CutFromLeader()
				lost := <-d.Lost
				d.Lost <- lost
				if held := lost.Sub(cut); held > suite.VirtualTimeout/2 {
					t.Errorf("lost %v after the cut", held)
				}
				margin, err := d.End(suite.Context(t))
				suite.Must(t, err)
				if margin < suite.VirtualTimeout/4 {
					t.Errorf("the first holder was out only %v before the second was in", margin)
				}
				follower.RejoinLeader()
				suite.LockAndUnlock(t, zksync.NewMutex(first, "/l"))
			})
		})
	}
}

// A call that is held up between its grant and its return, for longer than the
// session lives, compares the clock: it does not return with a lock that
// somebody else has by then.
func TestHeldUpOnItsWayOut(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		member := srv.AddMember()
		told, on := make(chan struct{}), make(chan struct{})
		var stop sync.Once
		s := z.Via(t, member.Dial, zksync.WithTracer(&zksync.Tracer{Blocked: func(context.Context, zksync.Peer) {
			stop.Do(func() { close(told); <-on })
		}}))
		other := z.Via(t, srv.Dial)
		h, err := zksync.NewMutex(other, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		m := zksync.NewMutex(s, "/l")
		result := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.Receive(t, told)
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Eventually(t, "it is granted", func() bool { return s.Stats().Held == 1 })
		member.Blackhole()
		h, err = zksync.NewMutex(other, "/l").Hold(suite.Context(t)) // when the session is over
		suite.Must(t, err)
		close(on)
		time.Sleep(suite.VirtualTimeout / 3)
		select {
		case err := <-result:
			t.Errorf("LockContext returns %v beside a hold", err)
		default:
		}
		member.Heal()
		suite.Must(t, h.Err())
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, suite.Receive(t, result))
		m.Unlock()
		suite.NobodyIn(t, srv, s, "/l")
	})
}

// A call that has waited so long that the session may be over asks the server, and keeps
// its position in line.
func TestOldPlaceIsProven(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		var sessions []*zksync.Session
		for range 4 {
			sessions = append(sessions, z.Via(t, srv.Dial))
		}
		var line []<-chan suite.Grant
		var nodes []string
		for _, s := range sessions {
			if line == nil {
				line = append(line, suite.Async(func() suite.Grant {
					h, err := zksync.NewMutex(s, "/l").Hold(suite.Context(t))
					return suite.Grant{Hold: h, Err: err}
				}))
				waitHeld(t, s)
			} else {
				line = append(line, holdInLine(suite.Context(t), t, s, "/l"))
			}
			nodes = append(nodes, suite.NodesOf(srv, s.ID())...)
		}
		time.Sleep(2 * suite.VirtualTimeout) // the third has no reason to prove anything
		// The second, who is next, leaves; then the first does, at the same
		// moment for the third.
		_, err := sessions[3].Conn().Multi(&zk.DeleteRequest{Path: nodes[0], Version: -1}, &zk.DeleteRequest{Path: nodes[1], Version: -1})
		suite.Must(t, err)
		for _, i := range []int{2, 3} {
			g := suite.Receive(t, line[i])
			suite.Must(t, g.Err)
			if g.Hold.Node() != nodes[i] {
				t.Errorf("session %d was in line as %s, and holds %s", i, nodes[i], g.Hold.Node())
			}
			suite.Must(t, g.Hold.Release(suite.Context(t)))
		}
	})
}

// waitHeld waits until the session holds a lock.
func waitHeld(t *testing.T, s *zksync.Session) {
	t.Helper()
	suite.Eventually(t, "held", func() bool { return s.Stats().Held == 1 })
}
