package zksync

import (
	"context"
	"testing"
	"time"
)

// hooks runs what a call does for its tracer up to an unlock by a hand-over.
func hooks(c *call) {
	c.begin()
	c.end = nil
	c.startHold(c.ctx)
	c.answered()
	if told := c.Ended(nil, false, 0); told != nil {
		told()
	}
}

func hooked() *call {
	c := &call{s: &Session{cfg: config{tracer: &Tracer{}}}, ctx: context.Background()}
	c.Ctx = c.ctx
	return c
}

// Without a tracer nothing is allocated for one.
func TestNoTracerAllocatesNothing(t *testing.T) {
	c := hooked()
	if n := testing.AllocsPerRun(1000, func() { hooks(c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// And it takes no time that could be measured, of the microseconds of a
// hand-over: some nanoseconds of looking at nil.
func TestNoTracerTakesNoTime(t *testing.T) {
	const runs, limit = 10_000, 5 * time.Microsecond // the race detector's, and a busy machine's
	best := time.Hour
	for range 5 {
		c := hooked()
		start := time.Now()
		for range runs {
			hooks(c)
		}
		best = min(best, time.Since(start)/runs)
	}
	t.Logf("%v for all hooks of a lock and its unlock", best)
	if best > limit {
		t.Errorf("%v, want at most %v", best, limit)
	}
}
