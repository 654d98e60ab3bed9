package local

import (
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// The refusals of a call on terms that contradict those of a lock in use.
var (
	ErrTerms = errors.New("another value for this path is in use with other options (WithACL, WithKazooName, WithForeignPrefix)")
	ErrKind  = errors.New("another value for this path is in use: a path is a semaphore's or a lock's")
)

// Terms is what shows in ZooKeeper, in which all that use a path on a session at
// one time have to agree. Several locks taken at once have one access list; each of
// their parts has its own manners.
type Terms struct {
	ACL     []zk.ACL
	Permits bool // the path is a semaphore's
	Manners
	Parts []Part // of several locks at once
}

// Manners are how a lock treats the programs of others at its path.
type Manners struct {
	Kazoo   bool            // a second node, which kazoo sees; it concerns exclusive locks only
	Foreign []znode.Foreign // other recipes' names; in the order of the prefixes
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

// places is where the nodes for a group stand.
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

// place is where and how a node of a kind stands.
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

// against says in what the terms of two for one path differ. m and theirs are the
// manners of each at that path.
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
		return ErrTerms // of the same parts, or it were another lock
	}
	return t.against(&t.Manners, o, &o.Manners)
}

// sameParts is a function of its own for the stack of those who wait.
//
//go:noinline
func sameParts(t, o *Terms) bool { return slices.EqualFunc(t.Parts, o.Parts, Part.same) }
