package zksync_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// What the guide and the README say of costs, beside what requests_test.go
// counts.

func TestRequestsOfAFirstUse(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		root := usedPath(t, s.Session)
		s.take(t)
		for levels, p := range []string{root, root + "/a", root + "/b/c", root + "/d/e/f"} {
			m := zksync.NewMutex(s.Session, p)
			m.Lock()
			m.Unlock()
			got := s.take(t)
			n := 0
			for _, k := range got {
				n += k
			}
			if want := 3 + 2*levels; n != want {
				t.Errorf("first lock of a path that lacks %d levels: %v, want %d", levels, got, want)
			}
		}
	})
}

func TestRequestsOfAGrantedTry(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, usedPath(t, s.Session))
		s.take(t)
		if !m.TryLock() {
			t.Fatal("TryLock of a free lock")
		}
		s.wants(t, "TryLock", ops{"getChildren2": 2, "create": 1})
		m.Unlock()
		s.wants(t, "Unlock", ops{"delete": 1})
		h, err := m.TryHold(short(t))
		if err != nil {
			t.Fatal(err)
		}
		s.wants(t, "TryHold", ops{"getChildren2": 2, "create": 1, "getData": 1})
		if err := h.Release(short(t)); err != nil {
			t.Fatal(err)
		}
		s.wants(t, "Release", ops{"delete": 1})
	})
}

// After the budget of hand-overs the session asks whether anybody else waits.
func TestRequestsOfManyHandOvers(t *testing.T) {
	const budget, rounds = 3, 2
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, usedPath(t, s.Session), zksync.WithHandoff(budget))
		m.Lock()
		s.take(t)
		const waiters = rounds * (budget + 1)
		held := make(chan bool)
		for range waiters {
			go func() { m.Lock(); held <- true }()
		}
		eventually(t, "all wait", func() bool { return s.Stats().Waiting == waiters })
		eventually(t, "the node is watched", func() bool { return s.p.Requests()["getData"] == 1 })
		for range waiters {
			m.Unlock()
			<-held
		}
		// The second time nothing has been heard since: no need to ask.
		s.wants(t, "hand-overs", ops{"getData": 1, "getChildren2": 1})
		m.Unlock()
		s.wants(t, "the last Unlock", ops{"delete": 1})
	})
}

// go-zookeeper's own Lock, in the README's table.
func TestRequestsOfTheClientsLock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		a, b := z.counted(t), z.counted(t)
		p := usedPath(t, a.Session)
		acl := zk.WorldACL(zk.PermAll)
		la, lb := zk.NewLock(a.Conn(), p, acl), zk.NewLock(b.Conn(), p, acl)
		a.take(t)
		b.take(t)
		if err := la.Lock(); err != nil {
			t.Fatal(err)
		}
		a.wants(t, "zk.Lock", ops{"create": 1, "getChildren2": 1})
		next := make(chan error, 1)
		go func() { next <- lb.Lock() }()
		eventually(t, "the second one waits", func() bool { return b.p.Requests()["getData"] == 1 })
		b.wants(t, "zk.Lock in line", ops{"create": 1, "getChildren2": 1, "getData": 1})
		if err := la.Unlock(); err != nil {
			t.Fatal(err)
		}
		a.wants(t, "zk.Lock's Unlock", ops{"delete": 1})
		select {
		case err := <-next:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("zk.Lock was not granted")
		}
		b.wants(t, "zk.Lock, from the event to the grant", ops{"getChildren2": 1})
		if err := lb.Unlock(); err != nil {
			t.Fatal(err)
		}
	})
}
