package zksync

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// holding is the state of a holding for the tracer.
type holding struct {
	mu      sync.Mutex
	ctx     context.Context // guarded by mu; the result of HoldStart
	begun   bool            // guarded by mu; a call runs HoldStart or has run it
	started bool            // guarded by mu; HoldStart has run
	ended   HoldEndInfo     // guarded by mu; with a reason once it has ended
}

// startHold runs HoldStart once for each holding, in the goroutine of the first call of
// the holding that comes here.
func (c *call) startHold(ctx context.Context) {
	tr := c.s.cfg.tracer
	if tr.HoldStart == nil && tr.HoldEnd == nil {
		return
	}
	h := &c.holding
	h.mu.Lock()
	begun := h.begun
	h.begun = true
	h.mu.Unlock()
	if begun {
		return
	}
	if f := tr.HoldStart; f != nil {
		ctx = f(ctx, c.acq)
	}
	h.mu.Lock()
	h.ctx, h.started = ctx, true
	ended := h.ended.Reason != ""
	h.mu.Unlock()
	if ended && tr.HoldEnd != nil {
		c.s.events.push(c.endHold)
	}
}

// endHold runs HoldEnd.
func (c *call) endHold() {
	h := &c.holding
	h.mu.Lock()
	ctx, e := h.ctx, h.ended
	h.mu.Unlock()
	defer c.s.caught()
	c.s.cfg.tracer.HoldEnd(ctx, c.acq, e)
}

// Ended records how the holding has ended. If HoldStart has run, it returns a function
// that runs HoldEnd; otherwise startHold runs HoldEnd after HoldStart. Close waits for
// that.
func (c *call) Ended(why error, revoked bool, held time.Duration) func() {
	s := c.s
	if s.cfg.tracer.HoldEnd == nil {
		return nil
	}
	e := HoldEndInfo{Reason: EndUnlocked, Err: why, Held: held}
	switch {
	case why != nil:
		e.Reason = endReason(why)
	case revoked:
		e.Reason = EndRevoked
	}
	h := &c.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended.Reason != "" {
		return nil
	}
	h.ended = e
	if !h.started {
		return nil
	}
	s.events.begin()
	return func() {
		defer s.events.end()
		c.endHold()
	}
}

// heldContext returns the context from HoldStart, or the one from AcquireStart until
// HoldStart has run: a call that shares the holding may release while HoldStart runs.
func (c *call) heldContext() context.Context {
	c.holding.mu.Lock()
	defer c.holding.mu.Unlock()
	return cmp.Or(c.holding.ctx, c.ctx)
}

// Releasing runs ReleaseStart, and returns a function that runs ReleaseEnd after the
// deletion of the holding's node.
func (c *call) Releasing() func(error) {
	tr, s := c.s.cfg.tracer, c.s
	ctx := c.heldContext()
	if tr.ReleaseStart != nil {
		ctx = tr.ReleaseStart(ctx, c.acq)
	}
	if tr.ReleaseEnd == nil {
		return nil
	}
	start := time.Now()
	return func(err error) {
		err = s.verdict(err)
		r := ReleaseEndInfo{Err: err, Confirmed: err == nil || errors.Is(err, ErrLost), Took: time.Since(start)}
		s.hook(func() { tr.ReleaseEnd(ctx, c.acq, r) })
	}
}
