package sim

import (
	"context"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// deadlocks looks for cycles. What is said to be one for certain is one, and what
// is one is found.
func (k *worker) deadlocks(o op) {
	w := k.p.w
	for end := time.Now().Add(o.work); time.Now().Before(end) && !k.p.dead.Load(); time.Sleep(50 * time.Millisecond) {
		w.mu.Lock()
		cycle := w.cycleLocked()
		w.mu.Unlock()
		// InspectTree looks twice, a second apart: in between is what it has seen
		// in both.
		between := make(chan relations, 1)
		time.AfterFunc(600*time.Millisecond, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			between <- w.relationsLocked()
		})
		ctx, cancel := context.WithTimeout(w.bg, 2*timeout)
		t, err := k.p.s.Load().InspectTree(ctx, inspectedRoot)
		cancel()
		seen := <-between
		w.mu.Lock()
		switch {
		case !w.quietLocked() || k.p.closing.Load():
		case err != nil:
			w.wrongLocked("error: %s: inspect: %v", k.name, err)
		default:
			for _, c := range t.Cycles {
				for _, x := range c.Waits {
					if c.Certain && !seen.hold(x) {
						w.wrongLocked("cycle: %s is told that %s waits for %s at %s, for certain, and it does not: %v", k.name, x.OwnerName, x.ForName, x.Path, c.Waits)
					}
				}
			}
			w.checkFoundLocked(k.name, cycle, t.Cycles)
		}
		w.mu.Unlock()
	}
}

// relation is what an owner has to do with a path.
type relation struct{ owner, path string }

// relations are who waits and who holds at one time.
type relations struct{ waits, holds map[relation]bool }

func (w *world) relationsLocked() relations {
	r := relations{make(map[relation]bool), make(map[relation]bool)}
	for x := range w.waits {
		for _, s := range x.seats {
			r.waits[relation{x.owner, s.path}] = true
		}
	}
	for path, all := range w.active {
		for _, c := range all {
			r.holds[relation{c.owner, path}] = true
		}
	}
	return r
}

// hold reports whether an owner waits for another: that one holds the lock, or
// waits for it too.
func (r relations) hold(x zksync.Wait) bool {
	ahead := relation{x.ForName, x.Path}
	return r.waits[relation{x.OwnerName, x.Path}] && (r.holds[ahead] || r.waits[ahead])
}

// waiting is an owner that waits for a lock which another has.
type waiting struct {
	x     *want
	holds *claim
}

// waitingLocked is who waits for whom, as far as the nodes show it: the
// first of a process that waits, for another process's lock, for some time.
func (w *world) waitingLocked() map[string]waiting {
	known := make(map[string]waiting)
	long := time.Now().Add(-2 * w.lateLocked())
	for x := range w.waits {
		if x.owner == "" || len(x.seats) != 1 || !alone(x.seats[0].mode) || x.since.After(long) || x.p.closing.Load() ||
			x.ctx.Err() != nil { // its node may be gone before it returns
			continue
		}
		dir := x.seats[0].path
		c := w.holderLocked(dir)
		if c == nil || c.owner == "" || c.p == x.p || c.spell.from.After(long) || c.p.closing.Load() {
			continue
		}
		sole := true
		for y := range w.waits {
			if _, on := y.on(dir); on && y != x && y.p == x.p {
				sole = false
			}
		}
		// Of one that gave up meanwhile its node may still have the name.
		if sole && w.gaveUp[x.p.name+" "+dir].Before(long) {
			known[x.owner] = waiting{x, c}
		}
	}
	return known
}

// cycleLocked is a cycle of owners that wait for each other, by their names.
func (w *world) cycleLocked() map[string]waiting {
	known := w.waitingLocked()
	for owner := range known {
		cycle := make(map[string]waiting)
		for at := owner; cycle[at].x == nil; at = cycle[at].holds.owner {
			x, ok := known[at]
			if !ok {
				cycle = nil
				break
			}
			cycle[at] = x
		}
		if cycle != nil {
			return cycle // and who leads to it
		}
	}
	return nil
}

// checkFoundLocked looks whether a cycle that was there before a look, and is
// still, is among those that it found.
func (w *world) checkFoundLocked(who string, cycle map[string]waiting, found []zksync.Cycle) {
	if len(cycle) == 0 {
		return
	}
	var names []string
	known := w.waitingLocked()
	for owner, x := range cycle {
		// Another call of its process may have come to its line meanwhile, or left it.
		if _, still := known[owner]; !still || !w.waits[x.x] || x.holds.over {
			return
		}
		names = append(names, owner)
	}
	for _, c := range found {
		for _, x := range c.Waits {
			if _, ok := cycle[x.OwnerName]; ok && c.Certain {
				return
			}
		}
	}
	w.wrongLocked("cycle: %s is not told that these wait for each other: %s", who, strings.Join(names, ", "))
}
