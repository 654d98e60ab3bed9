package zksync_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The end of the only blocker is a turn only if it has been deleted: not when it
// is written to, as by who asks for the lock back.
func TestLesson59_BlockerIsWrittenTo(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		h, err := zksync.NewMutex(other, "/l").Hold(short(t))
		ok(t, err)
		next := holdInLine(short(t), t, s, "/l")
		for range 3 {
			_, err := other.Conn().Set(h.Node(), []byte("__REVOKE__"), -1)
			ok(t, err)
			time.Sleep(time.Second)
			select {
			case g := <-next:
				t.Fatalf("granted %s beside %s (%v)", g.hold.Node(), h.Node(), g.err)
			default:
			}
		}
		ok(t, h.Err())
		ok(t, h.Release(short(t)))
		g := get(t, next)
		ok(t, g.err)
		ok(t, g.hold.Release(short(t)))
	})
}

// The own node goes, and in the same breath the blocker: that is no turn, since
// the place in line is somebody else's.
func TestLesson59_OwnNodeGoesFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		a, b, c := via(t, srv.Dial), via(t, srv.Dial), via(t, srv.Dial)
		for i := range 10 {
			p := fmt.Sprint("/l", i)
			h, err := zksync.NewMutex(a, p).Hold(short(t))
			ok(t, err)
			second := holdInLine(short(t), t, b, p)
			own := nodesOf(srv, b.ID())[0]
			third := holdInLine(short(t), t, c, p)
			_, err = c.Conn().Multi(&zk.DeleteRequest{Path: own, Version: -1}, &zk.DeleteRequest{Path: h.Node(), Version: -1})
			ok(t, err)
			g := get(t, third)
			ok(t, g.err)
			synctest.Wait()
			select {
			case g2 := <-second:
				t.Fatalf("%d: granted %s (%v) beside %s", i, g2.hold.Node(), g2.err, g.hold.Node())
			default:
			}
			passOn(t, g.hold, second)
			isError(t, h.Release(short(t)), zksync.ErrLost)
		}
	})
}

// passOn gives a lock back, and takes and gives back what that grants.
func passOn(t *testing.T, held *zksync.Hold, next <-chan grant) {
	t.Helper()
	ok(t, held.Release(short(t)))
	g := get(t, next)
	ok(t, g.err)
	ok(t, g.hold.Release(short(t)))
}

// While a waiter is cut off its own node and its blocker go. Of what is told on
// the next connection the blocker's end may come first: it proves nothing there.
func TestLesson59_BlockerHeardOfFirst(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		w := &tap{to: srv.Dial}
		a, b, c := via(t, srv.Dial), via(t, w.dial), via(t, srv.Dial)
		h, err := zksync.NewMutex(a, "/l").Hold(short(t))
		ok(t, err)
		second := holdInLine(short(t), t, b, "/l")
		own := nodesOf(srv, b.ID())[0]
		third := holdInLine(short(t), t, c, "/l")
		w.on(func(f tapFrame) tapAct {
			if _, path := f.event(); path == own {
				return tapDrop // not yet on its way when the connection is cut
			}
			return tapPass
		})
		srv.Refuse(true)
		srv.Disconnect(b.ID())
		_, err = c.Conn().Multi(&zk.DeleteRequest{Path: own, Version: -1}, &zk.DeleteRequest{Path: h.Node(), Version: -1})
		ok(t, err)
		g := get(t, third)
		ok(t, g.err)
		srv.Refuse(false)
		time.Sleep(time.Second)
		select {
		case g2 := <-second:
			t.Fatalf("granted %s (%v) beside %s", g2.hold.Node(), g2.err, g.hold.Node())
		default:
		}
		w.on(nil)
		srv.Disconnect(b.ID())
		passOn(t, g.hold, second)
		isError(t, h.Release(short(t)), zksync.ErrLost)
	})
}

// The nodes of one session end together, in any order: that of a blocker of the
// own session says nothing, as the own node may be next.
func TestLesson59_BlockerOfTheOwnSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		const n = 20
		w := &tap{to: srv.Dial}
		s, other := via(t, w.dial), via(t, srv.Dial)
		var holds []*zksync.Hold
		var seconds, thirds []<-chan grant
		for i := range n {
			p := fmt.Sprint("/l", i)
			h, err := zksync.NewMutex(s, p).Hold(short(t))
			ok(t, err)
			holds = append(holds, h)
			seconds = append(seconds, holdInLine(short(t), t, s, p))
			eventually(t, "two in line", func() bool { return len(srv.Children(p)) == 2 })
			thirds = append(thirds, holdInLine(short(t), t, other, p))
		}
		time.Sleep(time.Second) // they have set their watches
		// Of the two nodes of a path the one that goes first is heard of first,
		// and all others much later.
		var mu sync.Mutex
		told := make(map[string]bool)
		rest := make(chan struct{})
		w.on(func(f tapFrame) tapAct {
			if _, path := f.event(); path != "" {
				mu.Lock()
				lock := path[:strings.LastIndexByte(path, '/')]
				late := told[lock]
				told[lock] = true
				mu.Unlock()
				if late {
					return tapDrop
				}
				return tapPass
			}
			if f.fromServer && f.conn == 1 {
				<-rest
			}
			return tapPass
		})
		old := s.ID()
		srv.Expire(old)
		var granted []grant
		for i := range n {
			g := get(t, thirds[i])
			ok(t, g.err)
			granted = append(granted, g)
		}
		time.Sleep(time.Millisecond)
		for i := range n {
			select {
			case g := <-seconds[i]:
				t.Errorf("%d: granted %s of session %#x, which is over (%v)", i, g.hold.Node(), old, g.err)
			default:
			}
		}
		w.on(nil)
		close(rest)
		if t.Failed() {
			return
		}
		for i := range n {
			isError(t, holds[i].Release(short(t)), zksync.ErrLost)
			ok(t, granted[i].hold.Release(short(t)))
			g := get(t, seconds[i])
			ok(t, g.err)
			ok(t, g.hold.Release(short(t)))
		}
	})
}
