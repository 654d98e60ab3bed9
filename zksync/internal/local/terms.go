package local

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// The refusals of a call whose terms contradict those of a lock in use.
var (
	ErrTerms = errors.New("another value for this path is in use with other options (WithACL, WithKazooName, WithForeignPrefix)")
	ErrKind  = errors.New("another value for this path is in use: a path is a semaphore's or a lock's")
)

// Terms are the options that show in ZooKeeper. All calls that use a path on a session at
// one time must agree in them. Several locks taken at once have one access list; each of
// their parts has its own manners.
type Terms struct {
	ACL     []zk.ACL
	Permits bool // the path is a semaphore's
	Manners
	Parts []Part // of several locks taken at once
}

// Manners are the options for programs with other libraries at the lock's path.
type Manners struct {
	Kazoo   bool            // exclusive locks have a second node, which kazoo sees
	Foreign []znode.Foreign // the names of other recipes, sorted by prefix
}

// Same reports whether two manners are the same.
func (m *Manners) Same(o *Manners) bool {
	return m.Kazoo == o.Kazoo && slices.Equal(m.Foreign, o.Foreign)
}

// Part is one path of several that are locked at once.
type Part struct {
	Path string // in ZooKeeper
	Kind Kind
	Manners
	Twin bool // a second node, which kazoo sees
}

func (p Part) same(o Part) bool {
	return p.Path == o.Path && p.Kind == o.Kind && p.Twin == o.Twin && p.Manners.Same(&o.Manners)
}

// places returns where the nodes for a group stand.
func (t *Terms) places(full string, w Want) (all []queue.Place) {
	add := func(p queue.Place, twin bool) {
		all = append(all, p)
		if p.Kazoo = true; twin {
			all = append(all, p)
		}
	}
	if t.Parts == nil {
		p := place(full, w.Kind)
		p.Weight, p.Limit, p.Foreign = w.Weight, w.Limit, t.Foreign
		add(p, t.Kazoo && w.Kind == Exclusive)
	}
	for _, part := range t.Parts {
		p := place(part.Path, part.Kind)
		p.Foreign = part.Foreign
		add(p, part.Twin)
	}
	return all
}

// place returns where and how a node of a kind stands.
func place(parent string, kind Kind) queue.Place {
	p := queue.Place{Parent: parent, Kind: kind, Rule: queue.First}
	switch kind {
	case Read:
		p.Rule = queue.NoWriter
	case Permit:
		p.Rule = queue.Fits
	}
	return p
}

// against returns an error if the terms of two calls for one path differ. m and theirs
// are the manners of each at that path.
func (t *Terms) against(m *Manners, o *Terms, theirs *Manners) error {
	switch {
	case !slices.Equal(t.ACL, o.ACL), !m.Same(theirs):
		return ErrTerms
	case t.Permits != o.Permits:
		return ErrKind
	}
	return nil
}

// agrees returns an error unless a lock in use may be used on the terms of
// another call for it, too.
func (t *Terms) agrees(o *Terms) error {
	if len(t.Parts)+len(o.Parts) > 0 && !sameParts(t, o) {
		return ErrTerms // their paths are the same, since the lock is
	}
	return t.against(&t.Manners, o, &o.Manners)
}

// sameParts is not inlined, which keeps the stack of waiting goroutines small.
//
//go:noinline
func sameParts(t, o *Terms) bool { return slices.EqualFunc(t.Parts, o.Parts, Part.same) }

// admits returns an error for a call that can't be served.
func (l *Lock) admits(c *Call) error {
	switch {
	case l.t.closed.Load(), l.t.stopped() && !c.Must && l.line.enterable(c) == nil:
		return ErrRefused // only an owner that holds the lock may still enter it
	case c.Kind == Permit && c.Weight == 0:
		return l.nothing(c.Terms)
	case l.idle():
		return l.bind(c.Terms)
	}
	return l.terms.agrees(c.Terms)
}

// nothing does the same as admits for a call for no permits, which makes no request and
// binds the lock to no terms.
func (l *Lock) nothing(terms *Terms) error {
	if err := l.partsRefuse(terms); err != nil {
		return err
	}
	if !l.idle() && !l.terms.Permits {
		return ErrKind // the path belongs to a lock, not to a semaphore
	}
	return nil
}

// idle reports whether no call waits for the lock and no holder has it. Nodes may still
// have to be deleted.
func (l *Lock) idle() bool {
	return l.line.first() == nil && l.line.held.n == 0 && l.line.moving == 0
}
