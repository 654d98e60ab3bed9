package costs_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The statements of the guide and the README about costs that requests_test.go does not
// check.

func TestRequestsOfAFirstUse(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		root := z.UsedPath(t, s.Session)
		s.Take(t)
		for levels, p := range []string{root, root + "/a", root + "/b/c", root + "/d/e/f"} {
			m := zksync.NewMutex(s.Session, p)
			m.Lock()
			m.Unlock()
			got := s.Take(t)
			n := 0
			for _, k := range got {
				n += k
			}
			want := 4 // create, list, watch the path, delete: it was used before
			if levels > 0 {
				// One transaction makes the last level and the node. It fails, and the
				// levels above it are made, each of which is refused until there is one.
				want = []int{0, 2, 4, 6}[levels]
			}
			if n != want {
				t.Errorf("first lock of a path that lacks %d levels: %v, want %d", levels, got, want)
			}
		}
	})
}

func TestRequestsOfAGrantedTry(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, z.UsedPath(t, s.Session))
		s.Take(t)
		if !m.TryLock() {
			t.Fatal("TryLock of a free lock")
		}
		s.Wants(t, "TryLock", suite.Ops{"getChildren2": 2, "create": 1, "getData": 1})
		m.Unlock()
		s.Wants(t, "Unlock", suite.Ops{"delete": 1})
		h, err := m.TryHold(suite.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		s.Watched(t)
		s.Wants(t, "TryHold", suite.Ops{"getChildren2": 1, "create": 1, "getData": 1})
		if err := h.Release(suite.Context(t)); err != nil {
			t.Fatal(err)
		}
		s.Wants(t, "Release", suite.Ops{"delete": 1})
	})
}

// After the budget of hand-overs the session asks whether anybody else waits.
func TestRequestsOfManyHandOvers(t *testing.T) {
	const budget, rounds = 3, 2
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		m := zksync.NewMutex(s.Session, z.UsedPath(t, s.Session), zksync.WithHandoff(budget))
		m.Lock()
		s.Take(t)
		const waiters = rounds * (budget + 1)
		held := make(chan bool)
		for range waiters {
			go func() { m.Lock(); held <- true }()
		}
		suite.Eventually(t, "all wait", func() bool { return s.Stats().Waiting == waiters })
		suite.Eventually(t, "the node is watched", func() bool { return s.Proxy.Requests()["getData"] == 1 })
		for range waiters {
			m.Unlock()
			<-held
		}
		// The second time nothing has been heard since: no need to ask.
		s.Wants(t, "hand-overs", suite.Ops{"getData": 1, "getChildren2": 1})
		m.Unlock()
		s.Wants(t, "the last Unlock", suite.Ops{"delete": 1})
	})
}

// go-zookeeper's own Lock, in the README's table.
func TestRequestsOfTheClientsLock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		a, b := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, a.Session)
		acl := zk.WorldACL(zk.PermAll)
		la, lb := zk.NewLock(a.Conn(), p, acl), zk.NewLock(b.Conn(), p, acl)
		a.Take(t)
		b.Take(t)
		if err := la.Lock(); err != nil {
			t.Fatal(err)
		}
		a.Wants(t, "zk.Lock", suite.Ops{"create": 1, "getChildren2": 1})
		next := make(chan error, 1)
		go func() { next <- lb.Lock() }()
		suite.Eventually(t, "the second one waits", func() bool { return b.Proxy.Requests()["getData"] == 1 })
		b.Wants(t, "zk.Lock in line", suite.Ops{"create": 1, "getChildren2": 1, "getData": 1})
		if err := la.Unlock(); err != nil {
			t.Fatal(err)
		}
		a.Wants(t, "zk.Lock's Unlock", suite.Ops{"delete": 1})
		select {
		case err := <-next:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(suite.Patience):
			t.Fatal("zk.Lock was not granted")
		}
		b.Wants(t, "zk.Lock, from the event to the grant", suite.Ops{"getChildren2": 1})
		if err := lb.Unlock(); err != nil {
			t.Fatal(err)
		}
	})
}
