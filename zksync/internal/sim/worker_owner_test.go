package sim

import (
	"context"
	"errors"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// do works under Do, and enters again in it.
func (k *worker) do(o op, m zksync.Locker, ctx context.Context) {
	w := k.p.w
	entered := false
	var c *claim
	var work error
	stop := func() bool { return true }
	at := w.next()
	k.call(o, w.bg, func() error {
		w.mu.Lock()
		path := w.paths[o.path]
		w.mu.Unlock()
		err := m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			entered = true
			w.mu.Lock()
			w.waits[path]--
			w.mu.Unlock()
			c = w.granted(k, path, h, at)
			stop = c.watch()
			k.use(o, c)
			if o.again {
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
			w.mu.Lock()
			w.waits[path]++
			w.mu.Unlock()
			k.checkRelease(work)
			k.checkRelease(err)
			w.log("%s: do: %v", k.name, err)
			return nil
		}
		return err
	})
}

// as enters a lock twice for an owner.
func (k *worker) as(o op, m zksync.Locker, ctx context.Context) {
	w := k.p.w
	at, ok := k.call(o, ctx, func() error { return m.LockContext(ctx) })
	if !ok {
		return
	}
	c := w.granted(k, w.paths[o.path], nil, at)
	time.Sleep(o.work)
	if o.again {
		done, end := context.WithCancel(w.bg)
		end()
		if m.LockContext(done) == nil {
			w.wrong("done: %s entered %s again with a context that had ended", k.name, c.path)
			k.giveBack(m, w.bg)
		}
		ctx, cancel := context.WithTimeout(w.bg, timeout)
		defer cancel()
		err := m.LockContext(ctx)
		if err == nil {
			c.entered()
			k.giveBack(m, ctx)
		} else if !k.allowed(o, err) {
			w.wrong("error: %s: entering again: %v", k.name, err)
		}
	}
	k.unlock(m, c)
}
