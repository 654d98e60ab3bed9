package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// inLine is the key of a function that is called when the call whose context carries it
// waits.
type inLine struct{}

// Watched returns a context for a call on a session that has TellsLine, and a
// channel that is closed once the call stands in line behind somebody.
func Watched(ctx context.Context) (context.Context, <-chan struct{}) {
	ch := make(chan struct{})
	var once sync.Once
	return context.WithValue(ctx, inLine{}, func() { once.Do(func() { close(ch) }) }), ch
}

// TellsLine makes [Watched] work on a session: its tracer calls the function in the
// context of a call that waits.
func TellsLine() zksync.Option {
	return zksync.WithTracer(&zksync.Tracer{Blocked: func(ctx context.Context, _ zksync.Peer) {
		if f, ok := ctx.Value(inLine{}).(func()); ok {
			f()
		}
	}})
}

// Duel is a hold that is about to be lost, and a call of another session that
// waits for it.
type Duel struct {
	path   string
	First  *zksync.Hold
	Ctx    context.Context
	Lost   chan time.Time
	second chan Grant
	Fence  int64 // of the second hold, after end
}

// Grant is how a call for a hold ended, and when.
type Grant struct {
	Hold *zksync.Hold
	At   time.Time
	Err  error
}

// BeginDuel holds path on one session and waits for it on another, which has
// TellsLine.
func BeginDuel(ctx context.Context, first, second *zksync.Session, path string) (*Duel, error) {
	h, err := zksync.NewMutex(first, path).Hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("the first hold: %w", err)
	}
	d := &Duel{path: path, First: h, Ctx: h.Context(ctx), Lost: make(chan time.Time, 1), second: make(chan Grant, 1)}
	context.AfterFunc(d.Ctx, func() { d.Lost <- time.Now() })
	wctx, waits := Watched(ctx)
	go func() {
		h, err := zksync.NewMutex(second, path).Hold(wctx)
		d.second <- Grant{h, time.Now(), err}
	}()
	select {
	case <-waits:
		return d, nil
	case g := <-d.second:
		return nil, fmt.Errorf("granted beside a hold that says %v (%v)", h.Err(), g.Err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// End waits for the second hold and checks that the first one was over by then.
// It returns by how much.
func (d *Duel) End(ctx context.Context) (time.Duration, error) {
	var g Grant
	select {
	case g = <-d.second:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: the second session waits: %w", d.path, ctx.Err())
	}
	if g.Err != nil {
		return 0, fmt.Errorf("the second hold: %w", g.Err)
	}
	var lost time.Time
	select {
	case lost = <-d.Lost:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: two holders, and the first was never told", d.path)
	}
	margin := g.At.Sub(lost)
	d.Fence = g.Hold.Fence()
	var errs []error
	if margin < 0 {
		errs = append(errs, fmt.Errorf("%s: two holders for %v", d.path, -margin))
	}
	if cause := context.Cause(d.Ctx); !errors.Is(cause, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("cause of the first hold's end: %v", cause))
	}
	if err := d.First.Err(); !errors.Is(err, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("the first hold has Err: %v", err))
	}
	if f, s := d.First.Fence(), g.Hold.Fence(); s <= f {
		errs = append(errs, fmt.Errorf("fence %d came after fence %d", s, f))
	}
	if err := d.First.Release(ctx); !errors.Is(err, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("releasing the first hold: %v", err))
	}
	if err := g.Hold.Release(ctx); err != nil {
		errs = append(errs, fmt.Errorf("releasing the second hold: %w", err))
	}
	return margin, errors.Join(errs...)
}

// Margins logs how long the first holders were out before the second came in.
func Margins(t *testing.T, all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	ms := func(i int) time.Duration { return all[i].Round(time.Millisecond) }
	t.Logf("%d runs: the first holder was out %v (least), %v (median), %v (most) before the second was in",
		len(all), ms(0), ms(len(all)/2), ms(len(all)-1))
}
