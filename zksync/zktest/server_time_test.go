package zktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// An hour passes at once: a hundred idle sessions sit on a lock each, and none
// is lost. A plain lock costs its session the client's pings, one every third of
// the session timeout; a Hold costs two proofs of life for each of those, too.
func TestServerAnHourOfIdleSessions(t *testing.T) {
	t.Run("Lock", func(t *testing.T) { anHour(t, false) })
	t.Run("Hold", func(t *testing.T) { anHour(t, true) })
}

func anHour(t *testing.T, hold bool) {
	n := suite.LongOr(100, 10)
	if race.Enabled {
		n = 10
	}
	start := time.Now()
	bubble.Test(t, func(t *testing.T) {
		const hour = time.Hour
		s := zktest.Run(t)
		type idle struct {
			*zksync.Session
			id      int64
			release func(context.Context) error
			err     func() error // of a lock that says whether it is held
		}
		sessions := make([]idle, n)
		for i := range n {
			own, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(s.DialContext))
			must(t, err)
			defer own.Close()
			m := zksync.NewMutex(own, fmt.Sprint("/locks/", i))
			x := idle{Session: own, id: own.ID(), release: m.UnlockContext, err: func() error { return nil }}
			if hold {
				h, err := m.Hold(t.Context())
				must(t, err)
				x.release, x.err = h.Release, h.Err
			} else {
				must(t, m.LockContext(t.Context()))
			}
			sessions[i] = x
		}
		s.ResetRequests()
		began := time.Now()
		time.Sleep(hour)
		if passed := time.Since(began); passed != hour {
			t.Errorf("%v passed", passed)
		}
		pings, probes := s.Pings(), s.Requests()["multi"]
		for i, x := range sessions {
			st := x.Stats()
			if x.err() != nil || x.ID() != x.id || st.Losses != 0 || st.Disconnects != 0 {
				t.Errorf("session %d: %v, %+v", i, x.err(), st)
			}
			if err := x.release(t.Context()); err != nil {
				t.Errorf("session %d: %v", i, err)
			}
		}
		about := func(what string, got, want int) {
			if got < want*9/10 || got > want*11/10 {
				t.Errorf("%d %s, want about %d", got, what, want)
			}
		}
		want := n * int(hour/(sessions[0].Timeout()/3))
		about("pings", pings, want)
		if !hold {
			want = 0
		}
		about("proofs of life", probes, 2*want)
	})
	t.Logf("%d sessions took %v", n, time.Since(start).Round(time.Millisecond))
}
