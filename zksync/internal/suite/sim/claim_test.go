package sim

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// claim is a lock that a call has returned as held, until it is given back
// or the holder learns of its loss, which that of a plain lock does not.
type claim struct {
	want
	w       *world
	who     string
	m       lock
	hold    *zksync.Hold // nil: a plain lock
	beside  *claim       // the write that its owner reads beside
	at      int64        // the call, in the history
	from    int64        // the grant
	session int64        // of the process, at the grant
	takes   int          // how often it had been taken away from somebody, at the grant
	joins   int          // of the plain ones that share it, at the grant
	spell   *spell

	over bool // guarded by w.mu, as the rest
	void bool // the node had gone when it was granted, which could not be known
	sole bool // no other goroutine of the process shared it when it was granted
	// A plain lock that may have gone while a tracer heard of the grant: what stands may
	// be the node of another.
	late  bool
	leads bool // it is a leader's
	maybe bool // it may have gone when it was granted, or be given back for another that was lost
}

// next is the next moment of the history.
func (w *world) nextLocked() int64 {
	w.stamp++
	return w.stamp
}

func (w *world) next() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nextLocked()
}

// shared reports whether others may hold beside.
func (c *claim) shared() bool {
	return !slices.ContainsFunc(c.seats, func(s seat) bool { return alone(s.mode) })
}

// path is the first of its paths.
func (c *claim) path() string { return c.seats[0].path }

// name is what the claim is of, for people.
func (c *claim) name() string {
	var text []string
	for _, s := range c.seats {
		text = append(text, s.path)
	}
	return strings.Join(text, "+")
}

// node is the claim's own, if that is known.
func (c *claim) node() string {
	if len(c.seats) == 1 && len(c.seats[0].nodes) == 1 {
		return c.seats[0].nodes[0]
	}
	return ""
}

// standsAt reports whether the claim's node on a path is there, or may be.
func (c *claim) standsAt(path string) bool {
	for _, s := range c.seats {
		if s.path == path {
			return slices.ContainsFunc(s.nodes, c.w.whole)
		}
	}
	return false
}

// stands reports whether all of its nodes are there.
func (c *claim) stands() bool {
	return !slices.ContainsFunc(c.seats, func(s seat) bool { return !c.standsAt(s.path) })
}

// granted notes a grant, and looks whether there may be one.
func (w *world) granted(k *worker, x want, m lock, h *zksync.Hold, call int64, beside *claim) *claim {
	if beside != nil && h != nil && h.Fence() != beside.hold.Fence() {
		w.mu.Lock()
		lost := beside.over
		w.mu.Unlock()
		if lost {
			beside = nil // a lock of its own
		}
	}
	c := &claim{w: w, want: want{p: x.p, weight: x.weight, owner: x.owner, node: x.node}, who: k.name, m: m, hold: h, at: call, beside: beside,
		session: k.p.session()}
	if beside != nil {
		c.who += " reading"
	}
	told := h != nil && h.Err() != nil // it was lost while a tracer heard of the grant
	// All at one moment: nobody is granted or gives back meanwhile but those whose
	// claim is over, or less, already.
	w.mu.Lock()
	defer w.mu.Unlock()
	ago := time.Since(k.saidLocked())
	told = told && ago > 0
	c.late = h == nil && m != nil && ago > 0 && w.takenLocked(x, ago+4*w.latency+20*time.Millisecond)
	var first []string // in line, where c is not
	lines := make(map[string][]standing)
	stands := true
	for _, s := range x.seats {
		line := w.line(s.path)
		lines[s.path] = line
		if !c.late {
			s.nodes = w.ownLocked(c, s, line, len(x.seats) > 1)
		}
		if len(s.nodes) == 0 {
			if len(line) > 0 {
				first = append(first, line[0].node)
			}
			switch {
			case h != nil && len(x.seats) == 1:
				s.nodes = []string{h.Node()}
			case m == nil:
				s.nodes = []string{x.node}
			}
			stands = stands && slices.ContainsFunc(s.nodes, w.exists)
		}
		c.seats = append(c.seats, s)
	}
	c.from, c.takes = w.nextLocked(), w.takesLocked(c.want)
	if x.p.dead.Load() {
		c.over = true
		return c
	}
	w.logLocked("%s holds %s: %v", c.who, c.name(), c.seats)
	forced := told || w.unawareLocked(c.want, ago)
	c.void = !stands && forced || beside != nil && beside.void
	if !stands && !forced {
		w.wrongLocked("granted: %s got %s without a node whose turn it is (first is %v)", c.who, c.name(), first)
	}
	if stands {
		w.checkTurnLocked(c, lines)
		w.checkTwinsLocked(c, lines)
	}
	for _, s := range c.seats {
		if s.mode == asPermit {
			w.checkPermitsLocked(c, s, stands, forced, lines[s.path])
		} else {
			w.checkExclusionLocked(c, s, stands, forced)
		}
	}
	if h != nil && stands {
		w.checkFenceLocked(c, lines)
	}
	c.maybe = forced // another node of the process may stand for its own
	w.joinLocked(c)
	w.spellLocked(c)
	for _, s := range c.seats {
		w.active[s.path] = append(w.active[s.path], c)
	}
	return c
}

// ownLocked returns the nodes of a line that may be a claim's: for a plain lock
// any of its process whose turn it is, but those of Holds.
func (w *world) ownLocked(c *claim, s seat, line []standing, several bool) (nodes []string) {
	turn := entitled(line, s.mode)
	if c.m == nil {
		turn = entitledKazoo(line)
	}
	for _, n := range of(c.p, turn) {
		mine := several == (w.parts(n) > 1) &&
			!slices.ContainsFunc(w.active[s.path], func(o *claim) bool { return o.hold != nil && o.node() == n.node })
		switch {
		case c.m == nil:
			mine = n.node == c.want.node
		case c.hold != nil && several:
			mine = n.czxid == c.hold.Fence()
		case c.hold != nil:
			mine = n.node == c.hold.Node()
		}
		if mine {
			nodes = append(nodes, n.node)
		}
	}
	return nodes
}

// end notes that the claim is over. It reports false if it was before.
func (w *world) endLocked(c *claim) bool {
	if c.over {
		return false
	}
	c.over = true
	w.endSpellLocked(c)
	for _, s := range c.seats {
		w.active[s.path] = slices.DeleteFunc(w.active[s.path], func(o *claim) bool { return o == c })
	}
	if !c.void {
		w.recordLocked(c, c.weight)
	}
	return true
}

// recordLocked puts in the history that a claim is over, or so many of its
// permits given back.
func (w *world) recordLocked(c *claim, weight int64) {
	now := w.nextLocked()
	// What was taken away by force may have gone to the next one already, and so
	// may a plain lock, whose holder does not learn of a loss.
	call := now
	plain := c.hold == nil
	for _, s := range c.seats {
		if w.forcedLocked(c.want) || c.lostNow() || plain && (c.shared() && w.perhapsLocked(c) || !c.shared() && !c.standsAt(s.path)) {
			call = c.from
		}
	}
	for _, s := range c.seats {
		if s.mode == asPermit {
			w.owners.add(s.path, take{weight}, true, c.at, c.from)
			w.owners.add(s.path, give{weight}, true, call, now)
			continue
		}
		in := acquire{who: c.who, read: !alone(s.mode)}
		if c.beside != nil {
			in.beside = c.beside.who
		}
		w.owners.add(s.path, in, true, c.at, c.from)
		w.owners.add(s.path, release{c.who, in.read}, true, call, now)
	}
}

// lost notes that the context of a Hold has ended by a loss.
func (c *claim) lost(cause error) {
	w := c.w
	stands := c.stands()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.endLocked(c) {
		return
	}
	w.logLocked("%s is told that %s is lost: %v", c.who, c.name(), cause)
	if !errors.Is(cause, zksync.ErrLost) {
		w.wrongLocked("loss: %s has the cause %v", c.who, cause)
	}
	if w.quietLocked() && !w.forcedLocked(c.want) {
		w.wrongLocked("loss: %s is told that %s is lost, though nothing has happened to it: %v", c.who, c.name(), cause)
	}
	if !stands && !c.lostNow() && !w.forcedLocked(c.want) && !c.void {
		w.wrongLocked("late: %s was told that %s is lost after its node had gone", c.who, c.name())
	}
}

// released is what came of giving the lock back. stood reports whether the node
// was there when that began.
func (c *claim) released(stood bool, err error, connects int64) {
	w := c.w
	if err == nil && !stood {
		time.Sleep(time.Millisecond) // until the counts are up to date
		// Tried again after a lost answer, it can't be distinguished from the call's own deletion.
		stood = c.broken() && c.p.s.Load().Stats().Disconnects != connects
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logLocked("%s has given %s back: %v", c.who, c.name(), err)
	switch {
	case c.hold == nil && (c.void || w.forcedLocked(c.want)):
		return // it may have been handed over without a request
	case c.hold == nil && c.shared() && (!c.sole || c.joins != w.joins[c.pool()] || c.seats[0].mode == asPermit):
		return // another's may have been given back for it
	}
	if err == nil && !stood && !c.p.dead.Load() {
		w.wrongLocked("silent: %s gave %s back without an error after its node had gone", c.who, c.name())
	}
}

// broken reports whether a node of the claim was deleted by hand, or may have been.
func (c *claim) broken() bool {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.hold == nil && (c.void || c.maybe) || slices.ContainsFunc(c.seats, func(s seat) bool {
		return slices.ContainsFunc(s.nodes, c.w.brokenLocked)
	})
}

// brokenLocked reports whether a node was deleted by hand, or the one for kazoo that goes
// with it.
func (w *world) brokenLocked(node string) bool {
	_, broken := w.broken[node]
	if twin, has := w.kazooTwin.Load(node); has && !broken {
		_, broken = w.broken[twin.(string)]
	}
	return broken
}

// entered looks whether an owner may enter again.
func (c *claim) entered() {
	w := c.w
	if c.broken() {
		return // a plain lock's node is not watched
	}
	stands := c.stands()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !stands && !w.forcedLocked(c.want) {
		w.wrongLocked("reentry: %s entered %s again after its node had gone", c.who, c.name())
	}
}
