package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// plainParent is a parent of the test's own, which shows whether it is kept.
type plainParent struct {
	context.Context
	n int
}

func (p *plainParent) Value(key any) any {
	if key == (keyed{}) {
		return p.n
	}
	return p.Context.Value(key)
}

// A hold does not keep the contexts that it gives, however many there are and
// however long it lasts: something is kept for each parent that has not ended, and
// those with one Done channel, or none, are one.
func TestHoldKeepsNoContexts(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		const n = 20_000
		ctx := suite.Context(t)
		s := z.Dial(t, zksync.WithSessionTimeout(time.Minute)) // so much garbage may stop a busy machine
		h, err := zksync.NewMutex(s, z.Path(t)).Hold(ctx)
		suite.Must(t, err)
		root, cancel := context.WithCancel(context.Background())
		defer cancel()
		bounded, stop := context.WithTimeout(root, time.Hour)
		defer stop()
		for name, parent := range map[string]context.Context{
			"never ends": context.Background(), "ends late": root, "ends in an hour": bounded, "detached": context.WithoutCancel(root),
		} {
			var all []weak.Pointer[plainParent]
			for i := range n {
				p := &plainParent{parent, i}
				c := h.Context(p)
				if c.Value(keyed{}) != i || c.Err() != nil {
					t.Fatalf("%s: value %v, %v", name, c.Value(keyed{}), c.Err())
				}
				if i%2 == 0 { // and what is made of it, and ended
					child, cancel := context.WithCancel(c)
					cancel()
					<-child.Done()
				}
				all = append(all, weak.Make(p))
			}
			suite.Eventually(t, name+": all are gone but the first", func() bool {
				runtime.GC()
				kept := 0
				for _, p := range all {
					if p.Value() != nil {
						kept++
					}
				}
				return kept <= 1
			})
		}
		// Nor what is given to parents that have ended since.
		var gone []weak.Pointer[plainParent]
		for i := range 1000 {
			parent, cancel := context.WithCancel(root)
			p := &plainParent{parent, i}
			c := h.Context(p)
			cancel()
			<-c.Done()
			gone = append(gone, weak.Make(p))
		}
		suite.Eventually(t, "those that ended are gone", func() bool {
			runtime.GC()
			for _, p := range gone {
				if p.Value() != nil {
					return false
				}
			}
			return true
		})
		suite.Must(t, h.Release(ctx))
	})
}

// Contexts derived from a hold's context end with the hold, even if the program has not
// kept the hold's context. They need no goroutine until then.
func TestHoldEndsWhatIsMadeOfItsContexts(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		for _, lose := range []bool{true, false} {
			ctx := suite.Context(t)
			s := z.Dial(t)
			raw := z.Raw(t)
			h, err := zksync.NewMutex(s, z.Path(t)).Hold(ctx)
			suite.Must(t, err)
			root, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			suite.SleepReal(50 * time.Millisecond) // what the hold has begun
			before := runtime.NumGoroutine()
			var done []<-chan struct{}
			var children []context.Context
			const each = 100
			ran := make(chan error, 1000)
			for i := range each {
				for _, parent := range []context.Context{context.Background(), root, context.WithValue(root, keyed{}, i), context.WithoutCancel(root)} {
					done = append(done, h.Context(parent).Done())
					child, stop := context.WithTimeout(context.WithValue(h.Context(parent), keyed{}, i), time.Hour)
					defer stop()
					children = append(children, child)
					c := h.Context(parent)
					context.AfterFunc(c, func() { ran <- context.Cause(c) })
				}
			}
			if n := runtime.NumGoroutine() - before; n > 10 {
				t.Errorf("%d goroutines", n)
			}
			runtime.GC()
			runtime.GC()
			want := context.Canceled
			if lose {
				want = zksync.ErrLost
				suite.Must(t, raw.Delete(h.Node(), -1))
			} else {
				suite.Must(t, h.Release(ctx))
			}
			for _, c := range done {
				suite.Receive(t, c)
			}
			for _, c := range children {
				suite.Receive(t, c.Done())
				if c.Err() != context.Canceled || !errors.Is(context.Cause(c), want) {
					t.Fatalf("lost %v: %v, %v", lose, c.Err(), context.Cause(c))
				}
			}
			for range 4 * each {
				if err := suite.Receive(t, ran); !errors.Is(err, want) {
					t.Fatalf("lost %v: %v", lose, err)
				}
			}
			if lose {
				suite.IsError(t, h.Release(ctx), zksync.ErrLost)
			}
		}
	})
}

// Contexts that share what ends them have their own values and deadlines, and end
// with their own parents only.
func TestHoldContextsEndWithTheirParents(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		h, err := zksync.NewMutex(z.Dial(t), z.Path(t)).Hold(ctx)
		suite.Must(t, err)
		first, cancel := context.WithCancelCause(context.Background())
		second, stop := context.WithTimeout(context.Background(), time.Hour)
		defer stop()
		var ofFirst, others []context.Context
		for i := range 3 {
			for parent, list := range map[context.Context]*[]context.Context{
				first: &ofFirst, second: &others, context.Background(): &others, context.WithoutCancel(first): &others,
			} {
				c := h.Context(context.WithValue(parent, keyed{}, i))
				if c.Value(keyed{}) != i || c.Value("nothing") != nil {
					t.Errorf("value %v of %d", c.Value(keyed{}), i)
				}
				got, has := c.Deadline()
				if want, wants := parent.Deadline(); got != want || has != wants {
					t.Errorf("deadline %v, %v", got, has)
				}
				*list = append(*list, c)
			}
		}
		cancel(suite.ErrCause)
		for _, c := range ofFirst {
			suite.Receive(t, c.Done())
			if c.Err() != context.Canceled || context.Cause(c) != suite.ErrCause {
				t.Errorf("%v, %v", c.Err(), context.Cause(c))
			}
		}
		for _, c := range others {
			if c.Err() != nil || context.Cause(c) != nil {
				t.Errorf("%v, %v, but its parent goes on", c.Err(), context.Cause(c))
			}
		}
		if c := h.Context(first); c.Err() != context.Canceled || context.Cause(c) != suite.ErrCause {
			t.Errorf("of a parent that has ended: %v, %v", c.Err(), context.Cause(c))
		}
		nested := h.Context(others[0])
		suite.Must(t, h.Release(ctx))
		for _, c := range append(others, nested, h.Context(context.Background()), h.Context(second)) {
			suite.Receive(t, c.Done())
			if c.Err() != context.Canceled || context.Cause(c) != context.Canceled {
				t.Errorf("after the release: %v, %v", c.Err(), context.Cause(c))
			}
		}
	})
}

// Contexts that are asked for as parents and the hold end: each ends.
func TestHoldContextsRace(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		m := zksync.NewMutex(z.Dial(t), z.Path(t))
		for range suite.Runs(20) {
			h, err := m.Hold(ctx)
			suite.Must(t, err)
			root, cancel := context.WithCancel(context.Background())
			var over atomic.Bool
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for i := 0; !over.Load(); i++ {
						parent, stop := context.Context(root), func() {}
						if i%3 > 0 {
							parent = context.Background()
						}
						if i%5 == 0 {
							parent, stop = context.WithCancel(parent)
						}
						c := h.Context(parent)
						if rand.IntN(2) == 0 {
							stop()
						}
						_ = fmt.Sprint(c.Err(), context.Cause(c), c.Value(keyed{}))
						if h.Err() != nil {
							suite.Receive(t, c.Done())
						}
						stop()
					}
				})
			}
			suite.SleepReal(rand.N(2 * time.Millisecond))
			if rand.IntN(2) == 0 {
				cancel()
			}
			suite.Must(t, h.Release(ctx))
			over.Store(true)
			wg.Wait()
			cancel()
		}
	})
}

// askedParent counts how often it is asked for a value.
type askedParent struct {
	context.Context
	asked int
}

func (p *askedParent) Value(key any) any {
	if key == (keyed{}) {
		p.asked++
	}
	return p.Context.Value(key)
}

// With any number of nested contexts of holds, a value is asked for once of the
// outermost parent.
func TestHoldContextsAskTheirParentOnce(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		const depth = 20
		m := zksync.NewMutex(z.Via(t, srv.Dial), "/l")
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		asks := func(name string, p *askedParent, ctx context.Context) {
			t.Helper()
			p.asked = 0
			if v := ctx.Value(keyed{}); v != "outermost" || p.asked != 1 {
				t.Errorf("%s: %v, asked %d times", name, v, p.asked)
			}
		}
		root, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		for name, outer := range map[string]context.Context{"that never ends": context.Background(), "that ends": root} {
			p := &askedParent{Context: context.WithValue(outer, keyed{}, "outermost")}
			within, between := context.Context(p), context.Context(p)
			for range depth {
				within = h.Context(within)
				next, cancel := context.WithCancel(h.Context(between))
				defer cancel()
				between = next
			}
			asks("a parent "+name+", each within another", p, within)
			asks("a parent "+name+", with contexts between", p, between)
			if within.Err() != nil || context.Cause(between) != nil {
				t.Errorf("%v, %v: both go on", within.Err(), context.Cause(between))
			}
			if outer == root {
				cancel(suite.ErrCause)
				if context.Cause(within) != suite.ErrCause || context.Cause(between) != suite.ErrCause {
					t.Errorf("causes %v, %v", context.Cause(within), context.Cause(between))
				}
			}
		}
		suite.Must(t, h.Release(suite.Context(t)))

		p := &askedParent{Context: context.WithValue(context.Background(), keyed{}, "outermost")}
		o := zksync.NewOwner("o")
		var again func(ctx context.Context, levels int) error
		again = func(ctx context.Context, levels int) error {
			asks("levels of Do", p, ctx)
			if levels == depth {
				return nil
			}
			return m.As(o).Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return again(ctx, levels+1) })
		}
		suite.Must(t, again(p, 0))
	})
}
