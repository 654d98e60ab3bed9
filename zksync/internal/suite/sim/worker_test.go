package sim

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// worker is a goroutine of a process.
type worker struct {
	p      *process
	name   string
	owners int             // how many names it has had
	bg     context.Context // by which functions of a tracer know whom they run for
	hooked hookTimes       // of these
}

func newWorker(p *process, name string) *worker {
	k := &worker{p: p, name: name}
	k.bg = context.WithValue(p.w.bg, workerKey{}, k)
	return k
}

func (k *worker) run(ops []op) {
	for _, o := range ops {
		if k.p.dead.Load() {
			return
		}
		k.p.w.log("%s: %v", k.name, o)
		k.step(o)
	}
	k.p.w.log("%s has ended", k.name)
}

// allowed reports whether an error is one of those documented for the call.
func (k *worker) allowed(o op, err error) bool {
	w := k.p.w
	var e *zksync.Error
	if !errors.As(err, &e) && !(o.on == asPermit && isCtx(err)) { // as in x/sync
		return false
	}
	switch {
	case k.p.dead.Load():
		return true
	case errors.Is(err, zksync.ErrClosed):
		return k.p.closing.Load()
	case w.kind == "misuse" && clash(err):
		return true
	case errors.Is(err, zksync.ErrSequenceExhausted):
		w.mu.Lock()
		defer w.mu.Unlock()
		spent := w.spent[w.paths[o.path]]
		for _, x := range o.parts {
			spent = spent || w.spent[w.paths[x.path]]
		}
		return spent
	case errors.Is(err, zksync.ErrBusy), errors.Is(err, zk.ErrSessionExpired):
		return o.kind == "tryhold"
	case isCtx(err):
		return o.kind != "lock"
	}
	return errors.Is(err, zksync.ErrLost) && o.on != asPermit
}

func isCtx(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// call makes one call that wants a lock, and looks at how it ends.
func (k *worker) call(o op, x *want, ctx context.Context, f func() error) (stamp int64, ok bool) {
	w := k.p.w
	w.mu.Lock()
	w.waits[x] = true
	x.since, x.ctx = time.Now(), ctx
	stamp = w.nextLocked()
	w.mu.Unlock()
	hooked := k.hookSum()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				e, isErr := p.(error)
				if !isErr {
					w.wrong("panic: %s: %v", k.name, p)
					e = zksync.ErrLost
				}
				err = e
			}
		}()
		return f()
	}()
	w.mu.Lock()
	delete(w.waits, x)
	if err != nil {
		w.failed[x.owner] = time.Now()
	}
	for _, s := range x.seats {
		w.gaveUp[k.p.name+" "+s.path] = time.Now()
	}
	w.mu.Unlock()
	if err != nil && !errors.Is(err, errRefused) {
		w.log("%s: %s: %v", k.name, o.kind, err)
		if !k.allowed(o, err) {
			w.wrong("error: %s: %s: %v", k.name, o.kind, err)
		}
	}
	byTracer := w.kind == "hooked" && k.p.closing.Load() // which may have the call wait for its Close
	if end, has := ctx.Deadline(); has && !byTracer && time.Now().After(end.Add(100*time.Millisecond+k.hookSum()-hooked)) {
		w.wrong("deadline: %s: %s returned %v after it", k.name, o.kind, time.Since(end))
	}
	return stamp, err == nil
}

var errRefused = errors.New("refused")

func (k *worker) step(o op) {
	w := k.p.w
	if o.kind == "sleep" {
		time.Sleep(o.work)
		return
	}
	x, m, all := k.target(o)
	ctx, cancel := context.WithTimeout(k.bg, o.wait)
	defer cancel()
	if o.cut {
		path := x.seats[0].path
		w.mu.Lock()
		w.cuts[path] = append(w.cuts[path], cancel)
		w.mu.Unlock()
	}
	switch o.kind {
	case "done":
		cancel()
		if _, ok := k.call(o, &x, k.bg, func() error { return m.LockContext(ctx) }); ok {
			w.wrong("done: %s got %s with a context that had ended", k.name, o.lock())
			k.giveBack(m, k.bg)
		}
	case "lock":
		if at, ok := k.call(o, &x, k.bg, func() error { m.Lock(); return nil }); ok {
			k.plain(o, w.granted(k, x, m, nil, at, nil))
		}
	case "lockctx":
		if c := k.take(o, x, m, ctx, false, nil); c != nil {
			k.plain(o, c)
		}
	case "trylock":
		short, cancel := context.WithTimeout(k.bg, w.slowest()/3)
		defer cancel()
		at, ok := k.call(o, &x, short, func() error {
			if !m.TryLock() {
				return errRefused
			}
			return nil
		})
		if ok {
			k.plain(o, w.granted(k, x, m, nil, at, nil))
		}
	case "hold", "tryhold":
		if c := k.take(o, x, m, ctx, true, nil); c != nil {
			k.hold(o, c)
		}
	case "do":
		k.do(o, x, m, ctx)
	case "as":
		k.as(o, x, all.As(zksync.NewOwner(k.name)), ctx)
	case "parts":
		k.parts(o, x, m.(permits), ctx)
	case "downgrade":
		k.downgrade(o, x.seats[0].path, ctx)
	case "upgrade":
		k.upgrade(o, x.seats[0].path, ctx)
	default:
		k.newer(o, x, m, ctx)
	}
}

// take gets a lock, with or without a handle, perhaps beside another; nil: it
// didn't.
func (k *worker) take(o op, x want, m lock, ctx context.Context, handle bool, beside *claim) *claim {
	var h *zksync.Hold
	at, ok := k.call(o, &x, ctx, func() (err error) {
		switch {
		case handle && o.kind == "tryhold":
			h, err = m.TryHold(ctx)
		case handle:
			h, err = m.Hold(ctx)
		default:
			err = m.LockContext(ctx)
		}
		return err
	})
	if !ok {
		return nil
	}
	return k.p.w.granted(k, x, m, h, at, beside)
}

// plain is what is done under a lock without a handle.
func (k *worker) plain(o op, c *claim) {
	time.Sleep(o.work)
	k.unlock(c)
}

func (k *worker) unlock(c *claim) {
	w := k.p.w
	stood := c.stands()
	w.mu.Lock()
	w.endLocked(c)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(k.bg, timeout/3)
	defer cancel()
	before := k.p.s.Load().Stats().Disconnects
	err := k.giveBack(c.m, ctx)
	w.cutOne(c)
	c.released(stood, err, before)
}

// cutOne cancels a call in the very moment in which it may be getting the lock.
func (w *world) cutOne(c *claim) {
	w.mu.Lock()
	path := c.path()
	var cut context.CancelFunc
	if all := w.cuts[path]; len(all) > 0 {
		cut, w.cuts[path] = all[0], all[1:]
	}
	w.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// giveBack is UnlockContext, whose panics are broken promises.
func (k *worker) giveBack(m lock, ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil && !k.p.dead.Load() {
			k.p.w.wrong("panic: %s: unlock: %v", k.name, p)
		}
	}()
	err = m.UnlockContext(ctx)
	k.checkRelease(err)
	return err
}

func (k *worker) checkRelease(err error) {
	if err != nil && !errors.Is(err, zksync.ErrLost) && !errors.Is(err, context.DeadlineExceeded) &&
		!(errors.Is(err, zksync.ErrClosed) && k.p.closing.Load()) {
		k.p.w.wrong("error: %s: giving back: %v", k.name, err)
	}
}

// watch notes the loss of a Hold when its context ends.
func (c *claim) watch() (stop func() bool) {
	ctx := c.hold.Context(c.w.bg)
	return context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			c.lost(cause)
		}
	})
}

// use works under a Hold: it reads from the store that the lock guards, and if
// it holds it alone, writes back.
func (k *worker) use(o op, c *claim) {
	writes := k.reads(c)
	time.Sleep(o.work)
	if !k.p.dead.Load() {
		writes()
	}
}

// reads is the first half of use. What it returns writes back.
func (k *worker) reads(c *claim) (writes func()) {
	w := k.p.w
	writes = func() {}
	for _, s := range c.seats {
		if s.mode == asPermit {
			continue
		}
		st := w.stores[s.path]
		v, ok := st.read(k, c.hold.Fence())
		if then := writes; ok && alone(s.mode) {
			writes = func() { then(); st.write(k, c.hold.Fence(), v+1) }
		}
	}
	return writes
}

func (k *worker) hold(o op, c *claim) {
	stop := c.watch()
	k.use(o, c)
	k.free(c, stop)
}

// free ends a Hold.
func (k *worker) free(c *claim, stop func() bool) {
	w := k.p.w
	// Its own end is no loss.
	stood := c.stands()
	if err := c.hold.Err(); err != nil {
		c.lost(err)
	}
	stop()
	w.mu.Lock()
	w.endLocked(c)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(k.bg, timeout/3)
	defer cancel()
	before := k.p.s.Load().Stats().Disconnects
	err := c.hold.Release(ctx)
	w.cutOne(c)
	k.checkRelease(err)
	c.released(stood, err, before)
}
