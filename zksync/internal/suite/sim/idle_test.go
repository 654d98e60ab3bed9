package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// idleFor is for so many looks that nothing may happen though it could: T/2.
const idleFor = 7

// checkIdle finds locks that are free while somebody waits for them.
func (w *world) checkIdle(idle map[string]int) {
	lines := make(map[string][]standing)
	for _, p := range w.paths {
		lines[p] = w.line(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// What keeps a call from going on may be a function of a tracer.
	if w.hooked.ran(time.Now().Add(-timeout / 12)) {
		return
	}
	for i, p := range w.paths {
		why := w.idleLocked(i, lines[p])
		if why == "" || time.Since(w.crash) < w.slowest()+2*tick {
			idle[p] = 0
			continue
		}
		if idle[p]++; idle[p] == idleFor {
			w.wrongLocked("idle: %s: for T/2 %s", p, why)
		}
	}
}

// idleLocked says why somebody should have got the i-th lock, or part of it, if
// nobody is about to; "" if not.
func (w *world) idleLocked(i int, line []standing) string {
	path := w.paths[i]
	var waits []*want
	most, single := int64(0), true
	exclusive := false
	for x := range w.waits {
		mode, ok := x.on(path)
		if !ok || w.limits[i] > 0 && x.weight > w.limitOf(i, x.p.slot) { // never
			continue
		}
		waits = append(waits, x)
		most, single = max(most, x.weight), single && len(x.seats) == 1
		exclusive = exclusive || alone(mode)
	}
	if len(waits) == 0 {
		return ""
	}
	if limit := w.limits[i]; limit > 0 {
		for slot := range w.slots {
			limit = min(limit, w.limitOf(i, slot))
		}
		return w.idlePermitsLocked(path, limit, most, waits, line)
	}
	if !single {
		// It may wait for its other locks, and others for it: unless all are free.
		for j, p := range w.paths {
			if w.limits[j] == 0 && len(w.active[p]) > 0 {
				return ""
			}
		}
		return "nobody has any lock, though several wait"
	}
	free := len(w.active[path]) == 0
	readers := true // alone hold
	for _, c := range w.active[path] {
		mode, _ := c.on(path)
		readers = readers && mode == asReader
	}
	switch {
	case free:
		return "it is free while " + strconv.Itoa(len(waits)) + " wait"
	case readers && !exclusive:
		return "readers wait for readers"
	}
	return ""
}

func (w *world) idlePermitsLocked(path string, limit, most int64, waits []*want, line []standing) string {
	free := limit
	for _, c := range w.active[path] {
		free -= c.weight
	}
	if most <= free {
		return "there are " + strconv.FormatInt(free, 10) + " permits, enough for any who wait"
	}
	// Whose node says that it has them, but not its call.
	in := entitled(line, asPermit)
	for _, x := range waits {
		has := int64(0)
		for _, c := range w.active[path] {
			if c.p == x.p {
				has += c.weight
			}
		}
		if got := weigh(of(x.p, in)); got > has {
			return x.p.name + " has " + strconv.FormatInt(has, 10) + " permits, and waits for more though it has nodes for " +
				strconv.FormatInt(got, 10)
		}
	}
	return ""
}

// listen finds holders of a Hold that do not learn of its loss.
func (w *world) listen(over <-chan struct{}) {
	gone := make(map[*claim]int)
	for {
		select {
		case <-over:
			return
		case <-time.After(timeout / 12):
		}
		w.checkClosed()
		w.mu.Lock()
		for _, p := range w.paths {
			for _, c := range w.active[p] {
				if c.hold == nil || c.path() != p || c.stands() || w.forcedLocked(c.want) {
					continue
				}
				if gone[c]++; gone[c] == 2 { // once may be the moment in which it ends
					w.wrongLocked("late: %s has not been told that %s is lost", c.who, c.name())
				}
			}
		}
		w.mu.Unlock()
	}
}

// settle waits until nothing is left of the locks, and reports what is left.
func (w *world) settle() {
	var left string
	for range 100 { // a lock may linger for 4 timeouts
		if left = w.left(); left == "" {
			return
		}
		time.Sleep(timeout / 20)
	}
	w.wrong("left: %s", left)
}

func (w *world) left() string {
	for _, p := range w.paths {
		if names := w.srv.Children(p); len(names) > 0 {
			return "nodes: " + strings.Join(names, " ")
		}
	}
	live := make(map[int64]bool)
	for _, s := range w.srv.Sessions() {
		live[s.ID] = true
	}
	for _, x := range w.srv.Watches() {
		// Of a crashed one a connection may stand for good. A session of Dial keeps one
		// watch on a lock's path.
		if live[x.Session] && (x.Child || !slices.Contains(w.paths, x.Path)) {
			return "a watch on " + x.Path
		}
	}
	for _, s := range w.slots {
		p := s.now()
		z := p.s.Load()
		if z == nil || p.closing.Load() {
			continue
		}
		if st := z.Stats(); st.CleanupPending != 0 || st.Held != 0 || st.Waiting != 0 {
			return p.name + " has " + strconv.Itoa(st.CleanupPending) + " to clean up, " + strconv.Itoa(st.Held) + " held"
		}
	}
	return ""
}
