package costs_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// When the budget of hand-overs is used up and another session waits, one transaction gives
// the lock to that session and stands in line again. The new node stands behind one node
// only, so that its turn takes no read. The listing before shows that others wait.
func TestRequestsAtTheEndOfTheBudget(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, s.Session)
		m := zksync.NewMutex(s.Session, p, zksync.WithHandoff(1))
		m.Lock()
		s.Take(t)
		held := make(chan bool)
		for range 2 {
			go func() { m.Lock(); held <- true }()
		}
		suite.Eventually(t, "two wait here", func() bool { return s.Stats().Waiting == 2 })
		suite.Eventually(t, "the node is watched", func() bool { return s.Proxy.Requests()["getData"] == 1 })
		w := suite.CallInLine(t, other, p, suite.Waiting[0])
		s.Take(t)
		m.Unlock()
		<-held
		s.Wants(t, "a hand-over", suite.Ops{})

		suite.Must(t, m.UnlockContext(suite.Context(t)))
		free := w.Held(t)
		other.Wants(t, "the other session's turn", suite.Ops{})
		s.Watched(t) // its blocker
		s.Wants(t, "the end of the budget", suite.Ops{"getChildren2": 2, "multi": 1, "getData": 2})
		suite.Must(t, free())
		<-held
		s.Wants(t, "the session's next turn", suite.Ops{})
		m.Unlock()
		s.Wants(t, "the last Unlock", suite.Ops{"delete": 1})
	})
}
