package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// clash reports whether a call failed because a lock's path is used as a
// semaphore's, or the other way round.
func clash(err error) bool {
	var e *zksync.Error
	return errors.As(err, &e) && strings.Contains(err.Error(), "a path is a semaphore's or a lock's")
}

// odd adds a path that reads like two, and has Multis use it.
func (p *plan) odd(r *rand.Rand) {
	a, b := p.paths[0], p.paths[1]
	mode := pick(r, "exclusive", "exclusive", "write", "read")
	p.paths = append(p.paths, fmt.Sprintf("%s, %s %s", a, mode, b), a+","+b, a+" "+b)
	p.limits = append(p.limits, 0, 0, 0)
	first := len(p.paths) - 3
	p.each(func(_ int, l *life) {
		for _, ops := range l.programs {
			for i := range ops {
				o := &ops[i]
				if o.on != "multi" {
					continue
				}
				if p.story == "" && r.IntN(2) == 0 {
					o.parts = [][]part{
						{{first, asMutex}}, {{0, asMutex}, {1, map[string]string{"exclusive": asMutex, "write": asWriter, "read": asReader}[mode]}},
						{{first + 1, asMutex}, {first + 2, asMutex}},
					}[r.IntN(3)]
				}
			}
		}
	})
}

// misuse makes an op one that meets a path of another kind.
func (p *plan) misuse(r *rand.Rand, o *op) {
	n := op{kind: pick(r, "zero", "wrong", "wrong", "reenter", "reenter", "revoke"), path: o.path, wait: o.wait,
		work: time.Duration(r.IntN(8)) * 20 * time.Millisecond, again: o.again, held: o.held, weight: 1 + r.Int64N(3)}
	lock := p.limits[n.path] == 0
	switch {
	case !lock && n.kind != "wrong":
		n.kind = "wrong"
	case n.kind == "zero" || n.kind == "wrong" && lock:
		n.on = asPermit
	case n.kind == "wrong":
		n.on = pick(r, asMutex, asWriter, asReader)
	default:
		n.on = asMutex
	}
	*o = n
}

// heldLocked are the claims of the process on a path that stand.
func (w *world) heldLocked(p *process, path string) (held []*claim) {
	for _, c := range w.active[path] {
		if c.p == p && len(c.seats) == 1 && !c.void && !c.maybe && c.stands() {
			held = append(held, c)
		}
	}
	return held
}

// wrong uses a lock's path as a semaphore's, or the other way round. That fails
// while somebody here uses it as what it is.
func (k *worker) wrong(o op, path string, ctx context.Context) {
	w := k.p.w
	w.mu.Lock()
	before := w.heldLocked(k.p, path)
	w.mu.Unlock()
	free := func() {}
	x := want{p: k.p} // it waits for no path: nothing has to come of it
	_, ok := k.call(o, &x, ctx, func() error {
		s := k.p.s.Load()
		if o.on != asPermit {
			m := k.locker(path, o.on)
			free = func() { k.giveBack(m, k.bg) }
			return m.LockContext(ctx)
		}
		sem := zksync.NewSemaphore(s, path, 3)
		switch {
		case o.kind == "zero":
			return sem.Acquire(ctx, 0)
		case o.held:
			h, err := sem.Hold(ctx, o.weight)
			free = func() { _ = h.Release(k.bg) }
			return err
		}
		free = func() { sem.Release(o.weight) }
		return sem.Acquire(ctx, o.weight)
	})
	w.mu.Lock()
	after := w.heldLocked(k.p, path)
	both := slices.ContainsFunc(before, func(c *claim) bool { return slices.Contains(after, c) })
	w.mu.Unlock()
	if !ok {
		return
	}
	if both {
		w.wrong("kind: %s used %s as %s while its process held it as another", k.name, path, o.on)
	}
	time.Sleep(o.work)
	free()
}

// reenter enters a plain lock again after an operator has deleted its node, with
// the first handle on it.
func (k *worker) reenter(o op, path string, ctx context.Context) {
	w := k.p.w
	m := k.locker(path, asMutex).As(zksync.NewOwner(k.name))
	c := k.take(o, want{p: k.p, seats: []seat{{path: path, mode: asMutex}}}, m, ctx, false, nil)
	if c == nil {
		return
	}
	time.Sleep(o.work)
	node := c.node()
	if node != "" {
		w.breakNode(path, node)
	}
	if !o.held {
		time.Sleep(time.Duration(1+len(k.name)%3) * 300 * time.Millisecond)
	}
	gone := node != "" && !w.exists(node)
	judge := func(h *zksync.Hold) {
		if gone && h.Node() == node {
			w.wrong("reentry: %s opened a Hold of %s, whose node was gone before the call", k.name, path)
		}
		k.checkRelease(h.Release(k.bg))
	}
	ctx, cancel := context.WithTimeout(k.bg, timeout)
	defer cancel()
	var err error
	if o.again {
		ran := false
		err = m.Do(ctx, func(_ context.Context, h *zksync.Hold) error { ran = true; judge(h); return nil })
		if ran {
			k.checkRelease(err)
			err = nil
		}
	} else {
		var h *zksync.Hold
		if h, err = m.Hold(ctx); err == nil {
			judge(h)
		}
	}
	if err != nil && !k.allowed(o, err) {
		w.wrong("error: %s: entering again: %v", k.name, err)
	}
	k.unlock(c)
}

// breakNode deletes a lock's node by hand.
func (w *world) breakNode(path, node string) {
	w.take(path)
	w.mu.Lock()
	w.broken[node] = time.Now()
	w.mu.Unlock()
	_ = w.admin.Conn().Delete(node, -1)
	w.take(path)
	w.log("%s deleted by hand", node)
}

// revoke holds a lock that is asked back: its holder hears of it, and so does who
// enters after that.
func (k *worker) revoke(o op, path string, ctx context.Context) {
	w := k.p.w
	m := zksync.NewMutex(k.p.s.Load(), path, zksync.WithCancelOnRevoke()).As(zksync.NewOwner(k.name))
	x := want{p: k.p, seats: []seat{{path: path, mode: asMutex}}}
	at := w.next()
	entered := false
	_, _ = k.call(o, &x, k.bg, func() error {
		err := m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
			entered = true
			w.mu.Lock()
			delete(w.waits, &x)
			w.mu.Unlock()
			c := w.granted(k, x, m, h, at, nil)
			stop := c.watch()
			time.Sleep(o.work)
			w.makers.Store(h.Node(), k.p.name)
			asked := time.Now()
			err := w.admin.Revoke(k.bg, h.Node())
			w.log("%s: asked back: %v", k.name, err)
			if err == nil {
				k.heard(h, ctx, asked, "its holder")
				k.late(m, h, asked)
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
			k.checkRelease(err)
			return nil
		}
		return err
	})
}

// late enters what has been asked back.
func (k *worker) late(m zksync.Locker, h *zksync.Hold, asked time.Time) {
	ctx, cancel := context.WithTimeout(k.bg, timeout)
	defer cancel()
	if again, err := m.Hold(ctx); err == nil {
		k.heard(again, nil, asked, "who entered after that")
		k.checkRelease(again.Release(ctx))
	}
	_ = m.Do(ctx, func(ctx context.Context, again *zksync.Hold) error {
		k.heard(again, ctx, asked, "a Do that entered after that")
		return nil
	})
}

// heard looks whether a holder hears that its lock is asked back.
func (k *worker) heard(h *zksync.Hold, ctx context.Context, asked time.Time, who string) {
	w := k.p.w
	select {
	case <-h.Revoked():
	case <-time.After(timeout / 3):
	}
	if ctx != nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.quietLocked() || h.Err() != nil || k.p.closing.Load() {
		return
	}
	select {
	case <-h.Revoked():
	default:
		w.wrongLocked("revoked: %s is not told, %v after %s was asked back", who, time.Since(asked), h.Node())
	}
	if ctx == nil {
		return
	}
	if cause := context.Cause(ctx); !errors.Is(cause, zksync.ErrRevoked) && !errors.Is(cause, context.DeadlineExceeded) {
		w.wrongLocked("revoked: the context of %s has the cause %v", who, cause)
	}
}
