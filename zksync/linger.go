package zksync

import (
	"context"

	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// again takes the lock if the session has kept it (WithLinger), for a call that leaves no
// trace. It makes no request and needs no memory. If it returns false it has done nothing.
// It is not inlined, which keeps the stack of waiting goroutines small.
//
//go:noinline
func (m *Mutex) again() bool {
	if m == nil || !m.lingers {
		return false
	}
	q := local.Quick{Kind: m.kind, Terms: &m.cfg.Terms, Handoff: m.cfg.handoff, Linger: m.cfg.linger}
	kept := m.kept.Load()
	if kept != nil && kept.Take(&q) {
		return true
	}
	l := m.s.table.Lookup(m.full)
	if l == nil || l == kept {
		return false
	}
	m.kept.Store(l)
	return l.Take(&q)
}

// againFor does the same as again for a call with a context.
func (m *Mutex) againFor(ctx context.Context) bool {
	return m != nil && m.lingers && ctx.Err() == nil && leavesNoTrace(ctx) && m.again()
}

// leavesNoTrace reports whether the calls with a context are made for nobody in
// particular.
func leavesNoTrace(ctx context.Context) bool {
	return ctx.Value(ownerKey{}) == nil && ctx.Value(labelKey{}) == nil && ctx.Value(doKey{}) == nil
}

// keep ends a level of the lock if that takes no request: the session keeps the lock, or
// it passes to the next call here. If keep returns false it has done nothing. See local.Lock.Give for sure.
func (m *Mutex) keep(sure bool) bool {
	if m == nil || !m.silent {
		return false
	}
	l := m.kept.Load()
	if l == nil {
		l = m.s.table.Lookup(m.full)
	}
	return l != nil && l.Give(m.kind == znode.Read, sure)
}

// silent reports whether no call for a lock has to tell the tracer of anything.
func (t *Tracer) silent() bool {
	return t.AcquireStart == nil && t.Blocked == nil && t.AcquireEnd == nil && t.HoldStart == nil && t.HoldEnd == nil &&
		t.ReleaseStart == nil && t.ReleaseEnd == nil && t.Handoff == nil && t.Parent == nil
}
