package zksync_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Handles that come and go beside a plain lock leave nothing on the watch on its
// nodes: an event on one of these wakes one goroutine, not one for each handle.
func TestHoldsLookAtTheirNodesOnce(t *testing.T) {
	for _, parts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", parts), func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				const handles = 500
				s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
				var locks []zksync.Locker
				for i := range parts {
					locks = append(locks, zksync.NewMutex(s, fmt.Sprintf("/l%d", i)))
				}
				l := zksync.NewMulti(locks...).As(zksync.NewOwner("o"))
				if parts == 1 {
					l = locks[0].As(zksync.NewOwner("o"))
				}
				suite.Must(t, l.LockContext(suite.Context(t)))
				open := func() *zksync.Hold {
					t.Helper()
					h, err := l.Hold(suite.Context(t))
					suite.Must(t, err)
					synctest.Wait()
					return h
				}
				for range handles {
					suite.Must(t, open().Release(suite.Context(t)))
				}
				h := open()
				before := runtime.NumGoroutine()
				srv.Jitter(50 * time.Millisecond) // whoever looks again stays for as long
				suite.Must(t, other.Revoke(suite.Context(t), firstNode(t, other, "/l0").Node))
				most := 0
				for range 60 {
					time.Sleep(time.Millisecond)
					most = max(most, runtime.NumGoroutine())
				}
				if most > before+20 {
					t.Errorf("%d goroutines, and %d after an event on a node that %d handles had", before, most, handles)
				}
				suite.Receive(t, h.Revoked())
				srv.Jitter(0)
				suite.Must(t, h.Release(suite.Context(t)))
				suite.Must(t, l.UnlockContext(suite.Context(t)))
			})
		})
	}
}

// A node is looked at for each handle, whatever happened to it while there was none.
func TestHoldLooksAgainAfterATimeWithout(t *testing.T) {
	const parts = 3
	for at := range parts {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			srv := z.Server
			s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
			var locks []zksync.Locker
			for i := range parts {
				locks = append(locks, zksync.NewMutex(s, fmt.Sprintf("/l%d", i)))
			}
			l := zksync.NewMulti(locks...).As(zksync.NewOwner("o"))
			suite.Must(t, l.LockContext(suite.Context(t)))
			h, err := l.Hold(suite.Context(t))
			suite.Must(t, err)
			synctest.Wait()
			suite.Must(t, h.Release(suite.Context(t)))

			node := firstNode(t, other, fmt.Sprintf("/l%d", at)).Node
			data, _, there := srv.Get(node)
			if !there {
				t.Fatalf("no node %s", node)
			}
			_, err = other.Conn().Set(node, data, -1) // ends the watch on one of the nodes
			suite.Must(t, err)
			time.Sleep(time.Second)
			h, err = l.Hold(suite.Context(t))
			suite.Must(t, err)
			time.Sleep(10 * time.Millisecond)
			select {
			case <-h.Revoked():
				t.Error("revoked by nobody")
			default:
			}
			_, err = other.Conn().Set(node, []byte("unlock"), -1)
			suite.Must(t, err)
			time.Sleep(10 * time.Millisecond)
			select {
			case <-h.Revoked():
			default:
				t.Errorf("node %d of %d is not looked at", at+1, parts)
			}
			suite.Must(t, h.Release(suite.Context(t)))
			suite.Must(t, l.UnlockContext(suite.Context(t)))
		})
	}
}

// A call that enters a lock which was asked back while it had no handle learns that
// once the node has been read. Calls that enter after that learn it at once.
func TestRevokedTellsAFirstHandleSoon(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		const delay = 10 * time.Millisecond
		s, other := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		l := zksync.NewMutex(s, "/l").As(zksync.NewOwner("o"))
		for _, used := range []bool{false, true} {
			suite.Must(t, l.LockContext(suite.Context(t)))
			if used { // by a handle that is gone
				h, err := l.Hold(suite.Context(t))
				suite.Must(t, err)
				synctest.Wait()
				suite.Must(t, h.Release(suite.Context(t)))
			}
			suite.Must(t, other.Revoke(suite.Context(t), firstNode(t, other, "/l").Node))
			time.Sleep(time.Second)
			srv.Delay(delay)
			first, err := l.Hold(suite.Context(t))
			suite.Must(t, err)
			start := time.Now()
			suite.Receive(t, first.Revoked())
			if d := time.Since(start); d > 4*delay {
				t.Errorf("used before %v: told after %v", used, d)
			}
			second, err := l.Hold(suite.Context(t))
			suite.Must(t, err)
			select {
			case <-second.Revoked():
			default:
				t.Errorf("used before %v: the second is not told from the beginning", used)
			}
			srv.Delay(0)
			suite.Must(t, first.Release(suite.Context(t)))
			suite.Must(t, second.Release(suite.Context(t)))
			suite.Must(t, l.UnlockContext(suite.Context(t)))
		}
	})
}
