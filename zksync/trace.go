package zksync

import (
	"container/list"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// errPanic is what a call's AcquireEnd gets when a function of the tracer
// panicked within the call.
var errPanic = errors.New("zksync: panic in a tracer's function")

// traced acquires the lock and tells the tracer of it. A panic of the tracer's
// gives back what was granted.
func (m *Mutex) traced(w *waiter) error {
	defer m.s.settle(w)
	m.s.asked(w)
	err := m.begin(w)
	if err == nil && w.lock != nil {
		err = w.lock.acquire(w)
	}
	if err == nil {
		m.s.granted(w)
	} else {
		w.ten = nil
	}
	w.end = err
	return err
}

// settle ends a call, and counts it out. If a function of the tracer panicked
// it gives everything back.
//
//go:noinline
func (s *Session) settle(w *waiter) {
	if l := w.lock; l != nil {
		defer l.leave()
		defer func() {
			switch t := w.ten; {
			case t == nil || w.err != nil:
			case !w.kept:
				l.undo(w)
			case t.kind == znode.Permit:
				l.mu.Lock()
				t.taken = true
				l.mu.Unlock()
			}
		}()
		if w.waits {
			l.left(w)
		}
	}
	s.answered(w)
}

// asked, granted and answered tell the tracer of a call.
//
//go:noinline
func (s *Session) asked(w *waiter) {
	tr := s.cfg.tracer
	if tr.AcquireStart != nil {
		w.ctx = tr.AcquireStart(w.call, w.acq)
	}
	w.trace = s.parent(w.ctx)
	w.asked, w.end = true, errPanic
	if tr.Blocked != nil {
		w.news = make(chan struct{}, 1)
	}
}

//go:noinline
func (s *Session) granted(w *waiter) {
	if w.ten == nil {
		return // no permits: there is nothing to hold
	}
	if f := s.cfg.tracer.Handoff; f != nil && w.handed {
		f(w.ctx, w.acq)
	}
	w.ten.begin(w.ctx)
	if w.ten.shared {
		w.ten.pub.joins(w)
	}
}

func (s *Session) answered(w *waiter) {
	if f := s.cfg.tracer.AcquireEnd; f != nil && w.asked {
		f(w.ctx, w.acq, s.resultOf(w, w.end))
	}
	w.kept = !errors.Is(w.end, errPanic)
}

func (s *Session) resultOf(w *waiter, err error) Result {
	st, _ := s.conn.State()
	r := Result{Err: err, Position: w.place, Contended: w.contended || w.handed, Handoff: w.handed,
		Waited: time.Since(w.start), Server: st.Server}
	r.Node = w.node
	if err == nil && w.ten != nil {
		r.Node = w.ten.e.Node()
		if w.handle != nil {
			r.Fence = w.handle.fence
		}
	}
	return r
}

// parent asks the tracer for a traceparent, where nodes carry one.
func (s *Session) parent(ctx context.Context) (tp string) {
	if f := s.cfg.tracer.Parent; f != nil && !s.cfg.noInfo {
		defer s.caught()
		tp = f(ctx)
	}
	return tp
}

// tell passes on whom an entry waits for, to the call that is first in line
// for it.
func (l *lock) tell(r *run, b queue.Blocker) {
	if b.Stat.Ctime == 0 && l.s.cfg.tracer.Blocked != nil {
		// One of several that keep a permit from its turn, none of which is
		// watched by itself: a read for those who want to know.
		if data, st, err := l.s.conn.Get(b.Path); err == nil {
			b.Data, b.Stat, b.Local = data, *st, st.EphemeralOwner == r.e.Session()
		}
	}
	p := Peer{Node: b.Path, Position: b.Place, Local: b.Local, Session: b.Stat.EphemeralOwner,
		Persistent: b.Stat.Ctime != 0 && b.Stat.EphemeralOwner == 0}
	if b.Stat.Ctime != 0 {
		p.Since = time.UnixMilli(b.Stat.Ctime)
	}
	if i, ok := znode.DecodeInfo(b.Data); ok {
		p.Identity, p.Host, p.PID = i.Identity, i.Host, i.PID
		p.OwnerID, p.OwnerName, p.TraceParent = i.OwnerID, i.OwnerName, i.TraceParent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.peer = &p
	if slices.Contains(l.runs, r) {
		l.tellLocked(r)
	}
}

// tellLocked tells those whom the entry stands for, once, whom it waits for.
// They may have come to the entry when another call gave up.
func (l *lock) tellLocked(r *run) {
	if r.peer == nil {
		return
	}
	l.eachLocked(r.w, func(w *waiter) {
		if w.told != r.peer {
			w.told, w.contended = r.peer, true
			w.notify()
		}
	})
	if l.s.cfg.tracer.Blocked != nil {
		l.tellBehindLocked(r.peer)
	}
}

// toldLocal is the word of a call that met a holder of its own session.
var toldLocal = new(Peer)

// tellBehindLocked tells those further back in the local line, who have no entry
// of their own and wait for the same one. They are told once: a change that each
// heard of would wake them all.
func (l *lock) tellBehindLocked(peer *Peer) {
	n := l.queue.Len()
	for e := l.queue.Back(); e != nil; e = e.Prev() {
		n--
		w := e.Value.(*waiter)
		if w.told != nil || w.kind == znode.Permit {
			return
		}
		p := *peer
		p.Position += n
		w.told, w.contended = &p, true
		w.notify()
	}
}

// eachLocked calls f for w, and for the readers that share its entry if it does.
func (l *lock) eachLocked(w *waiter, f func(*waiter)) {
	if !w.shares() {
		f(w)
		return
	}
	var next *list.Element
	for e := l.queue.Front(); e != nil; e = next {
		next = e.Next()
		w := e.Value.(*waiter)
		if w.kind != znode.Read {
			return
		}
		if w.shares() {
			f(w)
		}
	}
}

// notify has the call look at told, if it listens. Where nobody wants to know
// there is no channel, and nothing is sent.
func (w *waiter) notify() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// tellLocal tells a call that a holder of its own session is ahead.
func (l *lock) tellLocal(w *waiter, t *tenure) {
	s := l.s
	l.mu.Lock()
	p := Peer{Node: t.e.Node(), Position: l.placeLocked(w), Local: true, Session: t.e.Session(), Since: t.start}
	trace := t.traceLocked()
	l.mu.Unlock()
	if !s.cfg.noInfo {
		p.Identity, p.Host, p.PID = s.cfg.identity, s.host, os.Getpid()
		p.OwnerID, p.OwnerName = t.acq.Owner.id, t.acq.Owner.label
		p.TraceParent = trace
	}
	s.cfg.tracer.Blocked(w.ctx, p)
}
