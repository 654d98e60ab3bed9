package zksync

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Owner is a token for one sequential line of work: a request, a job, an order. It is
// what makes a lock re-entrant; nothing else does. A call is made for an owner through
// [WithOwner] or As. A call for the owner of a held lock enters the lock again at once,
// and the lock is released after as many unlocks.
//
// Calls of one owner never wait for each other: when one of them is granted, those that
// wait for the same lock enter with it. So goroutines that share an owner do not exclude
// each other. A call that can't enter ends with ErrDeadlock, whether it comes while its
// owner holds the lock or waits since before that: a call that wants to write while its
// owner reads, one for a Multi while its owner holds one of its locks, and the other way
// round.
//
// The zero value is no owner. Owners are comparable, may be copied, and may be
// used by several goroutines.
type Owner struct {
	id   string
	name string
}

// NewOwner returns an owner that is equal to no other, even if the names are equal.
// The name is for people: the lock's node publishes it (of a longer one the last 64 bytes), and the
// programs that wait for the lock can show it. To name a call without making the lock
// re-entrant, use [WithLabel].
func NewOwner(name string) Owner {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return Owner{id: hex.EncodeToString(b[:]), name: name}
}

// Name returns the text given to NewOwner.
func (o Owner) Name() string { return o.name }

// ID returns the text that tells the owner from all others: that of [Peer] and [LockNode]
// as OwnerID. It is "" for the zero Owner.
func (o Owner) ID() string { return o.id }

// String returns the name and the id.
func (o Owner) String() string {
	if o.IsZero() {
		return "no owner"
	}
	return o.name + "#" + o.id
}

// LogValue returns a group of the name and the id, or the text "no owner" for the zero
// Owner.
func (o Owner) LogValue() slog.Value {
	if o.IsZero() {
		return slog.StringValue(o.String())
	}
	return slog.GroupValue(slog.String("name", o.name), slog.String("id", o.id))
}

// IsZero reports whether o is no owner.
func (o Owner) IsZero() bool { return o.id == "" }

type ownerKey struct{}

// WithOwner returns a context for lock calls that are made for o, on every lock but a
// Semaphore. They enter again what o holds, and the unlocks that take a context end o's
// levels. With the zero Owner they are made for nobody, even if parent carries an owner.
//
// An owner of As comes before that of a context, and the owner of a context before those
// of the contexts it was made from.
func WithOwner(parent context.Context, o Owner) context.Context {
	return context.WithValue(parent, ownerKey{}, o)
}

// OwnerFrom returns the owner that WithOwner put in ctx, if any.
func OwnerFrom(ctx context.Context) (Owner, bool) {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o, !o.IsZero()
}

type labelKey struct{}

// WithLabel returns a context whose lock calls have a name: what the nodes, [Peer] and
// spans publish as the owner's name (of a longer one the last 64 bytes), in place of the name of the
// call's owner, if there is one. It does nothing else: calls with the same label are as
// strange to each other as any. With "" they have no label, even if parent carries one.
//
// Readers that share a node take turns in naming it: it has the label of one that is
// certain to read. To tell the end of its level, give the context to RUnlockContext.
func WithLabel(parent context.Context, label string) context.Context {
	return context.WithValue(parent, labelKey{}, label)
}

func labelFrom(ctx context.Context) string {
	label, _ := ctx.Value(labelKey{}).(string)
	return label
}

// owner is for whom a call with ctx is made: the owner of As, else that of ctx.
func (m *Mutex) owner(ctx context.Context) Owner {
	if !m.as.IsZero() {
		return m.as
	}
	o, _ := OwnerFrom(ctx)
	return o
}

// names notes for whom a call is made, and what its node says of it.
func (c *call) names(m *Mutex, ctx context.Context) {
	if m.kind != znode.Permit { // permits are nobody's
		o := m.owner(ctx)
		c.Owner, c.acq.Owner = o.id, o
		c.Within = m.locked(ctx)
	}
	c.acq.Label = labelFrom(ctx)
	c.Name.OwnerID, c.Name.Owner = c.Owner, cmp.Or(c.acq.Label, c.acq.Owner.name)
}

type doKey struct{}

// doing is a Do that runs, for the contexts of its fn.
type doing struct {
	s     *Session
	paths []string // in ZooKeeper
	over  atomic.Bool
	outer *doing // around it
}

// doing returns a context for the fn of a Do, whose calls for the same lock must not
// wait, until the Do has ended.
func (m *Mutex) doing(ctx context.Context) (fctx context.Context, end func()) {
	if m.kind == znode.Permit {
		return ctx, func() {} // more permits may be free
	}
	outer, _ := ctx.Value(doKey{}).(*doing)
	for outer != nil && outer.over.Load() {
		outer = outer.outer
	}
	d := &doing{s: m.s, paths: m.nodes(), outer: outer}
	return context.WithValue(ctx, doKey{}, d), func() { d.over.Store(true) }
}

// nodes returns the full paths of the lock, or of its parts.
func (m *Mutex) nodes() []string {
	if m.cfg.Parts == nil {
		return []string{m.full}
	}
	all := make([]string, len(m.cfg.Parts))
	for i, p := range m.cfg.Parts {
		all[i] = p.Path
	}
	return all
}

// locked reports whether ctx is that of a Do which runs and holds the same lock, or one
// of its parts.
func (m *Mutex) locked(ctx context.Context) bool {
	d, _ := ctx.Value(doKey{}).(*doing)
	for ; d != nil; d = d.outer {
		if d.s == m.s && !d.over.Load() && slices.ContainsFunc(d.paths, m.has) {
			return true
		}
	}
	return false
}

// has reports whether the lock is that of a path, or has it as a part.
func (m *Mutex) has(path string) bool {
	return m.full == path || slices.ContainsFunc(m.cfg.Parts, func(p local.Part) bool { return p.Path == path })
}
