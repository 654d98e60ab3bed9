package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// errLed is what a leader returns that resigns.
var errLed = errors.New("led")

// candidate is a call of Run.
type candidate struct {
	k   *worker
	o   op
	x   *want
	m   lock // the same path's, for the checker
	ctx context.Context
	at  int64 // when it began to stand, in the history

	// Of the last time that it led. Each is set by the goroutine of Run.
	led    *claim // nil: it has not led yet
	said   error  // what lead returned
	again  bool   // the leadership was lost or asked back by then
	ended  bool   // the context had ended by then
	left   time.Time
	behind []string // who stood in line then
}

// elect stands for an election until its ctx ends, or until it resigns.
func (k *worker) elect(o op, x want, m lock, ctx context.Context) {
	if o.ours {
		ctx = zksync.WithOwner(ctx, k.p.owner)
	}
	var opts []zksync.LockOption
	if o.held {
		opts = append(opts, zksync.WithCancelOnRevoke())
	}
	e := zksync.NewElection(k.p.s.Load(), x.seats[0].path, opts...)
	c := &candidate{k: k, o: o, x: &x, m: m, ctx: ctx, at: k.p.w.next()}
	k.call(o, &x, k.bg, func() error {
		err := e.Run(ctx, c.lead)
		c.onTime()
		if c.led == nil {
			return err
		}
		return c.judge(err)
	})
}

// lead is the function of a leader.
func (c *candidate) lead(ctx context.Context, h *zksync.Hold) (result error) {
	k, w := c.k, c.k.p.w
	w.mu.Lock()
	delete(w.waits, c.x)
	w.mu.Unlock()
	if c.led != nil {
		c.leadsAgain(h)
	}
	c.led = w.granted(k, *c.x, c.m, h, c.at, nil)
	w.mu.Lock()
	c.led.leads = true
	w.mu.Unlock()
	stop := c.led.watch()
	stopCheck := context.AfterFunc(h.Context(w.bg), func() {
		if errors.Is(h.Err(), zksync.ErrLost) {
			time.Sleep(time.Millisecond)
			if ctx.Err() == nil {
				w.wrong("elect: the context of %s goes on after a loss", k.name)
			}
		}
	})
	writes := k.reads(c.led)
	result = c.work(ctx, h)
	if !k.p.dead.Load() {
		writes()
	}
	lost := errors.Is(h.Err(), zksync.ErrLost)
	if lost {
		c.led.lost(h.Err())
	}
	stop()
	stopCheck()
	line := w.line(c.x.seats[0].path)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked(c.led)
	w.logLocked("%s leads no more: %v", k.name, result)
	c.said, c.left, c.again, c.ended = result, time.Now(), lost || revoked(h), c.ctx.Err() != nil
	c.behind = nil
	if c.again && !c.ended {
		w.waits[c.x] = true
		c.x.since, c.at = time.Now(), w.nextLocked()
		for _, n := range line {
			if n.node != h.Node() {
				c.behind = append(c.behind, n.node)
			}
		}
	}
	return result
}

// work is what a leader does until it has to go, or resigns.
func (c *candidate) work(ctx context.Context, h *zksync.Hold) error {
	var asked <-chan struct{}
	var resigns <-chan time.Time
	if !c.o.held {
		asked = h.Revoked()
	}
	if !c.o.again {
		resigns = time.After(c.o.work)
	}
	select {
	case <-ctx.Done():
		time.Sleep(c.o.late)
		return context.Cause(ctx)
	case <-asked:
		time.Sleep(c.o.late)
		return fmt.Errorf("asked back: %w", errLed)
	case <-c.ctx.Done(): // lead's context ends with it, or else Run is wrong
		time.Sleep(time.Millisecond)
		if ctx.Err() == nil {
			c.k.p.w.wrong("elect: the context of %s goes on after that of Run", c.k.name)
		}
		return c.ctx.Err()
	case <-resigns:
		if c.o.work%(40*time.Millisecond) == 0 {
			return nil
		}
		return errLed
	}
}

func revoked(h *zksync.Hold) bool {
	select {
	case <-h.Revoked():
		return true
	default:
		return false
	}
}

// gone reports whether the last leadership was lost or asked back, perhaps only after lead
// had returned.
func (c *candidate) gone() bool {
	return c.again || errors.Is(c.led.hold.Err(), zksync.ErrLost) || revoked(c.led.hold)
}

// leadsAgain looks at a leader that has led before: it may, and it has gone to the end of
// the line in between.
func (c *candidate) leadsAgain(h *zksync.Hold) {
	w, name := c.k.p.w, c.k.name
	switch {
	case !c.gone():
		w.wrong("elect: %s leads again, though it has resigned", name)
	case c.ended:
		w.wrong("elect: %s leads again, though its context had ended when it returned", name)
	case h.Node() == c.led.hold.Node():
		w.wrong("elect: %s leads again by the node that it had given up, %s", name, h.Node())
	}
	if i := slices.IndexFunc(c.behind, w.exists); i >= 0 {
		w.wrong("elect: %s leads again before %s, which stood in line", name, c.behind[i])
	}
}

// judge looks at what Run has returned after it had led. It returns an error that comes
// from standing again.
func (c *candidate) judge(err error) error {
	k, w, h := c.k, c.k.p.w, c.led.hold
	w.log("%s: run: %v", k.name, err)
	if k.p.dead.Load() || k.p.closing.Load() {
		return nil
	}
	lost := errors.Is(h.Err(), zksync.ErrLost)
	shows := errors.Is(err, zksync.ErrLost) // perhaps only as it was given up
	var e *zksync.Error
	switch {
	case errors.As(err, &e) && e.Op == "elect" && c.gone():
		return err
	case c.again && c.ctx.Err() == nil:
		w.wrong("elect: %s does not stand again after it was lost or asked back: %v", k.name, err)
	case lost && !shows:
		w.wrong("elect: %s resigns without the loss: %v", k.name, err)
	case c.said != nil && !errors.Is(err, c.said), !c.gone() && err != c.said && !shows:
		w.wrong("elect: %s returned %v, and Run %v", k.name, c.said, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !w.quietLocked() || lost:
	case shows && !w.forcedLocked(*c.x):
		w.wrongLocked("elect: %s is told of a loss, though nothing has happened to it: %v", k.name, err)
	case w.exists(h.Node()):
		w.wrongLocked("elect: %s has resigned, and %s stands", k.name, h.Node())
	}
	return nil
}

// onTime looks whether Run has returned in time.
func (c *candidate) onTime() {
	end, ok := c.ctx.Deadline()
	if !ok || c.k.p.closing.Load() {
		return
	}
	if then := c.left.Add(c.k.p.w.slowest() / 3); c.led != nil && then.After(end) { // it gives the leadership up
		end = then
	}
	if time.Now().After(end.Add(100 * time.Millisecond)) {
		c.k.p.w.wrong("deadline: Run of %s returned %v after it", c.k.name, time.Since(end))
	}
}

// askBack asks the present leader to resign. A leader does so soon.
func (k *worker) askBack(path string, ctx context.Context) {
	w, s := k.p.w, k.p.s.Load()
	n, err := zksync.NewElection(s, path).Leader(ctx)
	if err != nil {
		w.log("%s: leader: %v", k.name, err)
		if !errors.Is(err, zksync.ErrNoLeader) && !isCtx(err) && !k.p.closing.Load() {
			w.wrong("error: %s: leader: %v", k.name, err)
		}
		return
	}
	w.makers.Store(n.Node, n.Identity)
	err = s.Revoke(ctx, n.Node)
	w.log("%s: %s asked back: %v", k.name, n.Node, err)
	if err != nil {
		return
	}
	time.Sleep(mostLate + timeout/3 + 200*time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.active[path], func(c *claim) bool { return c.node() == n.Node && c.leads }); i >= 0 && w.quietLocked() {
		w.wrongLocked("elect: %s leads on, %v after it was asked back", w.active[path][i].who, mostLate+timeout/3+200*time.Millisecond)
	}
}
