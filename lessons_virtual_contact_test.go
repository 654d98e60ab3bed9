package zksync_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// atOnce is the longest that a call takes in virtual time that only has to
// reconnect: far below the session timeout, after which a waiter looks by itself.
const atOnce = virtualTimeout / 6

// A waiter whose blocker goes while it is cut off decides again as soon as it is
// connected, though no event ever tells it.
func TestLesson25_NoEventAfterAReconnect(t *testing.T) {
	for name, fault := range map[string]func(t *testing.T, srv *zktest.Server, s *zksync.Session, release func()){
		"CutOff": func(t *testing.T, srv *zktest.Server, s *zksync.Session, release func()) {
			srv.Refuse(true)
			srv.Disconnect(s.ID())
			eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects == 1 })
			release()
			srv.Refuse(false)
		},
		"EventLost": func(_ *testing.T, srv *zktest.Server, s *zksync.Session, release func()) {
			release() // the tap keeps the event back
			srv.Disconnect(s.ID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				w := &tap{to: srv.Dial}
				s, holder := via(t, w.dial), zksync.NewMutex(via(t, srv.Dial), "/l")
				ok(t, holder.LockContext(short(t)))
				next := holdInLine(short(t), t, s, "/l")
				w.on(func(f tapFrame) tapAct {
					if _, path := f.event(); path != "" {
						return tapDrop
					}
					return tapPass
				})
				id, start := s.ID(), time.Now()
				fault(t, srv, s, func() { ok(t, holder.UnlockContext(short(t))) })
				g := get(t, next)
				ok(t, g.err)
				if took := time.Since(start); took > atOnce || s.ID() != id {
					t.Errorf("granted after %v, in session %#x, was %#x", took, s.ID(), id)
				}
				ok(t, g.hold.Release(short(t)))
			})
		})
	}
}

// After a reconnect requests may go out, and be answered, before the watches are
// set again: that is as of what was seen before the connection, whatever those
// answers say, and what has changed meanwhile is told.
func TestLesson58_WatchesAsOfTheConnect(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		const queued, slow = 20, 5 * time.Millisecond
		w := &tap{to: srv.Dial}
		s, other := via(t, w.dial), via(t, srv.Dial)
		c := s.Conn()
		free(t, zksync.NewMutex(s, "/l"))
		_, _, events, err := c.ChildrenW("/l")
		ok(t, err)
		// From now on each request takes a while to be written.
		var mu sync.Mutex
		var seen []byte
		var set time.Time
		w.on(func(f tapFrame) tapAct {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case f.fromServer || f.conn == 1:
				return tapPass
			case f.op == 0: // connect
				seen = bytes.Clone(f.payload[4:12])
				return tapPass
			case f.op == opSetWatches:
				set = time.Now()
				if !bytes.Equal(f.payload[8:16], seen) || binary.BigEndian.Uint64(seen) == 0 {
					t.Errorf("SetWatches as of %x, had seen %x", f.payload[8:16], seen)
				}
			}
			mu.Unlock()
			time.Sleep(slow)
			mu.Lock()
			return tapPass
		})
		srv.Refuse(true)
		srv.Disconnect(s.ID())
		eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects == 1 })
		_, err = other.Conn().Create("/l/child", nil, 0, zk.WorldACL(zk.PermAll))
		ok(t, err)
		var answers []<-chan time.Time
		for range queued { // they go out before the watches
			answers = append(answers, async(func() time.Time {
				if _, _, err := c.Exists("/l"); err != nil {
					t.Error(err)
				}
				return time.Now()
			}))
		}
		time.Sleep(time.Millisecond)
		srv.Refuse(false)
		if ev := get(t, events); ev.Type != zk.EventNodeChildrenChanged {
			t.Errorf("event %+v", ev)
		}
		early := 0
		for _, a := range answers {
			at := get(t, a)
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
// Who holds a lock through it is told before another one holds it.
func TestLesson63_FollowerCutFromItsLeader(t *testing.T) {
	for _, after := range []time.Duration{0, virtualTimeout / 12, virtualTimeout / 6, virtualTimeout / 3, virtualTimeout} {
		t.Run(after.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				follower := srv.Door()
				first, second := via(t, follower.Dial), via(t, srv.Dial)
				d, err := begin(short(t), first, second, "/l")
				ok(t, err)
				time.Sleep(after)
				ok(t, d.first.Err())
				cut := time.Now()
				follower.CutFromLeader(true)
				lost := <-d.lost
				d.lost <- lost
				if held := lost.Sub(cut); held > virtualTimeout/2 {
					t.Errorf("lost %v after the cut", held)
				}
				margin, err := d.end(short(t))
				ok(t, err)
				if margin < virtualTimeout/4 {
					t.Errorf("the first holder was out only %v before the second was in", margin)
				}
				follower.CutFromLeader(false)
				free(t, zksync.NewMutex(first, "/l"))
			})
		})
	}
}

// A call that is held up between its grant and its return, for longer than the
// session lives, compares the clock: it does not return with a lock that
// somebody else has by then.
func TestLesson64_HeldUpOnItsWayOut(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		door := srv.Door()
		told, on := make(chan struct{}), make(chan struct{})
		var stop sync.Once
		s := via(t, door.Dial, zksync.WithTracer(&zksync.Tracer{Blocked: func(context.Context, zksync.Peer) {
			stop.Do(func() { close(told); <-on })
		}}))
		other := via(t, srv.Dial)
		h, err := zksync.NewMutex(other, "/l").Hold(short(t))
		ok(t, err)
		m := zksync.NewMutex(s, "/l")
		result := async(func() error { return m.LockContext(short(t)) })
		get(t, told)
		ok(t, h.Release(short(t)))
		eventually(t, "it is granted", func() bool { return s.Stats().Held == 1 })
		door.Blackhole(true, true)
		h, err = zksync.NewMutex(other, "/l").Hold(short(t)) // when the session is over
		ok(t, err)
		close(on)
		time.Sleep(virtualTimeout / 3)
		select {
		case err := <-result:
			t.Errorf("LockContext returns %v beside a hold", err)
		default:
		}
		door.Heal()
		ok(t, h.Err())
		ok(t, h.Release(short(t)))
		ok(t, get(t, result))
		m.Unlock()
		nobodyIn(t, srv, s, "/l")
	})
}

// Who has waited so long that nothing is known of the session asks, and keeps the
// place in line that it has.
func TestLesson64_OldPlaceIsProven(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		var sessions []*zksync.Session
		for range 4 {
			sessions = append(sessions, via(t, srv.Dial))
		}
		var line []<-chan grant
		var nodes []string
		for _, s := range sessions {
			if line == nil {
				line = append(line, async(func() grant {
					h, err := zksync.NewMutex(s, "/l").Hold(short(t))
					return grant{hold: h, err: err}
				}))
				waitHeld(t, s)
			} else {
				line = append(line, holdInLine(short(t), t, s, "/l"))
			}
			nodes = append(nodes, nodesOf(srv, s.ID())...)
		}
		time.Sleep(2 * virtualTimeout) // the third has no reason to prove anything
		// The second, who is next, leaves; then the first does, at the same
		// moment for the third.
		_, err := sessions[3].Conn().Multi(&zk.DeleteRequest{Path: nodes[0], Version: -1}, &zk.DeleteRequest{Path: nodes[1], Version: -1})
		ok(t, err)
		for _, i := range []int{2, 3} {
			g := get(t, line[i])
			ok(t, g.err)
			if g.hold.Node() != nodes[i] {
				t.Errorf("session %d was in line as %s, and holds %s", i, nodes[i], g.hold.Node())
			}
			ok(t, g.hold.Release(short(t)))
		}
	})
}

// waitHeld waits until the session holds a lock.
func waitHeld(t *testing.T, s *zksync.Session) {
	t.Helper()
	eventually(t, "held", func() bool { return s.Stats().Held == 1 })
}
