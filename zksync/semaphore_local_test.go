package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// soon waits until a call has got as far as it can.
func soon() { time.Sleep(time.Second) }

// A call for no permits may end with its context at the moment at which the calls before
// it give up. The semaphore stays usable.
func TestNoPermitsAsTheContextEnds(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		sem := zksync.NewSemaphore(z.Dial(t), "/p", 1)
		suite.Must(t, sem.Acquire(t.Context(), 1))
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, n := range []int64{1, 0} {
			all.Go(func() {
				if err := sem.Acquire(ctx, n); n > 0 && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			soon()
		}
		cancel()
		all.Wait()
		sem.Release(1)
		if !sem.TryAcquire(1) {
			t.Error("the semaphore is not free")
		}
		sem.Release(1)
	})
}

// Permits of one limit are not handed over to a call with another limit. With
// WithStrictLimit that call gets an error.
func TestPermitsOfAnotherLimitAreNotHandedOver(t *testing.T) {
	for _, strict := range []bool{false, true} {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			s := z.Dial(t)
			ten := zksync.NewSemaphore(s, "/p", 10)
			var opts []zksync.LockOption
			if strict {
				opts = append(opts, zksync.WithStrictLimit())
			}
			one := zksync.NewSemaphore(s, "/p", 1, opts...)
			for range 2 {
				suite.Must(t, ten.Acquire(t.Context(), 1))
			}
			in := make(chan error, 1)
			go func() { in <- one.Acquire(t.Context(), 1) }()
			soon()
			ten.Release(1)
			soon()
			select {
			case err := <-in:
				if !strict || !errors.Is(err, zksync.ErrLimitMismatch) {
					t.Errorf("strict %v: beside a permit of ten: %v", strict, err)
				}
				ten.Release(1)
				return
			default:
			}
			ten.Release(1)
			suite.Must(t, <-in)
			one.Release(1)
		})
	}
}

type whoKey struct{}

// A part of permits given back while their node gets another name is no loss of the rest.
func TestPartialReleaseBesideARename(t *testing.T) {
	parent := func(ctx context.Context) string { s, _ := ctx.Value(whoKey{}).(string); return s }
	traced := func(t *testing.T, n int) context.Context {
		return context.WithValue(t.Context(), whoKey{}, fmt.Sprintf("00-%032d-%016d-01", n, n))
	}
	times := make([]time.Duration, 100) // at this moment the rewrite is answered: who comes first is by chance
	for i := range times {
		times[i] = 100 * time.Millisecond
	}
	for after := 60 * time.Millisecond; after < 130*time.Millisecond; after += time.Millisecond {
		times = append(times, after)
	}
	for _, after := range times {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			srv := z.Server
			s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{Parent: parent}))
			sem := zksync.NewSemaphore(s, "/p", 2)
			suite.Must(t, sem.Acquire(traced(t, 1), 2))
			in := make(chan error, 1)
			go func() { in <- sem.Acquire(traced(t, 2), 2) }()
			soon()
			srv.Delay(5 * time.Millisecond)
			go sem.Release(2)
			suite.Must(t, <-in)
			time.Sleep(after)
			sem.Release(1)
			soon()
			if n := s.Stats().Losses; n != 0 || len(srv.Children("/p")) != 1 {
				t.Errorf("after %v: %d losses, nodes %v", after, n, srv.Children("/p"))
			}
			sem.Release(1)
		})
	}
}

// Unlock of a lock at the same path gives no permits back.
func TestUnlockLeavesPermitsAlone(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		sem := zksync.NewSemaphore(s, "/p", 3)
		suite.Must(t, sem.Acquire(t.Context(), 3))
		for _, unlock := range []func(){zksync.NewMutex(s, "/p").Unlock, zksync.NewRWMutex(s, "/p").Unlock, zksync.NewRWMutex(s, "/p").RUnlock} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				unlock()
			}()
		}
		sem.Release(3)
	})
}

// Calls get permits in the order in which they came, though a ticket is renewed for the
// first of them.
func TestPermitsAreHandedOverInOrder(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		sem := zksync.NewSemaphore(z.Dial(t), "/p", 2)
		suite.Must(t, sem.Acquire(t.Context(), 1))
		suite.Must(t, sem.Acquire(t.Context(), 1))
		got := make(chan int, 10)
		for i := range 6 {
			go func() {
				if err := sem.Acquire(t.Context(), 1); err != nil {
					t.Error(err)
				}
				got <- i
			}()
			soon()
		}
		sem.Release(1) // a node that is watched from then on
		soon()
		srv.Delay(50 * time.Millisecond)
		go sem.Release(1) // of the newest: at once
		go sem.Release(1) // needs a request first
		for want := range 3 {
			if i := <-got; i != want {
				t.Errorf("call %d came before call %d", i, want)
			}
		}
		srv.Heal()
		for range 3 {
			sem.Release(1)
			<-got
		}
		soon()
		sem.Release(2)
	})
}

// Blocked names the call ahead also to a call without a node in ZooKeeper's line.
func TestPermitsWithoutANodeAreTold(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		var mu sync.Mutex
		places, ends := map[int][]int{}, map[int]zksync.AcquireEndInfo{}
		who := func(ctx context.Context) int { n, _ := ctx.Value(whoKey{}).(int); return n }
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{
			Blocked: func(ctx context.Context, p zksync.Peer) {
				mu.Lock()
				defer mu.Unlock()
				places[who(ctx)] = append(places[who(ctx)], p.Position)
			},
			AcquireEnd: func(ctx context.Context, _ zksync.AcquireInfo, r zksync.AcquireEndInfo) {
				mu.Lock()
				defer mu.Unlock()
				ends[who(ctx)] = r
			},
		}))
		sem := zksync.NewSemaphore(s, "/p", 1)
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if err := sem.Acquire(context.WithValue(t.Context(), whoKey{}, i), 1); err != nil {
					t.Error(err)
				}
			})
			soon()
		}
		mu.Lock()
		for i := 1; i < 4; i++ {
			if len(places[i]) == 0 || places[i][0] != i {
				t.Errorf("call %d was told the places %v", i, places[i])
			}
		}
		mu.Unlock()
		for range 4 {
			sem.Release(1)
			soon()
		}
		all.Wait()
		for i := 1; i < 4; i++ {
			if !ends[i].Contended {
				t.Errorf("call %d did not wait: %+v", i, ends[i])
			}
		}
	})
}

// A read lock whose node was to be renewed for a reader that gave up is released, and
// the tracer sees that release as any other.
func TestReleaseAfterAReaderGaveUp(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		var mu sync.Mutex
		told := map[string]int{}
		add := func(what string) { mu.Lock(); told[what]++; mu.Unlock() }
		s := z.Dial(t, zksync.WithTracer(&zksync.Tracer{
			HoldEnd:      func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) { add("HoldEnd") },
			ReleaseStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { add("ReleaseStart"); return ctx },
			ReleaseEnd:   func(context.Context, zksync.AcquireInfo, zksync.ReleaseEndInfo) { add("ReleaseEnd") },
		}))
		rw := zksync.NewRWMutex(s, "/p")
		rw.RLock()
		soon()
		srv.Delay(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := rw.RLockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := rw.RUnlockContext(t.Context()); err != nil {
			t.Error(err)
		}
		soon()
		mu.Lock()
		defer mu.Unlock()
		if told["HoldEnd"] != 1 || told["ReleaseStart"] != 1 || told["ReleaseEnd"] != 1 || len(srv.Children("/p")) != 0 {
			t.Errorf("%v, nodes %v", told, srv.Children("/p"))
		}
	})
}

// Close ends the waits of a session in time that grows with their number.
func TestCloseEndsManyWaitsInLinearTime(t *testing.T) {
	took := func(n int) time.Duration {
		srv := zktest.Run(t)
		dial := func() *zksync.Session {
			return suite.DialTo(t, []string{"10.0.0.1"}, zksync.WithDialContext(srv.DialContext))
		}
		s, m := dial(), zksync.NewMutex(dial(), "/m")
		m.Lock()
		var all sync.WaitGroup
		for range n {
			all.Go(func() { _ = zksync.NewMutex(s, "/m").LockContext(t.Context()) })
		}
		for s.Stats().Waiting < n {
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
		defer m.Unlock()
		return time.Since(start)
	}
	few, many := time.Hour, time.Hour
	for range 3 {
		few, many = min(few, took(1_000)), min(many, took(16_000))
	}
	t.Logf("1,000 waits end in %v, 16,000 in %v", few, many)
	if many > 80*few+time.Second {
		t.Errorf("16,000 waits end in %v, 1,000 in %v", many, few)
	}
}
