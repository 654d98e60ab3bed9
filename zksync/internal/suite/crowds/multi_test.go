package crowds_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// crowdFor is how long each crowd works, which ZKSYNC_CROWD sets: 20s is what is
// promised, and full reports whether that much is asked for.
func crowdFor(t testing.TB) (d time.Duration, full bool) {
	t.Helper()
	text := os.Getenv("ZKSYNC_CROWD")
	if text == "" && os.Getenv("ZKSYNC_FULL") == "1" {
		text = "20s"
	}
	if text == "" {
		return suite.LongOr(5*time.Second, 3*time.Second), false
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 5*time.Second {
		t.Fatalf("ZKSYNC_CROWD=%s: want a duration of 5s and more", text)
	}
	return d, d >= 20*time.Second
}

// Ten thousand random pairs (a thousand as a rule) of a few locks, named in any
// order, from four sessions: nobody waits for ever, none is held twice, nothing
// is left.
func TestCrowdOfPairs(t *testing.T) {
	pairs := suite.LongOr(1000, 300)
	if _, full := crowdFor(t); full {
		pairs = 10_000
	}
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const (
			locks    = 6
			sessions = 4
			each     = 4 // goroutines of a session
		)
		root := z.Path(t)
		var (
			left     atomic.Int64
			refused  atomic.Int64 // calls that gave up or had no luck
			together atomic.Int64 // most Multis held at a time
			now      atomic.Int64
			inside   [locks]atomic.Int64 // 1000 for each that writes, 1 for each that reads
			open     []*zksync.Session
			wg       sync.WaitGroup
		)
		left.Store(int64(pairs))
		enter := func(p pair) {
			for _, i := range []int{p.a, p.b} {
				in := inside[i].Add(p.step(i))
				if in != 1000 && in >= 1000 {
					t.Errorf("lock %d is held twice: %d", i, in)
				}
			}
			for n, m := now.Add(1), together.Load(); n > m && !together.CompareAndSwap(m, n); m = together.Load() {
			}
		}
		leave := func(p pair) {
			now.Add(-1)
			for _, i := range []int{p.a, p.b} {
				inside[i].Add(-p.step(i))
			}
		}
		start := time.Now()
		for range sessions {
			s := z.Dial(t)
			open = append(open, s)
			for range each {
				wg.Go(func() {
					for left.Load() > 0 && !t.Failed() {
						p := anyPair(locks)
						done, err := p.once(s, root, enter, leave)
						if err != nil {
							t.Errorf("%+v: %v", p, err)
						}
						if done {
							left.Add(-1)
						} else {
							refused.Add(1)
						}
					}
				})
			}
		}
		wg.Wait()
		took := time.Since(start)
		for _, s := range open {
			suite.AtRest(t, s)
		}
		for i := range locks {
			z.Empty(t, fmt.Sprint(root, "/", i))
		}
		t.Logf("%d pairs in %v, %d calls that gave up or were refused, at most %d pairs held at a time",
			pairs, took.Round(time.Millisecond), refused.Load(), together.Load())
		if together.Load() < 2 {
			t.Error("never two at a time: that proves nothing")
		}
	})
}

// pair is two locks, as a Multi of them is made.
type pair struct {
	a, b   int
	shared int // this one is for reading; -1: neither
	way    int // how it is taken
}

func anyPair(locks int) pair {
	both := rand.Perm(locks)[:2]
	p := pair{a: both[0], b: both[1], shared: -1, way: rand.IntN(8)}
	if rand.IntN(3) == 0 {
		p.shared = both[rand.IntN(2)]
	}
	return p
}

func (p pair) step(i int) int64 {
	if i == p.shared {
		return 1
	}
	return 1000
}

func (p pair) locker(s *zksync.Session, root string, i int) zksync.Locker {
	rw := zksync.NewRWMutex(s, fmt.Sprint(root, "/", i))
	if i == p.shared {
		return rw.RLocker()
	}
	return rw
}

// once takes the pair and gives it back. done is false if it gave up, or found
// somebody there: that leaves nothing behind either.
func (p pair) once(s *zksync.Session, root string, enter, leave func(pair)) (done bool, err error) {
	m := zksync.NewMulti(p.locker(s, root, p.a), p.locker(s, root, p.b))
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	in := func() {
		enter(p)
		if rand.IntN(4) == 0 {
			time.Sleep(rand.N(2 * time.Millisecond))
		}
		leave(p)
	}
	switch p.way {
	case 0:
		h, err := m.Hold(ctx)
		if err != nil {
			return false, err
		}
		in()
		return true, h.Release(ctx)
	case 1:
		return true, m.Do(ctx, func(context.Context, *zksync.Hold) error { in(); return nil })
	case 2:
		h, err := m.TryHold(ctx)
		if errors.Is(err, zksync.ErrBusy) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		in()
		return true, h.Release(ctx)
	case 3:
		soon, cancel := context.WithTimeout(ctx, rand.N(20*time.Millisecond))
		defer cancel()
		err := m.LockContext(soon)
		if errors.Is(err, context.DeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	default:
		if err := m.LockContext(ctx); err != nil {
			return false, err
		}
	}
	in()
	return true, m.UnlockContext(ctx)
}
