package exits_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// overdue is how late calls returned after their deadlines.
type overdue struct {
	mu   sync.Mutex
	late []time.Duration
}

func (o *overdue) add(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = append(o.late, d)
}

// at returns what the share q of the calls stayed below.
func (o *overdue) at(q float64) time.Duration {
	slices.Sort(o.late)
	return o.late[min(int(q*float64(len(o.late))), len(o.late)-1)]
}

// Deadlines around the moment of the grant: a call ends in time or holds the
// lock, two never hold it, and what the others leave is nothing.
func TestDeadlinesAroundTheGrant(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		t.Run("by ZooKeeper", func(t *testing.T) { deadlines(t, z, zksync.WithHandoff(0)) })
		t.Run("by hand-over, too", func(t *testing.T) { deadlines(t, z) })
	})
}

func deadlines(t *testing.T, z *suite.Ground, opts ...zksync.LockOption) {
	const calls, sessions, each = 10_000, 8, 4
	var (
		late                   overdue
		started, inside, holds atomic.Int64
		wg                     sync.WaitGroup
		locks                  []*zksync.Mutex
		open                   []*zksync.Session
		p                      = z.Path(t)
	)
	for range sessions {
		s := z.Dial(t)
		open, locks = append(open, s), append(locks, zksync.NewMutex(s, p, opts...))
	}
	begin := time.Now()
	var idle overdue // how late deadlines are here without a lock
	stop := make(chan struct{})
	idler := suite.Async(func() bool {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			deadline, _ := ctx.Deadline()
			<-ctx.Done()
			idle.add(time.Since(deadline))
			cancel()
			select {
			case <-stop:
				return true
			default:
			}
		}
	})
	for i := range sessions * each {
		m := locks[i%sessions]
		wg.Go(func() {
			// What a grant takes here, by and by: half of the calls get it.
			usual := time.Millisecond
			for started.Add(1) <= calls {
				d := usual/2 + rand.N(usual)
				ctx, cancel := context.WithTimeout(context.Background(), d)
				deadline, _ := ctx.Deadline()
				err := m.LockContext(ctx)
				after := time.Since(deadline)
				switch {
				case err == nil:
					if inside.Add(1) != 1 {
						t.Error("two hold the lock")
					}
					holds.Add(1)
					inside.Add(-1)
					m.Unlock()
					usual -= usual / 8
				case errors.Is(err, context.DeadlineExceeded):
					late.add(after)
					usual += usual/8 + 1
				default:
					t.Errorf("LockContext: %v", err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	close(stop)
	<-idler
	took := time.Since(begin)
	var sum zksync.Stats
	for _, s := range open {
		suite.Eventually(t, "nothing left to delete", func() bool { return s.Stats().CleanupPending == 0 })
		st := s.Stats()
		if st.Held != 0 || st.Waiting != 0 || st.Losses != 0 {
			t.Errorf("at rest: %+v", st)
		}
		sum.Handoffs += st.Handoffs
		sum.Requests += st.Requests
	}
	z.Empty(t, p)
	for _, m := range locks {
		m.Lock()
		m.Unlock()
	}
	t.Logf("%d calls in %v, %d requests: %d held (%d grants handed over); the others late by: median %v, 99 %% %v, 99.9 %% %v, most %v; without a lock %v and %v",
		calls, took.Round(time.Millisecond), sum.Requests, holds.Load(), sum.Handoffs, late.at(.5), late.at(.99), late.at(.999), late.at(1), idle.at(.99), idle.at(1))
	if n := holds.Load(); n < calls/10 || n > calls-calls/10 {
		t.Errorf("%d of %d calls held: the deadlines were not around the grant", n, calls)
	}
	if race.Enabled {
		return // its times say nothing
	}
	if d, other := late.at(.99), idle.at(.99); d > 50*time.Millisecond+2*other {
		t.Errorf("99 %% of the calls that ended were late by up to %v, want 50ms (without a lock %v)", d, other)
	}
	if d, other := late.at(1), idle.at(1); d > 500*time.Millisecond+2*other {
		t.Errorf("a call ended %v after its deadline, want 500ms at most (without a lock %v)", d, other)
	}
}
