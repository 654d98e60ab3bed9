package zksync

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// errPanic is what a call's AcquireEnd gets when a function of the tracer
// panicked within the call.
var errPanic = errors.New("zksync: panic in a tracer's function")

// traced acquires the lock and tells the tracer of it. A panic of the tracer's
// gives back what was granted.
func (l *lock) traced(w *waiter) error {
	defer l.settle(w)
	l.asked(w)
	err := l.acquire(w)
	if err == nil {
		l.granted(w)
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
func (l *lock) settle(w *waiter) {
	defer l.leave()
	defer func() {
		if !w.kept && w.ten != nil && w.err == nil {
			l.undo(w)
		}
	}()
	if w.waits {
		l.left(w)
	}
	l.answered(w)
}

// asked, granted and answered tell the tracer of a call.
//
//go:noinline
func (l *lock) asked(w *waiter) {
	tr := l.s.cfg.tracer
	w.ctx = w.call
	if tr.AcquireStart != nil {
		w.ctx = tr.AcquireStart(w.call, w.acq)
	}
	w.asked, w.end = true, errPanic
	if tr.Blocked != nil {
		w.peers = make(chan *Peer, 1)
	}
}

//go:noinline
func (l *lock) granted(w *waiter) {
	if f := l.s.cfg.tracer.Handoff; f != nil && w.handed {
		f(w.ctx, w.acq)
	}
	w.ten.begin(w.ctx)
}

func (l *lock) answered(w *waiter) {
	if f := l.s.cfg.tracer.AcquireEnd; f != nil && w.asked {
		f(w.ctx, w.acq, w.result(w.end))
	}
	w.kept = !errors.Is(w.end, errPanic)
}

func (w *waiter) result(err error) Result {
	r := Result{Err: err, Position: w.place, Contended: w.contended, Handoff: w.handed, Waited: time.Since(w.start)}
	r.Node = w.node
	if err == nil {
		r.Node = w.ten.e.Node()
		if w.handle != nil {
			r.Fence = w.handle.fence
		}
	}
	return r
}

// payload is what the node of an entry made for w says.
func (s *Session) payload(w *waiter) []byte {
	if s.cfg.noInfo {
		return nil
	}
	i := znode.Info{Identity: s.cfg.identity, Host: s.host, PID: os.Getpid()}
	i.OwnerID, i.OwnerName = w.acq.Owner.id, w.acq.Owner.label
	i.TraceParent = s.parent(w.ctx)
	return i.Encode()
}

// parent asks the tracer for a traceparent.
func (s *Session) parent(ctx context.Context) (tp string) {
	if f := s.cfg.tracer.Parent; f != nil {
		s.hook(func() { tp = f(ctx) })
	}
	return tp
}

// tell passes on whom an entry waits for, to the call that is first in line
// for it.
func (l *lock) tell(r *run, b queue.Blocker) {
	p := Peer{
		Node: b.Path, Position: b.Place, Local: b.Local,
		Session: b.Stat.EphemeralOwner, Since: time.UnixMilli(b.Stat.Ctime),
	}
	if i, ok := znode.DecodeInfo(b.Data); ok {
		p.Identity, p.Host, p.PID = i.Identity, i.Host, i.PID
		p.OwnerID, p.OwnerName, p.TraceParent = i.OwnerID, i.OwnerName, i.TraceParent
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.peer, r.told = &p, nil
	if l.run == r {
		r.tellLocked(l.headLocked())
	}
}

// tellLocked tells the first waiter, once, whom the entry waits for. It may
// have come to the entry when another call gave up.
func (r *run) tellLocked(w *waiter) {
	if w == nil || r.peer == nil || r.told == w {
		return
	}
	r.told = w
	w.contended = true
	w.notify(r.peer)
}

// notify leaves the newest word for the call, which may not listen.
func (w *waiter) notify(p *Peer) {
	if w.peers == nil {
		return
	}
	select {
	case <-w.peers:
	default:
	}
	w.peers <- p
}

// tellLocal tells a call that a holder of its own session is ahead.
func (l *lock) tellLocal(w *waiter, t *tenure) {
	s := l.s
	l.mu.Lock()
	p := Peer{Node: t.e.Node(), Position: l.placeLocked(w), Local: true, Session: t.e.Session(), Since: t.start}
	l.mu.Unlock()
	if !s.cfg.noInfo {
		p.Identity, p.Host, p.PID = s.cfg.identity, s.host, os.Getpid()
		p.OwnerID, p.OwnerName = t.acq.Owner.id, t.acq.Owner.label
		p.TraceParent = s.parent(t.asked)
	}
	s.cfg.tracer.Blocked(w.ctx, p)
}
