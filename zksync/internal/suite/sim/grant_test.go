package sim

import (
	"slices"
	"strings"
)

// limit is the largest that the semaphore at a path has anywhere.
func (w *world) limit(path string) int64 { return w.limits[slices.Index(w.paths, path)] }

// checkTurnLocked looks at the nodes of a Multi: one transaction has made them.
func (w *world) checkTurnLocked(c *claim, lines map[string][]standing) {
	if len(c.seats) < 2 {
		return
	}
	for _, n := range lines[c.path()] {
		if !slices.Contains(c.seats[0].nodes, n.node) {
			continue
		}
		for _, s := range c.seats[1:] {
			if !slices.ContainsFunc(lines[s.path], func(o standing) bool {
				return o.czxid == n.czxid && slices.Contains(s.nodes, o.node)
			}) && alone(c.seats[0].mode) {
				w.wrongLocked("apart: %s holds %s by nodes of several transactions: %v", c.who, c.name(), c.seats)
			}
		}
	}
}

// checkExclusionLocked looks for others who hold what can't be shared with c.
func (w *world) checkExclusionLocked(c *claim, s seat, stands, forced bool) {
	for _, o := range w.active[s.path] {
		mode, _ := o.on(s.path)
		if o == c.beside || !alone(mode) && !alone(s.mode) {
			continue
		}
		alive := o.standsAt(s.path)
		switch {
		case c.hold != nil && c.void, c.late:
			continue // the place may have been free again before c could say it has it
		case o.hold == nil && o.p == c.p && o.m != nil && alone(mode) && len(o.seats) == 1 && len(c.seats) == 1:
			// Alive or lost, it keeps the place until its Unlock.
		case o.hold == nil && !alive, !alive && w.forcedLocked(o.want):
			continue
		case alive && forced && !stands:
			continue // c is about to learn that
		case !alive && o.lostNow():
			continue
		}
		w.wrongLocked("exclusion: %s got %s while %s has it", c.who, s.path, o.who)
	}
}

// checkPermitsLocked counts the permits of all who may believe that they have
// them.
func (w *world) checkPermitsLocked(c *claim, s seat, stands, forced bool, line []standing) {
	if c.void {
		return
	}
	limit := w.limit(s.path)
	all, own := c.weight, c.weight
	mine := of(c.p, entitled(line, asPermit))
	for _, o := range w.active[s.path] {
		switch {
		case o.hold == nil && w.perhapsLocked(o), o.lostNow() && !o.standsAt(s.path), o.hold != nil && !o.standsAt(s.path) && w.forcedLocked(o.want):
			continue
		case o.hold == nil && o.p == c.p:
			own += o.weight
		case o.hold != nil:
			mine = slices.DeleteFunc(mine, func(n standing) bool { return n.node == o.node() })
		}
		all += o.weight
	}
	// What stands may be a Hold's that has not said so yet.
	have := weigh(mine)
	short := c.hold == nil && own > have
	if all > limit && !(forced && (short || !stands)) {
		w.wrongLocked("exclusion: with %s %d of %d permits of %s are taken", c.who, all, limit, s.path)
	}
	if short && !forced {
		w.wrongLocked("granted: with %s %s has %d permits of %s, and nodes for %d", c.who, c.p.name, own, s.path, have)
	}
}

// checkFenceLocked looks at the fence of a hold whose nodes stand.
func (w *world) checkFenceLocked(c *claim, lines map[string][]standing) {
	f := c.hold.Fence()
	if c.beside != nil {
		// It goes on under the fence of the write, unless that has no node any more: then
		// it has stood in line itself, and the write is told of the loss.
		if c.beside.hold != nil && f != c.beside.hold.Fence() && c.beside.standsAt(c.seats[0].path) {
			w.wrongLocked("fence: %s reads with %#x beside a write with %#x", c.who, f, c.beside.hold.Fence())
		}
		return
	}
	for _, s := range c.seats {
		for _, n := range lines[s.path] {
			if slices.Contains(s.nodes, n.node) && n.czxid != f {
				w.wrongLocked("fence: %s got %s with %#x, by a node of %#x", c.who, s.path, f, n.czxid)
				return
			}
		}
		if !alone(s.mode) {
			continue // it says when they came, and no more
		}
		if f <= w.fences[s.path] {
			w.wrongLocked("fence: %s got %s with %#x after %#x", c.who, s.path, f, w.fences[s.path])
		}
		w.fences[s.path] = max(w.fences[s.path], f)
	}
}

// pool is where plain locks that are shared are given back, by anybody. Several read
// sides are one lock, however they are named.
func (c *claim) pool() string {
	names := strings.Split(c.name(), "+")
	slices.Sort(names)
	return c.p.name + " " + strings.Join(names, "+")
}

// joinLocked finds the claims of the same process that share what c has: which node
// belongs to which of them can't be known.
func (w *world) joinLocked(c *claim) {
	if c.hold != nil || !c.shared() {
		return
	}
	w.joins[c.pool()]++
	c.joins, c.sole = w.joins[c.pool()], true
	for _, o := range w.active[c.path()] {
		if o.hold == nil && o.pool() == c.pool() && o.shared() {
			c.sole = false
			// Who has lost permits without knowing, and gives permits back, may
			// give back those of c.
			c.maybe = c.maybe || w.perhapsLocked(o)
		}
	}
}
