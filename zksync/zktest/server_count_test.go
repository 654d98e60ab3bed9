package zktest_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The counts of a session outlive it until 1,000 others have ended after it. What comes
// of it then is in the counts of all.
func TestServerCountsOfEndedSessions(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		other := s.AddMember()
		c := open(t, other)
		c.create("/a", 0)
		other.CutFromLeader() // so that it does not learn of the end
		s.Expire(c.hi.SessionID)
		end := func(sessions int) {
			for range sessions {
				c := open(t, s)
				c.ok(wire.OpExists, "/", false)
				c.ok(wire.OpCloseSession)
			}
		}
		for _, step := range []struct{ ends, want int }{{0, 2}, {999, 3}, {1, 0}, {1500, 0}} {
			end(step.ends)
			c.ok(wire.OpExists, "/a", false)
			if got := total(s.SessionRequests(c.hi.SessionID)); got != step.want {
				t.Errorf("after %d more ends: %d requests of the session, want %d", step.ends, got, step.want)
			}
		}
		if got := s.Requests(); got["exists"] != 2504 || got["closeSession"] != 2500 || got["create"] != 1 {
			t.Errorf("requests %v", got)
		}
		last := open(t, s).hi.SessionID - 1
		if got := s.SessionRequests(last); got["exists"] != 1 || got["closeSession"] != 1 || len(got) != 2 {
			t.Errorf("requests of the session that ended last: %v", got)
		}
		s.ResetRequests()
		if got := len(s.Requests()) + len(s.SessionRequests(last)); got != 0 {
			t.Errorf("%d counts after a reset", got)
		}
	})
}
