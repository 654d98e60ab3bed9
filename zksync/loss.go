package zksync

import (
	"errors"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/defect"
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
		var ended after
		for _, t := range l.tenuresLocked() {
			if t.e == e {
				ended = t.loseLocked(conn.ErrNodeGone)
			}
		}
		l.mu.Unlock()
		ended.run()
	})
}

// lose ends the tenure because the lock is lost.
func (t *tenure) lose(reason error) {
	t.l.mu.Lock()
	ended := t.loseLocked(reason)
	t.l.mu.Unlock()
	ended.run()
}

// loseLocked marks the loss. Holds end and free their place at once. A plain
// lock has nobody to tell: it keeps its place in this process until its own
// Unlock, which would otherwise release the next goroutine's (lesson 65).
func (t *tenure) loseLocked(reason error) after {
	if t.lost != nil || t.over {
		return nil
	}
	s := t.l.s
	if st, _ := s.conn.State(); errors.Is(reason, conn.ErrNodeGone) && st.Session != t.e.Session() {
		reason = conn.ErrSessionOver // which is why it is gone
	}
	t.lost = lost(reason)
	s.stats.losses.Add(1)
	s.stats.cleanup.Add(1) // before anybody sees the loss, and looks
	unguard := t.unguardLocked()
	var told []after
	for h := range t.holds {
		told = append(told, h.endLocked(t.lost))
	}
	plain := t.plain > 0 && !defect.On(defect.FreedLoss)
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
	told = append(told, t.endLocked(Ending{Reason: endReason(reason), Err: t.lost}))
	return func() {
		for _, f := range told {
			f.run() // contexts first
		}
		unguard.run()
		go func() { _ = s.remove(t.e) }()
		if plain {
			s.logger().Error("zksync: a lock without a handle was lost: its holder does not know",
				"path", t.acq.Path, "node", t.e.Node(), "error", t.lost)
		}
		freed.run()
	}
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
