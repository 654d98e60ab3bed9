package sim

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// excuse is for how long after a lock was taken away by force its holder may
// not know it.
const excuse = timeout/2 + 700*time.Millisecond

// claim is a lock that somebody has been told to hold, until it is given back
// or the loss is told. A plain lock's holder is not told.
type claim struct {
	w    *world
	p    *process
	who  string
	path string
	node string
	hold *zksync.Hold // nil: a plain lock
	at   int64        // the call, in the history
	from int64        // the grant

	over bool // guarded by w.mu
	void bool // the node had gone when it was granted, which could not be known
}

// made reports whether a node's data is of this process.
func (p *process) made(data []byte) bool { return strings.Contains(string(data), `"id":"`+p.name+`"`) }

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

// first is the first node in line, and whether it is this process's.
func (p *process) first(path string) (node string, mine bool) {
	type numbered struct {
		node string
		seq  int
	}
	var line []numbered
	for _, name := range p.w.srv.Children(path) {
		if _, n, ok := strings.Cut(name, "-lock-"); ok {
			// Beyond the end of the numbers nobody holds.
			if seq, err := strconv.Atoi(n); err == nil && 0 <= seq && seq <= math.MaxInt32-1000 {
				line = append(line, numbered{path + "/" + name, seq})
			}
		}
	}
	if len(line) == 0 {
		return "", false
	}
	node = slices.MinFunc(line, func(a, b numbered) int { return a.seq - b.seq }).node
	data, _, _ := p.w.srv.Get(node)
	return node, p.made(data)
}

func (w *world) exists(node string) bool {
	_, _, ok := w.srv.Get(node)
	return ok
}

// blurs are the faults under which what a process goes by may be any age: it is
// connected, and doesn't hear.
var blurs = []string{"deaf", "mute", "blackhole", "delay", "lag", "lagged loss", "cut"}

// unawareLocked is forcedLocked for a grant: that is made on what a server says
// on the connection that stands, which is no older than the way it takes, unless
// a fault makes that longer.
func (w *world) unawareLocked(p *process, path string) bool {
	if p.murky > 0 || time.Since(p.clear) < timeout/3 {
		return w.forcedLocked(p, path)
	}
	return w.takenLocked(p, path, 4*w.latency+20*time.Millisecond) || p.dead.Load() || p.closing.Load()
}

// forcedLocked reports whether a lock of the process on the path was taken away
// so short a time ago that it need not know.
func (w *world) forcedLocked(p *process, path string) bool {
	return w.takenLocked(p, path, excuse) || p.dead.Load() || p.closing.Load()
}

func (w *world) takenLocked(p *process, path string, ago time.Duration) bool {
	for _, what := range []string{p.name, path} {
		if t, ok := w.taken[what]; ok && time.Since(t) <= ago {
			return true
		}
	}
	return false
}

// granted notes a grant, and looks whether there may be one.
func (w *world) granted(wk *worker, path string, h *zksync.Hold, call int64) *claim {
	c := &claim{w: w, p: wk.p, who: wk.name, path: path, hold: h, at: call}
	var first string
	mine := true
	if h != nil {
		c.node = h.Node()
	} else if first, mine = wk.p.first(path); mine {
		c.node = first
	}
	_, stat, stands := w.srv.Get(c.node)
	w.mu.Lock()
	defer w.mu.Unlock()
	c.from = w.nextLocked()
	if wk.p.dead.Load() {
		c.over = true
		return c
	}
	w.logLocked("%s holds %s by %s", c.who, path, c.node)
	forced := w.unawareLocked(c.p, path)
	c.void = !stands && forced
	if !stands && !forced {
		w.wrongLocked("granted: %s got %s without a node that is first in line (%s)", c.who, path, first)
	}
	for _, o := range w.active[path] {
		alive := w.exists(o.node)
		switch {
		case h != nil && c.void:
			continue // the place may have been free again before c could say it has it
		case o.hold == nil && o.p == c.p:
			// Alive or lost, it keeps the place until its Unlock.
		case o.hold == nil && !alive, !alive && w.forcedLocked(o.p, path):
			continue
		case alive && forced && !stands:
			continue // c is about to be told
		}
		w.wrongLocked("exclusion: %s got %s while %s has it", c.who, path, o.who)
	}
	if h != nil {
		if f := h.Fence(); stands && f != stat.Czxid {
			w.wrongLocked("fence: %s got %s with %#x, by a node of %#x", c.who, path, f, stat.Czxid)
		} else if stands && f <= w.fences[path] {
			w.wrongLocked("fence: %s got %s with %#x after %#x", c.who, path, f, w.fences[path])
		} else {
			w.fences[path] = max(w.fences[path], f)
		}
	}
	w.active[path] = append(w.active[path], c)
	return c
}

// end notes that the claim is over. It reports false if it was before.
func (w *world) endLocked(c *claim) bool {
	if c.over {
		return false
	}
	c.over = true
	w.active[c.path] = slices.DeleteFunc(w.active[c.path], func(o *claim) bool { return o == c })
	if c.void {
		return true
	}
	now := w.nextLocked()
	w.owners.add(c.path, acquire{c.who}, true, c.at, c.from)
	// What was taken away by force may have gone to the next one already, and so
	// may a plain lock, whose holder isn't told.
	call := now
	if w.forcedLocked(c.p, c.path) || c.hold == nil && !w.exists(c.node) {
		call = c.from
	}
	w.owners.add(c.path, release{c.who}, true, call, now)
	return true
}

// lost notes that the holder of a Hold is told that it is lost.
func (c *claim) lost(cause error) {
	w := c.w
	stands := w.exists(c.node)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.endLocked(c) {
		return
	}
	w.logLocked("%s is told that %s is lost: %v", c.who, c.path, cause)
	if !errors.Is(cause, zksync.ErrLost) {
		w.wrongLocked("loss: %s has the cause %v", c.who, cause)
	}
	if !stands && !w.forcedLocked(c.p, c.path) {
		w.wrongLocked("late: %s was told that %s is lost after its node had gone", c.who, c.path)
	}
}

// release is what came of giving the lock back. stood tells whether the node
// was there when that began.
func (c *claim) released(stood bool, err error, connects int64) {
	w := c.w
	if err == nil && !stood {
		time.Sleep(time.Millisecond) // until the counts are up to date
		w.mu.Lock()
		_, stood = w.broken[c.node]
		w.mu.Unlock()
		// Tried again after a lost answer, it can't be told from one's own doing.
		stood = stood && c.p.s.Load().Stats().Disconnects != connects
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logLocked("%s has given %s back: %v", c.who, c.path, err)
	if c.hold == nil && w.forcedLocked(c.p, c.path) {
		return // it may have been handed over without a request
	}
	if err == nil && !stood && c.node != "" && !c.p.dead.Load() {
		w.wrongLocked("silent: %s gave %s back without an error after its node had gone", c.who, c.path)
	}
}

// entered looks whether an owner may enter again.
func (c *claim) entered() {
	w := c.w
	stands := c.node == "" || w.exists(c.node)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, broken := w.broken[c.node]; broken {
		return // a plain lock's node is not watched
	}
	if !stands && !w.forcedLocked(c.p, c.path) {
		w.wrongLocked("reentry: %s entered %s again after its node had gone", c.who, c.path)
	}
}

// checkIdle finds locks that are free while somebody waits for them.
func (w *world) checkIdle(idle map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.paths {
		if len(w.active[p]) > 0 || w.waits[p] == 0 || time.Since(w.crash) < timeout+2*tick {
			idle[p] = 0
			continue
		}
		if idle[p]++; idle[p] == 7 {
			w.wrongLocked("idle: %s is free for T/2 while %d wait", p, w.waits[p])
		}
	}
}

// settle waits until nothing is left of the locks, and tells what is.
func (w *world) settle() {
	var left string
	for range 80 {
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
	for _, x := range w.srv.WatchList() {
		if live[x.Session] { // of a crashed one a connection may stand for good
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
