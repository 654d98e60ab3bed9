package zksync_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Calls that wait behind another of their own session are given the same peer
// ahead, once, with their own place.
func TestBlockedTellsThoseBehind(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		holder := zksync.NewMutex(z.Dial(t), p)
		holder.Lock()
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		m := zksync.NewMutex(s, p)
		done := make(chan bool)
		for i := range 3 {
			go func() { m.Lock(); m.Unlock(); done <- true }()
			suite.AwaitWaiting(t, s, i+1)
		}
		rec.Tells(t, "all are told", func() bool { return len(rec.Peers) == 3 })
		holder.Unlock()
		for range 3 {
			suite.Receive(t, done)
		}
		rec.Balanced(t)
		var places []int
		for _, peer := range rec.Peers {
			places = append(places, peer.Position)
			if peer.Node != rec.Peers[0].Node || peer.Session == s.ID() {
				t.Errorf("blocked by %+v", peer)
			}
		}
		slices.Sort(places)
		if !slices.Equal(places, []int{1, 2, 3}) {
			t.Errorf("places %v", places)
		}
		for _, r := range rec.Results {
			if !r.Contended || r.Server == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// Blocked names the holder of permits that blocks a call, as it names the holder of a
// lock.
func TestBlockedTellsWhoHasThePermit(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		holder := z.Dial(t, zksync.WithIdentity("the holder"))
		h, err := zksync.NewSemaphore(holder, p, 2).Hold(suite.Context(t), 2)
		suite.Must(t, err)
		rec := suite.NewRecorder(t)
		sem := zksync.NewSemaphore(z.Dial(t, zksync.WithTracer(rec.Tracer())), p, 2)
		got := suite.Async(func() error { return sem.Acquire(suite.Context(t), 1) })
		rec.Tells(t, "Blocked was called", func() bool { return len(rec.Peers) > 0 })
		rec.Mu.Lock()
		peer := rec.Peers[0]
		rec.Mu.Unlock()
		if peer.Identity != "the holder" || peer.Node != h.Node() || peer.Session != holder.ID() || peer.Since.IsZero() || peer.Local {
			t.Errorf("%+v", peer)
		}
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, suite.Receive(t, got))
		sem.Release(1)
		rec.Balanced(t)
	})
}

// Each event says what the event before it said.
func TestSessionEventsAreAChain(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		first := s.ID()
		suite.Must(t, z.Expire(first))
		suite.Eventually(t, "another session stands", func() bool { return s.Stats().Connects > 1 && s.ID() != first })
		suite.Must(t, s.Close())
		rec.Mu.Lock()
		defer rec.Mu.Unlock()
		before := zksync.SessionState("")
		for _, e := range rec.Events {
			if e.Before != before {
				t.Errorf("%+v after %q", e, before)
			}
			before = e.State
		}
		if before != zksync.StateClosed {
			t.Errorf("the last is %q", before)
		}
	})
}

// The changes that Cleanup reports add up to zero in the end.
func TestCleanupAddsUp(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		sum, most := make(chan int, 1), 0
		sum <- 0
		tr := &zksync.Tracer{Cleanup: func(e zksync.CleanupEvent) {
			n := <-sum + e.Change
			most = max(most, n)
			sum <- n
		}}
		s, p := z.Dial(t, zksync.WithTracer(tr)), z.Path(t)
		for i := range 5 {
			suite.LockAndUnlock(t, zksync.NewMutex(s, fmt.Sprint(p, i)))
		}
		sem := zksync.NewSemaphore(s, p, 3)
		suite.Must(t, sem.Acquire(suite.Context(t), 3))
		sem.Release(1) // of three
		sem.Release(2)
		suite.AtRest(t, s)
		suite.Eventually(t, "nothing is left to be told", func() bool {
			n := <-sum
			defer func() { sum <- n }()
			return n == 0 && most > 0
		})
	})
}

// The error of a loss has its reason.
func TestLossReason(t *testing.T) {
	if r := zksync.LossReason(nil); r != "" {
		t.Errorf("%q of no error", r)
	}
	if r := zksync.LossReason(zksync.ErrBusy); r != "" {
		t.Errorf("%q of ErrBusy", r)
	}
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		h, err := zksync.NewMutex(s, p).Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, z.Raw(t).Delete(h.Node(), -1))
		if r := zksync.LossReason(h.Release(suite.Context(t))); r != zksync.EndNodeDeleted {
			t.Errorf("%q", r)
		}
	})
}
