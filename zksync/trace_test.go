package zksync

import (
	"context"
	"testing"
	"time"
)

// hooks runs what a lock does for its tracer from a call to its unlock by a
// hand-over.
func hooks(l *lock, w *waiter, t *tenure) {
	l.s.asked(w)
	w.end = nil
	l.s.granted(w)
	l.s.answered(w)
	l.mu.Lock()
	then := t.endLocked(Ending{Reason: EndUnlocked})
	l.mu.Unlock()
	then.run()
}

func hooked() (l *lock, w *waiter, t *tenure) {
	l = &lock{s: &Session{cfg: config{tracer: &Tracer{}}}}
	t = &tenure{l: l}
	return l, &waiter{call: context.Background(), ctx: context.Background(), ten: t}, t
}

// Without a tracer nothing is allocated for one.
func TestNoTracerAllocatesNothing(t *testing.T) {
	l, w, ten := hooked()
	if n := testing.AllocsPerRun(1000, func() {
		ten.begun, ten.started, ten.ended = false, false, Ending{}
		hooks(l, w, ten)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if w.news != nil {
		t.Error("somebody wants to know whom the call waits for")
	}
}

// And it takes no time that could be measured, of the microseconds of a
// hand-over: some nanoseconds of looking at nil.
func TestNoTracerTakesNoTime(t *testing.T) {
	const runs, limit = 10_000, 5 * time.Microsecond // the race detector's, and a busy machine's
	best := time.Hour
	for range 5 {
		l, w, ten := hooked()
		start := time.Now()
		for range runs {
			ten.begun, ten.started, ten.ended = false, false, Ending{}
			hooks(l, w, ten)
		}
		best = min(best, time.Since(start)/runs)
	}
	t.Logf("%v for all hooks of a lock and its unlock", best)
	if best > limit {
		t.Errorf("%v, want at most %v", best, limit)
	}
}
