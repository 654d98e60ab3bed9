package zksync_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Handles that come and go beside a plain lock leave nothing on the watch on its
// nodes: an event on one of these wakes one goroutine, not one for each handle.
func TestHoldsLookAtTheirNodesOnce(t *testing.T) {
	for _, parts := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d nodes", parts), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
				const handles = 500
				s, other := via(t, srv.Dial), via(t, srv.Dial)
				var locks []zksync.Locker
				for i := range parts {
					locks = append(locks, zksync.NewMutex(s, fmt.Sprintf("/l%d", i)))
				}
				l := zksync.NewMulti(locks...).As(zksync.NewOwner("o"))
				if parts == 1 {
					l = locks[0].As(zksync.NewOwner("o"))
				}
				ok(t, l.LockContext(short(t)))
				open := func() *zksync.Hold {
					t.Helper()
					h, err := l.Hold(short(t))
					ok(t, err)
					synctest.Wait()
					return h
				}
				for range handles {
					ok(t, open().Release(short(t)))
				}
				h := open()
				before := runtime.NumGoroutine()
				srv.Latency(50 * time.Millisecond) // whoever looks again stays for as long
				ok(t, other.Revoke(short(t), firstNode(t, other, "/l0").Path))
				most := 0
				for range 60 {
					time.Sleep(time.Millisecond)
					most = max(most, runtime.NumGoroutine())
				}
				if most > before+20 {
					t.Errorf("%d goroutines, and %d after an event on a node that %d handles had", before, most, handles)
				}
				get(t, h.Revoked())
				srv.Latency(0)
				ok(t, h.Release(short(t)))
				ok(t, l.UnlockContext(short(t)))
			})
		})
	}
}

// A node is looked at for each handle, whatever happened to it while there was none.
func TestHoldLooksAgainAfterATimeWithout(t *testing.T) {
	const parts = 3
	for at := range parts {
		inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
			s, other := via(t, srv.Dial), via(t, srv.Dial)
			var locks []zksync.Locker
			for i := range parts {
				locks = append(locks, zksync.NewMutex(s, fmt.Sprintf("/l%d", i)))
			}
			l := zksync.NewMulti(locks...).As(zksync.NewOwner("o"))
			ok(t, l.LockContext(short(t)))
			h, err := l.Hold(short(t))
			ok(t, err)
			synctest.Wait()
			ok(t, h.Release(short(t)))

			node := firstNode(t, other, fmt.Sprintf("/l%d", at)).Path
			data, _, there := srv.Get(node)
			if !there {
				t.Fatalf("no node %s", node)
			}
			_, err = other.Conn().Set(node, data, -1) // ends the watch on one of the nodes
			ok(t, err)
			time.Sleep(time.Second)
			h, err = l.Hold(short(t))
			ok(t, err)
			time.Sleep(10 * time.Millisecond)
			select {
			case <-h.Revoked():
				t.Error("revoked by nobody")
			default:
			}
			_, err = other.Conn().Set(node, []byte("unlock"), -1)
			ok(t, err)
			time.Sleep(10 * time.Millisecond)
			select {
			case <-h.Revoked():
			default:
				t.Errorf("node %d of %d is not looked at", at+1, parts)
			}
			ok(t, h.Release(short(t)))
			ok(t, l.UnlockContext(short(t)))
		})
	}
}

// Who enters a lock that was asked back while it had no handle is told once its node
// has been read, and those who enter after that at once.
func TestRevokedTellsAFirstHandleSoon(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		const delay = 10 * time.Millisecond
		s, other := via(t, srv.Dial), via(t, srv.Dial)
		l := zksync.NewMutex(s, "/l").As(zksync.NewOwner("o"))
		for _, used := range []bool{false, true} {
			ok(t, l.LockContext(short(t)))
			if used { // by a handle that is gone
				h, err := l.Hold(short(t))
				ok(t, err)
				synctest.Wait()
				ok(t, h.Release(short(t)))
			}
			ok(t, other.Revoke(short(t), firstNode(t, other, "/l").Path))
			time.Sleep(time.Second)
			srv.Delay(delay)
			first, err := l.Hold(short(t))
			ok(t, err)
			start := time.Now()
			get(t, first.Revoked())
			if d := time.Since(start); d > 4*delay {
				t.Errorf("used before %v: told after %v", used, d)
			}
			second, err := l.Hold(short(t))
			ok(t, err)
			select {
			case <-second.Revoked():
			default:
				t.Errorf("used before %v: the second is not told from the beginning", used)
			}
			srv.Delay(0)
			ok(t, first.Release(short(t)))
			ok(t, second.Release(short(t)))
			ok(t, l.UnlockContext(short(t)))
		}
	})
}
