package zksync

import (
	"errors"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// follow ends the tenure that stands on e when the watch on its node says that
// it was deleted.
func (l *lock) follow(e *queue.Entry, w *conn.Watch) {
	l.s.conn.After(w, func() {
		if _, deleted := w.Over(); !deleted {
			return
		}
		l.mu.Lock()
		var x loss
		for _, t := range l.tenuresLocked() {
			if t.e == e {
				x = t.loseLocked(conn.ErrNodeGone)
			}
		}
		l.mu.Unlock()
		x.run()
	})
}

// loss is what is left to do for a tenure that is lost. Of several that are lost
// at once the contexts of all end before the rest is done for any. Neither runs a
// function of the program's: a slow one would keep the news from other holders.
type loss struct {
	ended after // ends the contexts
	rest  after
}

func (x loss) run() {
	x.ended.run()
	x.rest.run()
}

// lose ends the tenure because the lock is lost.
func (t *tenure) lose(reason error) { t.end(reason)() }

// end is lose but for the rest of the loss, which it returns.
func (t *tenure) end(reason error) (rest func()) {
	t.l.mu.Lock()
	x := t.loseLocked(reason)
	t.l.mu.Unlock()
	x.ended.run()
	return x.rest.run
}

// loseLocked marks the loss. Holds end and free their place at once. A plain
// lock has no handle that could be told. It keeps its place in this process until
// its own Unlock: if the next goroutine took the place, that Unlock would release
// the next goroutine's lock.
func (t *tenure) loseLocked(reason error) (x loss) {
	if t.lost != nil || t.over {
		return loss{}
	}
	s := t.l.s
	if st, _ := s.conn.State(); errors.Is(reason, conn.ErrNodeGone) && st.Session != t.e.Session() {
		reason = conn.ErrSessionOver // which is why it is gone
	}
	t.lost = lost(reason)
	s.stats.losses.Add(1)
	s.stats.cleanup.Add(1) // before anybody sees the loss, and looks
	unguard := t.unguardLocked()
	var contexts []after
	for h := range t.holds {
		contexts = append(contexts, h.endLocked(t.lost))
	}
	plain := t.plain > 0
	t.holds = nil
	var freed after
	switch {
	case !plain:
		freed = t.freeLocked()
	case t.kind == znode.Read || t.kind == znode.Permit:
		l := t.l // its levels are owed, and hold up nobody
		l.reads = slices.DeleteFunc(l.reads, func(o *tenure) bool { return o == t })
		l.debts = append(l.debts, t)
	}
	t.l.advanceLocked()
	told := t.endLocked(Ending{Reason: endReason(reason), Err: t.lost})
	x.ended = func() {
		for _, f := range contexts {
			f.run()
		}
	}
	x.rest = func() {
		unguard.run()
		go func() { _ = s.remove(t.e) }()
		freed.run()
		s.later(told).run()
		if plain {
			s.events.push(func() {
				s.logger().Error("zksync: a lock without a handle was lost: its holder does not know",
					"path", t.acq.Path, "node", t.e.Node(), "error", t.lost)
			})
		}
	}
	return x
}

// LossReason returns why a lock was lost, of an error that Is ErrLost: of
// Release, say, or the cause of a Hold's context. For another it is "".
func LossReason(err error) EndReason {
	if !errors.Is(err, ErrLost) {
		return ""
	}
	return endReason(err)
}

func endReason(err error) EndReason {
	switch {
	case errors.Is(err, ErrClosed):
		return EndClosed
	case errors.Is(err, conn.ErrNodeGone):
		return EndNodeDeleted
	case errors.Is(err, conn.ErrNoContact):
		return EndContactLost
	}
	return EndSessionExpired
}
