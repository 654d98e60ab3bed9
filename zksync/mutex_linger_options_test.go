package zksync_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// While a lock lingers nobody holds it, and its node names nobody.
//
// On a program's own client a lock may be given up when its node is rewritten, because the
// events of such a client have no order.
func TestLingerNamesNobody(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p, zksync.WithLinger(lingers))
		node := ""
		for _, owner := range []string{"a", "b", "b"} {
			l := m.As(zksync.NewOwner(owner))
			l.Lock()
			n := firstNode(t, other, p)
			if node != "" && n.Node != node && !z.Adapted {
				t.Errorf("node %s, was %s", n.Node, node)
			}
			node = n.Node
			suite.Eventually(t, "the node names the holder", func() bool { return firstNode(t, other, p).OwnerName == owner })
			l.Unlock()
			suite.Eventually(t, "the node names nobody", func() bool {
				q, err := other.Inspect(suite.Context(t), p)
				suite.Must(t, err)
				if len(q.Nodes) == 0 {
					return z.Adapted
				}
				return q.Nodes[0].OwnerName == "" && q.Nodes[0].OwnerID == ""
			})
			suite.SleepReal(150 * time.Millisecond) // it is watched again by then
		}
		suite.Must(t, s.Close())
	}, suite.Timeless)
}

// Options that make no sense are reported when the lock is used.
func TestLingerOptions(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s := z.Via(t, z.Server.Dial, zksync.WithLockDefaults(zksync.WithLinger(lingers)))
		for name, l := range map[string]zksync.Locker{
			"negative":   zksync.NewMutex(s, "/l", zksync.WithLinger(-1)),
			"years":      zksync.NewMutex(s, "/l", zksync.WithLinger(8760*time.Hour)),
			"no handoff": zksync.NewMutex(s, "/l", zksync.WithHandoff(0)),
			"neither":    zksync.NewRWMutex(s, "/l", zksync.WithLinger(1), zksync.WithHandoff(0)).RLocker(),
			"in a Multi": zksync.NewMulti(zksync.NewMutex(s, "/l", zksync.WithHandoff(0))),
		} {
			if err := l.LockContext(suite.Context(t)); err == nil {
				t.Errorf("%s: no error", name)
			} else {
				suite.IsError(t, err)
			}
		}
		sem := zksync.NewSemaphore(s, "/s", 2, zksync.WithLinger(lingers))
		suite.IsError(t, sem.Acquire(suite.Context(t), 1))
		for _, l := range []zksync.Locker{
			zksync.NewMutex(s, "/off", zksync.WithLinger(0)),
			zksync.NewMutex(s, "/strict", zksync.WithLinger(0), zksync.WithHandoff(0)),
			zksync.NewMulti(zksync.NewMutex(s, "/a"), zksync.NewMutex(s, "/b")),
		} {
			takes(suite.Context(t), t, l)
		}
		plain := zksync.NewSemaphore(s, "/s", 2) // the default is not for a Semaphore
		suite.Must(t, plain.Acquire(suite.Context(t), 1))
		plain.Release(1)
		synctest.Wait() // Release returns once the deletion has been sent
		if n := suite.NodesOf(z.Server, s.ID()); len(n) != 0 {
			t.Errorf("nodes %v linger", n)
		}
	})
}
