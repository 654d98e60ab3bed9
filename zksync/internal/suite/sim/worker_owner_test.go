package sim

import (
	"context"
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// do works under Do, and enters again in it, for an owner.
func (k *worker) do(o op, x want, m lock, ctx context.Context) {
	w := k.p.w
	entered := false
	var c *claim
	var work error
	stop := func() bool { return true }
	at := w.next()
	if o.again {
		ctx = zksync.WithOwner(ctx, zksync.NewOwner(""))
	}
	k.call(o, &x, k.bg, func() error {
		err := m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			entered = true
			w.mu.Lock()
			delete(w.waits, &x)
			w.mu.Unlock()
			c = w.granted(k, x, m, h, at, nil)
			stop = c.watch()
			k.use(o, c)
			if o.again {
				k.nobody(o, m, ctx)
				work = m.LockContext(ctx)
				switch {
				case work == nil:
					c.entered()
					work = k.giveBack(m, context.WithoutCancel(ctx))
				case o.cut && errors.Is(work, context.Canceled):
					work = nil // too late to keep the call from getting the lock
				}
			}
			if err := h.Err(); err != nil {
				c.lost(err)
			}
			stop()
			w.mu.Lock()
			w.endLocked(c)
			w.mu.Unlock()
			return nil
		})
		if entered {
			k.checkRelease(work)
			k.checkRelease(err)
			w.log("%s: do: %v", k.name, err)
			return nil
		}
		return err
	})
}

// nobody asks for the lock of a Do that runs, with its context and for no owner.
func (k *worker) nobody(o op, m lock, ctx context.Context) {
	if o.named {
		return // the lock is its owner's
	}
	w := k.p.w
	ctx = zksync.WithOwner(ctx, zksync.Owner{})
	start, hooked := time.Now(), k.hookSum()
	err := m.LockContext(ctx)
	switch {
	case err == nil:
		w.wrong("do: %s entered the lock of a Do with its context alone", k.name)
		k.giveBack(m, context.WithoutCancel(ctx))
	case k.p.closing.Load(), k.p.dead.Load():
	case !errors.Is(err, zksync.ErrDeadlock) && !errors.Is(err, zksync.ErrLost) && !isCtx(err), time.Since(start) > k.hookSum()-hooked:
		w.wrong("do: %s was told after %v: %v", k.name, time.Since(start), err)
	}
}

// as enters a lock twice for an owner. Another goroutine may ask with it for the same
// owner.
func (k *worker) as(o op, x want, m zksync.Locker, ctx context.Context) {
	w := k.p.w
	joined := func(*claim) {}
	if o.held {
		joined = k.together(o, m, ctx)
	}
	c := k.take(o, x, m, ctx, false, nil)
	joined(c)
	if c == nil {
		return
	}
	time.Sleep(o.work)
	if o.again {
		done, end := context.WithCancel(k.bg)
		end()
		if m.LockContext(done) == nil {
			w.wrong("done: %s entered %s again with a context that had ended", k.name, c.name())
			k.giveBack(m, k.bg)
		}
		ctx, cancel := context.WithTimeout(k.bg, timeout)
		defer cancel()
		err := m.LockContext(ctx)
		if err == nil {
			c.entered()
			k.giveBack(m, ctx)
		} else if !k.allowed(o, err) {
			w.wrong("error: %s: entering again: %v", k.name, err)
		}
	}
	k.unlock(c)
}

// together asks for a lock in another goroutine. What it returns looks whether that got
// the lock together with a claim of the same owner.
func (k *worker) together(o op, m zksync.Locker, ctx context.Context) func(*claim) {
	w := k.p.w
	done := make(chan error, 1)
	go func() {
		err := func() (err error) {
			if !o.again {
				return m.LockContext(ctx)
			}
			h, err := m.Hold(ctx)
			if err == nil {
				k.checkRelease(h.Release(k.bg))
			}
			return err
		}()
		if err == nil && !o.again {
			k.giveBack(m, k.bg)
		}
		if err != nil && !k.allowed(o, err) {
			w.wrong("error: %s: together: %v", k.name, err)
		}
		done <- err
	}()
	return func(c *claim) {
		if c == nil {
			<-done
			return
		}
		start, hooked := time.Now(), k.hookSum()
		<-done
		took := time.Since(start) - (k.hookSum() - hooked)
		stands := c.stands()
		w.mu.Lock()
		defer w.mu.Unlock()
		if stands && w.quietLocked() && took > timeout/6 && !k.p.closing.Load() && !k.p.dead.Load() {
			w.wrongLocked("owner: a call of %s took %v, while its owner had %s", k.name, took, c.name())
		}
	}
}

// downgrade writes, goes on to read, and stops writing.
func (k *worker) downgrade(o op, path string, ctx context.Context) {
	owner := zksync.NewOwner(k.name)
	rw := zksync.NewRWMutex(k.p.s.Load(), path)
	get := func(mode string, m lock, ctx context.Context, beside *claim) (c *claim, end func()) {
		c = k.take(o, want{p: k.p, seats: []seat{{path: path, mode: mode}}}, m, ctx, o.held, beside)
		switch {
		case c == nil:
			return nil, nil
		case o.held:
			stop := c.watch()
			return c, func() { k.free(c, stop) }
		}
		return c, func() { k.unlock(c) }
	}
	c, first := get(asWriter, rw.As(owner), ctx, nil)
	if c == nil {
		return
	}
	time.Sleep(o.work / 2)
	ctx, cancel := context.WithTimeout(k.bg, timeout)
	defer cancel()
	_, second := get(asReader, rw.RLocker().As(owner), ctx, c)
	if second == nil {
		first()
		return
	}
	if o.again {
		first, second = second, first
	}
	first()
	time.Sleep(o.work / 2)
	second()
}

// upgrade reads, and asks to write.
func (k *worker) upgrade(o op, path string, ctx context.Context) {
	w := k.p.w
	owner := zksync.NewOwner(k.name)
	rw := zksync.NewRWMutex(k.p.s.Load(), path)
	c := k.take(o, want{p: k.p, seats: []seat{{path: path, mode: asReader}}}, rw.RLocker().As(owner), ctx, false, nil)
	if c == nil {
		return
	}
	time.Sleep(o.work)
	ctx, cancel := context.WithTimeout(k.bg, timeout)
	defer cancel()
	var m zksync.Locker = rw
	if o.held {
		m = k.locker(path, asMutex)
	}
	start, hooked := time.Now(), k.hookSum()
	err := m.As(owner).LockContext(ctx)
	switch {
	case err == nil:
		w.wrong("upgrade: %s got %s, which it reads", k.name, path)
		k.giveBack(m.As(owner), ctx)
	case errors.Is(err, zksync.ErrClosed) && k.p.closing.Load():
	case !errors.Is(err, zksync.ErrDeadlock), time.Since(start) > k.hookSum()-hooked && !k.p.closing.Load(): // by a hook of this call, perhaps
		w.wrong("upgrade: %s was told after %v: %v", k.name, time.Since(start), err)
	}
	k.unlock(c)
}

// parts takes permits, and gives them back bit by bit.
func (k *worker) parts(o op, x want, m permits, ctx context.Context) {
	w := k.p.w
	c := k.take(o, x, m, ctx, false, nil)
	if c == nil {
		return
	}
	for c.weight > 1 {
		time.Sleep(o.work / 2)
		w.mu.Lock()
		if n := c.weight / 2; !c.over {
			if !c.void {
				w.recordLocked(c, n)
			}
			c.weight -= n
			m.n = n
		}
		w.mu.Unlock()
		if k.p.dead.Load() {
			break
		}
		k.giveBack(m, k.bg)
		w.cutOne(c)
	}
	m.n = c.weight
	c.m = m
	time.Sleep(o.work / 2)
	k.unlock(c)
}
