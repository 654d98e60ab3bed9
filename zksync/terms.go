package zksync

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// terms is what shows in ZooKeeper, in which all that use a path on a session at
// one time have to agree. A Multi has one access list; each of its parts has its
// own manners.
type terms struct {
	acl     []zk.ACL
	permits bool // the path is a semaphore's
	manners
	parts []part // of a Multi
}

// manners are how a lock treats the programs of others at its path.
type manners struct {
	kazoo   bool            // WithKazooQueue, which concerns a Mutex only
	foreign []znode.Foreign // WithForeignPrefix; in the order of the prefixes
}

func (m *manners) same(o *manners) bool {
	return m.kazoo == o.kazoo && slices.Equal(m.foreign, o.foreign)
}

// part is one path of a Multi.
type part struct {
	path string // in ZooKeeper
	kind znode.Kind
	manners
	twin bool // a Mutex with WithKazooQueue: a second node, which kazoo sees
}

func (p part) same(o part) bool {
	return p.path == o.path && p.kind == o.kind && p.twin == o.twin && p.manners.same(&o.manners)
}

// placesOf is where the nodes for a call stand.
func (t *terms) placesOf(full string, w *waiter) (all []queue.Place) {
	add := func(p queue.Place, twin bool) {
		all = append(all, p)
		if p.Kazoo = true; twin {
			all = append(all, p)
		}
	}
	if t.parts == nil {
		p := place(full, w.kind)
		p.Weight, p.Limit, p.Foreign = w.weight, w.limit, t.foreign
		add(p, t.kazoo && w.kind == znode.Exclusive)
	}
	for _, p := range t.parts {
		place := place(p.path, p.kind)
		place.Foreign = p.foreign
		add(place, p.twin)
	}
	return all
}

// multiPart is a part of a Multi in use.
type multiPart struct {
	l *lock
	i int // of the part
}

// consist notes what the lock of a Multi consists of, while it is in use.
func (l *lock) consist(t *terms) {
	s := l.s
	l.mu.Lock()
	defer l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.parts != nil {
		return
	}
	l.terms = *t
	s.multis.Add(1)
	for i, p := range l.parts {
		s.parts[p.path] = append(s.parts[p.path], multiPart{l, i})
	}
}

// scatterLocked takes the lock of a Multi that is in use no more out of the
// parts.
func (s *Session) scatterLocked(l *lock) {
	if l.parts == nil {
		return
	}
	s.multis.Add(-1)
	for _, p := range l.parts {
		left := slices.DeleteFunc(s.parts[p.path], func(o multiPart) bool { return o.l == l })
		if s.parts[p.path] = left; len(left) == 0 {
			delete(s.parts, p.path)
		}
	}
}

// conflict is a call's refusal because another lock is in use for one of its
// paths: a plain lock and a Multi, or two Multis.
type conflict struct {
	with *lock
	error
}

func (c *conflict) Unwrap() error { return c.error }

// bindLocked has the lock, which is idle, used on the terms of a call. It
// returns a conflict if a lock that shares a path with it is used on others, or
// was until now: see release.
func (l *lock) bindLocked(t *terms) error {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := l.multisLocked(t); err != nil {
		return err
	}
	for _, p := range t.parts {
		if o := s.locks[p.path]; o != nil {
			if err := o.refuses(&o.manners, t, &p.manners); err != nil {
				return err
			}
		}
		for _, o := range s.parts[p.path] {
			if o.l == l {
				continue
			}
			if err := o.l.refuses(&o.l.parts[o.i].manners, t, &p.manners); err != nil {
				return err
			}
		}
	}
	l.terms, l.bound = *t, true
	return nil
}

// multisLocked returns a conflict if a plain lock, or semaphore, may not be used on
// the terms of a call since a Multi is in use for its path. It needs Session.mu.
func (l *lock) multisLocked(t *terms) error {
	if t.parts != nil {
		return nil
	}
	for _, o := range l.s.parts[l.full] {
		if err := o.l.refuses(&o.l.parts[o.i].manners, t, &t.manners); err != nil {
			return err
		}
	}
	return nil
}

// refuses returns a conflict if the lock, which has manners m at a path, is in use
// on other terms than t, which has theirs at it. It needs Session.mu.
func (l *lock) refuses(m *manners, t *terms, theirs *manners) error {
	if !l.bound {
		return nil
	}
	if err := l.against(m, t, theirs); err != nil {
		return &conflict{l, err}
	}
	return nil
}

// against says in what the terms of two for one path differ.
func (t *terms) against(m *manners, o *terms, theirs *manners) error {
	switch {
	case !slices.Equal(t.acl, o.acl), !m.same(theirs):
		return errOptions
	case t.permits != o.permits:
		return errKind
	}
	return nil
}

// agrees returns an error unless a lock in use may be used on the terms of
// another call for it, too.
func (t *terms) agrees(o *terms) error {
	if len(t.parts)+len(o.parts) > 0 && !sameParts(t, o) {
		return errOptions // of the same parts, or it were another lock
	}
	return t.against(&t.manners, o, &o.manners)
}

// sameParts is a function of its own for the stack of those who wait.
//
//go:noinline
func sameParts(t, o *terms) bool { return slices.EqualFunc(t.parts, o.parts, part.same) }

// settles reports whether a call that was refused may try again: the lock that
// is in its way is idle by now, and bound to no terms.
func (c *conflict) settles() bool {
	l := c.with
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.idleLocked() {
		return false
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.bound = false
	return true
}

// kin returns the locks in use that share a path with m's.
func (m *Mutex) kin() (list []*lock) {
	s := m.s
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(path string) {
		for _, o := range s.parts[path] {
			if o.l.full != m.full {
				list = append(list, o.l)
			}
		}
	}
	if m.cfg.parts == nil {
		add(m.full)
	}
	for _, p := range m.cfg.parts {
		if l := s.locks[p.path]; l != nil {
			list = append(list, l)
		}
		add(p.path)
	}
	return list
}

// entangled reports whether the owner would wait for itself: it holds a Multi
// with the lock it asks for, or a lock of the Multi it asks for.
func (m *Mutex) entangled(o Owner) bool {
	if o.IsZero() || m.cfg.parts == nil && m.s.multis.Load() == 0 {
		return false
	}
	return slices.ContainsFunc(m.kin(), func(l *lock) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.mineLocked(&waiter{owner: o}) != nil
	})
}
