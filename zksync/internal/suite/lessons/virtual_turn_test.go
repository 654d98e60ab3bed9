package lessons_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The end of the only blocker is a turn only if it has been deleted: not when it
// is written to, as by who asks for the lock back.
func TestBlockerIsWrittenTo(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		h, err := zksync.NewMutex(other, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		next := holdInLine(suite.Context(t), t, s, "/l")
		for range 3 {
			_, err := other.Conn().Set(h.Node(), []byte("__REVOKE__"), -1)
			suite.Must(t, err)
			time.Sleep(time.Second)
			select {
			case g := <-next:
				t.Fatalf("granted %s beside %s (%v)", g.Hold.Node(), h.Node(), g.Err)
			default:
			}
		}
		suite.Must(t, h.Err())
		suite.Must(t, h.Release(suite.Context(t)))
		g := suite.Receive(t, next)
		suite.Must(t, g.Err)
		suite.Must(t, g.Hold.Release(suite.Context(t)))
	})
}

// The own node goes, and in the same breath the blocker: that is no turn, since
// the place in line is somebody else's.
func TestOwnNodeGoesFirst(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		a, b, c := z.Via(t, srv.Dial), z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		for i := range 10 {
			p := fmt.Sprint("/l", i)
			h, err := zksync.NewMutex(a, p).Hold(suite.Context(t))
			suite.Must(t, err)
			second := holdInLine(suite.Context(t), t, b, p)
			own := suite.NodesOf(srv, b.ID())[0]
			third := holdInLine(suite.Context(t), t, c, p)
			_, err = c.Conn().Multi(&zk.DeleteRequest{Path: own, Version: -1}, &zk.DeleteRequest{Path: h.Node(), Version: -1})
			suite.Must(t, err)
			g := suite.Receive(t, third)
			suite.Must(t, g.Err)
			synctest.Wait()
			select {
			case g2 := <-second:
				t.Fatalf("%d: granted %s (%v) beside %s", i, g2.Hold.Node(), g2.Err, g.Hold.Node())
			default:
			}
			passOn(t, g.Hold, second)
			suite.IsError(t, h.Release(suite.Context(t)), zksync.ErrLost)
		}
	})
}

// passOn gives a lock back, and takes and gives back what that grants.
func passOn(t *testing.T, held *zksync.Hold, next <-chan suite.Grant) {
	t.Helper()
	suite.Must(t, held.Release(suite.Context(t)))
	g := suite.Receive(t, next)
	suite.Must(t, g.Err)
	suite.Must(t, g.Hold.Release(suite.Context(t)))
}

// While a waiter is cut off, its own node and its blocker are deleted. On the next
// connection the event of the blocker may come first: it does not prove a grant.
func TestBlockerHeardOfFirst(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		w := &suite.Tap{To: srv.Dial}
		a, b, c := z.Via(t, srv.Dial), z.Via(t, w.Dial), z.Via(t, srv.Dial)
		h, err := zksync.NewMutex(a, "/l").Hold(suite.Context(t))
		suite.Must(t, err)
		second := holdInLine(suite.Context(t), t, b, "/l")
		own := suite.NodesOf(srv, b.ID())[0]
		third := holdInLine(suite.Context(t), t, c, "/l")
		w.On(func(f suite.TapFrame) suite.TapAct {
			if _, path := f.Event(); path == own {
				return suite.TapDrop // not yet on its way when the connection is cut
			}
			return suite.TapPass
		})
		srv.Refuse()
		srv.Disconnect(b.ID())
		_, err = c.Conn().Multi(&zk.DeleteRequest{Path: own, Version: -1}, &zk.DeleteRequest{Path: h.Node(), Version: -1})
		suite.Must(t, err)
		g := suite.Receive(t, third)
		suite.Must(t, g.Err)
		srv.Accept()
		time.Sleep(time.Second)
		select {
		case g2 := <-second:
			t.Fatalf("granted %s (%v) beside %s", g2.Hold.Node(), g2.Err, g.Hold.Node())
		default:
		}
		w.On(nil)
		srv.Disconnect(b.ID())
		passOn(t, g.Hold, second)
		suite.IsError(t, h.Release(suite.Context(t)), zksync.ErrLost)
	})
}

// The nodes of one session end together, in any order: that of a blocker of the
// own session says nothing, as the own node may be next.
func TestBlockerOfTheOwnSession(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		const n = 20
		w := &suite.Tap{To: srv.Dial}
		s, other := z.Via(t, w.Dial), z.Via(t, srv.Dial)
		var holds []*zksync.Hold
		var seconds, thirds []<-chan suite.Grant
		for i := range n {
			p := fmt.Sprint("/l", i)
			h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
			suite.Must(t, err)
			holds = append(holds, h)
			seconds = append(seconds, holdInLine(suite.Context(t), t, s, p))
			suite.Eventually(t, "two in line", func() bool { return len(srv.Children(p)) == 2 })
			thirds = append(thirds, holdInLine(suite.Context(t), t, other, p))
		}
		time.Sleep(time.Second) // they have set their watches
		// Of the two nodes of a path the one that goes first is heard of first,
		// and all others much later.
		var mu sync.Mutex
		told := make(map[string]bool)
		rest := make(chan struct{})
		w.On(func(f suite.TapFrame) suite.TapAct {
			if _, path := f.Event(); path != "" {
				mu.Lock()
				lock := path[:strings.LastIndexByte(path, '/')]
				late := told[lock]
				told[lock] = true
				mu.Unlock()
				if late {
					return suite.TapDrop
				}
				return suite.TapPass
			}
			if f.FromServer && f.Conn == 1 {
				<-rest
			}
			return suite.TapPass
		})
		old := s.ID()
		srv.Expire(old)
		var granted []suite.Grant
		for i := range n {
			g := suite.Receive(t, thirds[i])
			suite.Must(t, g.Err)
			granted = append(granted, g)
		}
		time.Sleep(time.Millisecond)
		for i := range n {
			select {
			case g := <-seconds[i]:
				t.Errorf("%d: granted %s of session %#x, which is over (%v)", i, g.Hold.Node(), old, g.Err)
			default:
			}
		}
		w.On(nil)
		close(rest)
		if t.Failed() {
			return
		}
		for i := range n {
			suite.IsError(t, holds[i].Release(suite.Context(t)), zksync.ErrLost)
			suite.Must(t, granted[i].Hold.Release(suite.Context(t)))
			g := suite.Receive(t, seconds[i])
			suite.Must(t, g.Err)
			suite.Must(t, g.Hold.Release(suite.Context(t)))
		}
	})
}
