package sim

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// wrongFor is for how long the name in a held node may be another's.
const wrongFor = 100 * time.Millisecond

// spell is the time for which somebody has a lock.
type spell struct {
	p        *process
	owner    string // "": nobody in particular
	nodes    []string
	from, to time.Time
}

func (w *world) spellLocked(c *claim) {
	if w.kind != "inspected" || len(c.seats) != 1 {
		return
	}
	c.spell = &spell{p: c.p, owner: c.owner, nodes: c.seats[0].nodes, from: time.Now()}
	w.spells[c.path()] = append(w.spells[c.path()], c.spell)
}

func (w *world) endSpellLocked(c *claim) {
	if c.spell != nil && c.spell.to.IsZero() {
		c.spell.to = time.Now()
	}
}

// lateLocked is how old what the servers say of a held node may be: the time for
// which a name may be wrong, and a write that corrects it.
func (w *world) lateLocked() time.Duration { return wrongFor + 4*w.latency + 5*time.Millisecond }

// checkOwnerLocked looks at the owner that a held node was said to have by an
// answer to what was asked at some time: it holds, or did until a moment ago.
func (w *world) checkOwnerLocked(who, node, owner string, asked time.Time) {
	data, _, ok := w.srv.Get(node)
	if !ok || owner == "" || !w.quietLocked() {
		return
	}
	var maker *process
	for _, p := range w.procs {
		if p.made(standing{node: node, data: data}) {
			maker = p
		}
	}
	if maker == nil || maker.dead.Load() || maker.closing.Load() {
		return
	}
	dir, since := path.Dir(node), asked.Add(-w.lateLocked())
	fresh := true // nobody has held by this node for long
	var last time.Time
	for _, s := range w.spells[dir] {
		if s.p != maker || !slices.Contains(s.nodes, node) {
			continue
		}
		if s.owner == owner {
			if s.to.IsZero() || s.to.After(since) {
				return
			}
			last = s.to
		}
		fresh = fresh && s.from.After(since)
	}
	switch {
	case fresh, w.failed[owner].After(since): // granted as it gave up, and given back at once
	case last.IsZero():
		w.wrongLocked("owner: %s is told that %s has %s, which it has never had", who, owner, node)
	default:
		w.wrongLocked("owner: %s is told that %s has %s, which it gave back %v before", who, owner, node, asked.Sub(last))
	}
}

// checkPeer checks the peer that Blocked gives to a waiting call. It may hear
// of a hand-over before the one who has got the lock does.
func (w *world) checkPeer(p *process, peer zksync.Peer) {
	asked := time.Now()
	time.AfterFunc(time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.checkOwnerLocked("a call of "+p.name, peer.Node, peer.OwnerName, asked)
	})
}

// inspect looks at all queues for some time.
func (k *worker) inspect(o op) {
	w := k.p.w
	for end := time.Now().Add(o.work); time.Now().Before(end) && !k.p.dead.Load(); time.Sleep(30 * time.Millisecond) {
		for _, dir := range w.paths {
			w.mu.Lock()
			before := w.holderLocked(dir)
			w.mu.Unlock()
			asked := time.Now()
			ctx, cancel := context.WithTimeout(w.bg, timeout)
			q, err := k.p.s.Load().Inspect(ctx, dir)
			cancel()
			w.mu.Lock()
			if err != nil {
				if w.quietLocked() && !k.p.closing.Load() {
					w.wrongLocked("error: %s: inspect: %v", k.name, err)
				}
				w.mu.Unlock()
				continue
			}
			for _, n := range q.Nodes {
				if !n.Held {
					continue
				}
				w.checkOwnerLocked(k.name, n.Node, n.OwnerName, asked)
				w.checkNamedLocked(k.name, n, before, asked)
			}
			w.mu.Unlock()
		}
	}
}

// holderLocked is the one that holds a lock alone; nil: none.
func (w *world) holderLocked(dir string) *claim {
	if all := w.active[dir]; len(all) == 1 && len(all[0].seats) == 1 && alone(all[0].seats[0].mode) {
		return all[0]
	}
	return nil
}

// checkNamedLocked looks whether a node names the one that has held for long: a
// name that was right when it began has been wrong for as long since.
func (w *world) checkNamedLocked(who string, n zksync.LockNode, c *claim, asked time.Time) {
	switch {
	case c == nil, c != w.holderLocked(path.Dir(n.Node)), c.spell == nil, c.owner == "", n.OwnerName == c.owner, n.Revoked,
		!w.quietLocked(), !strings.Contains(n.Identity, c.p.name), c.p.closing.Load(), c.node() != n.Node,
		asked.Sub(c.spell.from) < wrongFor+2*w.lateLocked():
		return
	}
	w.wrongLocked("owner: %s is told that %q has %s, which %s has had for %v", who, n.OwnerName, n.Node, c.owner, asked.Sub(c.spell.from))
}
