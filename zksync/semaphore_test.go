package zksync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// weighted is what semaphore.Weighted of x/sync is, and ours.
type weighted interface {
	Acquire(ctx context.Context, n int64) error
	TryAcquire(n int64) bool
	Release(n int64)
}

// Each point of the documentation of x/sync's Weighted, on theirs and on ours.
func TestWeighted(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]func(t *testing.T, open func(n int64) weighted){
		"acquires and releases":                   weightedBasics,
		"a done ctx acquires nothing":             weightedDone,
		"more than the limit waits for ctx":       weightedTooMuch,
		"a limit of none":                         weightedNone,
		"nothing is a number":                     weightedZero,
		"a part is given back":                    weightedPart,
		"first come, first served":                weightedOrder,
		"a large one holds up the small":          weightedLarge,
		"a cancelled one lets the others through": weightedCancel,
		"releasing more than held panics":         weightedPanics,
		"nothing waits its turn, too":             weightedZeroWaits,
		"a release wakes all that fit":            weightedWakesAll,
		"the error is ctx.Err()":                  weightedErr,
		"anybody gives back, in any parts":        weightedOther,
		"one in the middle gives up":              weightedMiddle,
		"a grant and the end of ctx":              weightedRace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("x/sync", func(t *testing.T) {
				point(t, func(n int64) weighted { return semaphore.NewWeighted(n) })
			})
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				s, p := z.Dial(t), z.Path(t)
				point(t, func(n int64) weighted { return zksync.NewSemaphore(s, p, n) })
				suite.AtRest(t, s)
				z.Empty(t, p)
			})
		})
	}
}

func weightedBasics(t *testing.T, open func(n int64) weighted) {
	w := open(3)
	ctx := suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 1))
	suite.Must(t, w.Acquire(ctx, 2))
	if w.TryAcquire(1) {
		t.Error("a fourth of three")
	}
	w.Release(2)
	for range 2 {
		if !w.TryAcquire(1) {
			t.Error("two were free")
		}
	}
	if w.TryAcquire(1) {
		t.Error("only two were free")
	}
	w.Release(3)
}

func weightedDone(t *testing.T, open func(n int64) weighted) {
	w := open(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, n := range []int64{0, 1, 2} {
		if err := w.Acquire(ctx, n); err != context.Canceled {
			t.Errorf("Acquire(%d): %v", n, err)
		}
	}
	past, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if err := w.Acquire(past, 1); err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func weightedTooMuch(t *testing.T, open func(n int64) weighted) {
	w := open(2)
	ctx, cancel := context.WithCancel(context.Background())
	waits := suite.Async(func() error { return w.Acquire(ctx, 3) })
	for range 3 { // the others are not held up
		suite.Must(t, w.Acquire(suite.Context(t), 2))
		if w.TryAcquire(3) {
			t.Error("three of two")
		}
		w.Release(2)
	}
	cancel()
	if err := suite.Receive(t, waits); err != context.Canceled {
		t.Error(err)
	}
}

func weightedNone(t *testing.T, open func(n int64) weighted) {
	w := open(0)
	if w.TryAcquire(1) {
		t.Error("one of none")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := w.Acquire(ctx, 1); err != context.DeadlineExceeded {
		t.Error(err)
	}
	suite.Must(t, w.Acquire(suite.Context(t), 0))
	w.Release(0)
}

func weightedZero(t *testing.T, open func(n int64) weighted) {
	w := open(1)
	suite.Must(t, w.Acquire(suite.Context(t), 1))
	suite.Must(t, w.Acquire(suite.Context(t), 0))
	if !w.TryAcquire(0) {
		t.Error("nothing is not to be had")
	}
	w.Release(0)
	w.Release(1)
}

func weightedPart(t *testing.T, open func(n int64) weighted) {
	w := open(5)
	ctx := suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 5))
	for n := int64(1); n <= 5; n++ {
		w.Release(1)
		if !w.TryAcquire(n) || w.TryAcquire(1) {
			t.Errorf("not %d", n)
		}
		w.Release(n)
	}
	suite.Must(t, w.Acquire(ctx, 2))
	suite.Must(t, w.Acquire(ctx, 2))
	w.Release(3)
	if !w.TryAcquire(4) || w.TryAcquire(1) {
		t.Error("not four")
	}
	w.Release(5)
}

// queued starts an Acquire and lets it get in line: x/sync does not report that.
func queued(w weighted, ctx context.Context, n int64) <-chan error {
	got := suite.Async(func() error { return w.Acquire(ctx, n) })
	suite.SleepReal(50 * time.Millisecond)
	return got
}

func weightedOrder(t *testing.T, open func(n int64) weighted) {
	w := open(1)
	ctx := suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 1))
	var all []<-chan error
	for range 5 {
		all = append(all, queued(w, ctx, 1))
	}
	for i := range all {
		w.Release(1)
		suite.Must(t, suite.Receive(t, all[i]))
		for _, later := range all[i+1:] {
			select {
			case <-later:
				t.Fatal("out of turn")
			default:
			}
		}
	}
	w.Release(1)
}

func weightedLarge(t *testing.T, open func(n int64) weighted) {
	w := open(3)
	ctx := suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 2))
	large := queued(w, ctx, 3)
	small := queued(w, ctx, 1)
	if w.TryAcquire(1) {
		t.Error("TryAcquire beside a waiter")
	}
	suite.NotYet(t, small)
	w.Release(2)
	suite.Must(t, suite.Receive(t, large))
	suite.NotYet(t, small)
	w.Release(3)
	suite.Must(t, suite.Receive(t, small))
	w.Release(1)
}

func weightedCancel(t *testing.T, open func(n int64) weighted) {
	w := open(3)
	suite.Must(t, w.Acquire(suite.Context(t), 2))
	ctx, cancel := context.WithCancel(context.Background())
	large := queued(w, ctx, 3)
	small := queued(w, suite.Context(t), 1)
	cancel()
	if err := suite.Receive(t, large); err != context.Canceled {
		t.Error(err)
	}
	suite.Must(t, suite.Receive(t, small))
	w.Release(3)
}

func weightedPanics(t *testing.T, open func(n int64) weighted) {
	panics := func(n int64, w weighted) {
		defer func() {
			if recover() == nil {
				t.Errorf("Release(%d) did not panic", n)
			}
		}()
		w.Release(n)
	}
	panics(1, open(1))
}

func weightedZeroWaits(t *testing.T, open func(n int64) weighted) {
	w := open(1)
	ctx := suite.Context(t)
	suite.Must(t, w.Acquire(ctx, 1))
	one := queued(w, ctx, 1)
	none := queued(w, ctx, 0)
	suite.NotYet(t, none)
	if w.TryAcquire(0) {
		t.Error("nothing was had beside a waiter")
	}
	w.Release(1)
	suite.Must(t, suite.Receive(t, one))
	suite.Must(t, suite.Receive(t, none))
	w.Release(1)
}

// Many calls of several sessions, of all weights: never above the limit.
func TestPermitsInACrowd(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const limit = 5
		p := z.Path(t)
		var inside atomic.Int64
		var open []*zksync.Session
		var wg sync.WaitGroup
		enter := func(n int64) {
			in := inside.Add(n)
			if in > limit {
				t.Errorf("%d of %d permits", in, limit)
			}
			time.Sleep(rand.N(2 * time.Millisecond))
		}
		for range 4 {
			s := z.Dial(t)
			open = append(open, s)
			sem := zksync.NewSemaphore(s, p, limit)
			for range 6 {
				wg.Go(func() {
					for range suite.Runs(40) {
						n := 1 + rand.Int64N(4)
						ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
						if rand.IntN(6) == 0 {
							ctx, cancel = context.WithTimeout(context.Background(), rand.N(20*time.Millisecond))
						}
						switch rand.IntN(4) {
						case 0:
							h, err := sem.Hold(ctx, n)
							if err == nil {
								enter(n)
								inside.Add(-n)
								err = h.Release(context.Background())
							}
							if err != nil && !errors.Is(err, context.DeadlineExceeded) {
								t.Error(err)
							}
						case 1:
							if sem.TryAcquire(n) {
								enter(n)
								inside.Add(-n)
								sem.Release(n)
							}
						default:
							err := sem.Acquire(ctx, n)
							if err == nil {
								enter(n)
								for n > 0 { // in parts
									part := 1 + rand.Int64N(n)
									inside.Add(-part)
									sem.Release(part)
									n -= part
								}
							} else if err != context.DeadlineExceeded {
								t.Error(err)
							}
						}
						cancel()
					}
				})
			}
		}
		wg.Wait()
		for _, s := range open {
			all := zksync.NewSemaphore(s, p, limit)
			suite.Must(t, all.Acquire(suite.Context(t), limit)) // no permit was lost
			all.Release(limit)
			suite.AtRest(t, s)
		}
		z.Empty(t, p)
	})
}
