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
	p    *process
	name string
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

// allowed tells whether an error is one of those documented for the call.
func (k *worker) allowed(o op, err error) bool {
	var e *zksync.Error
	if !errors.As(err, &e) {
		return false
	}
	w := k.p.w
	switch {
	case k.p.dead.Load():
		return true
	case errors.Is(err, zksync.ErrClosed):
		return k.p.closing.Load()
	case errors.Is(err, zksync.ErrSequenceExhausted):
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.spent[w.paths[o.path]]
	case errors.Is(err, zksync.ErrBusy), errors.Is(err, zk.ErrSessionExpired):
		return o.kind == "tryhold"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return o.kind != "lock"
	}
	return errors.Is(err, zksync.ErrLost)
}

// call makes one call that wants a lock, and looks at how it ends.
func (k *worker) call(o op, ctx context.Context, f func() error) (stamp int64, ok bool) {
	w, path := k.p.w, k.p.w.paths[o.path]
	w.mu.Lock()
	w.waits[path]++
	stamp = w.nextLocked()
	w.mu.Unlock()
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
	w.waits[path]--
	w.mu.Unlock()
	if err != nil && !errors.Is(err, errRefused) {
		w.log("%s: %s: %v", k.name, o.kind, err)
		if !k.allowed(o, err) {
			w.wrong("error: %s: %s: %v", k.name, o.kind, err)
		}
	}
	if end, has := ctx.Deadline(); has && time.Now().After(end.Add(100*time.Millisecond)) {
		w.wrong("deadline: %s: %s returned %v after it", k.name, o.kind, time.Since(end))
	}
	return stamp, err == nil
}

var errRefused = errors.New("refused")

func (k *worker) step(o op) {
	w := k.p.w
	s := k.p.s.Load()
	path := w.paths[o.path]
	m := zksync.NewMutex(s, path)
	ctx, cancel := context.WithTimeout(w.bg, o.wait)
	defer cancel()
	if o.cut {
		w.mu.Lock()
		w.cuts[path] = append(w.cuts[path], cancel)
		w.mu.Unlock()
	}
	switch o.kind {
	case "sleep":
		time.Sleep(o.work)
	case "done":
		cancel()
		if _, ok := k.call(o, w.bg, func() error { return m.LockContext(ctx) }); ok {
			w.wrong("done: %s got %s with a context that had ended", k.name, path)
			m.Unlock()
		}
	case "lock":
		if at, ok := k.call(o, w.bg, func() error { m.Lock(); return nil }); ok {
			k.plain(o, m, w.granted(k, path, nil, at))
		}
	case "lockctx":
		if at, ok := k.call(o, ctx, func() error { return m.LockContext(ctx) }); ok {
			k.plain(o, m, w.granted(k, path, nil, at))
		}
	case "trylock":
		short, cancel := context.WithTimeout(w.bg, timeout/3)
		defer cancel()
		at, ok := k.call(o, short, func() error {
			if !m.TryLock() {
				return errRefused
			}
			return nil
		})
		if ok {
			k.plain(o, m, w.granted(k, path, nil, at))
		}
	case "hold", "tryhold":
		get := m.Hold
		if o.kind == "tryhold" {
			get = m.TryHold
		}
		var h *zksync.Hold
		if at, ok := k.call(o, ctx, func() (err error) { h, err = get(ctx); return err }); ok {
			k.hold(o, w.granted(k, path, h, at))
		}
	case "do":
		k.do(o, m, ctx)
	case "as":
		k.as(o, m.As(zksync.NewOwner(k.name)), ctx)
	}
}

// plain is what is done under a lock without a handle.
func (k *worker) plain(o op, m zksync.Locker, c *claim) {
	time.Sleep(o.work)
	k.unlock(m, c)
}

func (k *worker) unlock(m zksync.Locker, c *claim) {
	w := k.p.w
	stood := w.exists(c.node)
	w.mu.Lock()
	w.endLocked(c)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.bg, timeout/3)
	defer cancel()
	before := k.p.s.Load().Stats().Disconnects
	err := k.giveBack(m, ctx)
	w.cutOne(c.path)
	c.released(stood, err, before)
}

// cutOne cancels a call in the very moment in which it may be getting the lock.
func (w *world) cutOne(path string) {
	w.mu.Lock()
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
func (k *worker) giveBack(m zksync.Locker, ctx context.Context) (err error) {
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

// watch notes the loss of a Hold when it is told.
func (c *claim) watch() (stop func() bool) {
	ctx := c.hold.Context(c.w.bg)
	return context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			c.lost(cause)
		}
	})
}

// use works under a Hold: it reads from the store that the lock guards, and
// writes back.
func (k *worker) use(o op, c *claim) {
	st := k.p.w.stores[c.path]
	v, ok := st.read(k, c.hold.Fence())
	time.Sleep(o.work)
	if ok && !k.p.dead.Load() {
		st.write(k, c.hold.Fence(), v+1)
	}
}

func (k *worker) hold(o op, c *claim) {
	w := k.p.w
	stop := c.watch()
	k.use(o, c)
	// Its own end is no loss.
	stood := w.exists(c.node)
	if err := c.hold.Err(); err != nil {
		c.lost(err)
	}
	stop()
	w.mu.Lock()
	w.endLocked(c)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.bg, timeout/3)
	defer cancel()
	before := k.p.s.Load().Stats().Disconnects
	err := c.hold.Release(ctx)
	w.cutOne(c.path)
	k.checkRelease(err)
	c.released(stood, err, before)
}
