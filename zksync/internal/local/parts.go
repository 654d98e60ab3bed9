package local

import (
	"slices"
)

// part is one part of a lock in use that has several.
type part struct {
	l *Lock
	i int // the index of the part
}

// Consist records the parts of the lock while it is in use.
func (l *Lock) Consist(terms *Terms) {
	t := l.t
	l.mu.Lock()
	defer l.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.terms.Parts != nil {
		return
	}
	l.terms = *terms
	t.multis.Add(1)
	for i, p := range l.terms.Parts {
		t.parts[p.Path] = append(t.parts[p.Path], part{l, i})
	}
}

// scatterLocked removes the parts of a lock that is not in use any more from the table.
func (t *Table) scatterLocked(l *Lock) {
	if l.terms.Parts == nil {
		return
	}
	t.multis.Add(-1)
	for _, p := range l.terms.Parts {
		left := slices.DeleteFunc(t.parts[p.Path], func(o part) bool { return o.l == l })
		if t.parts[p.Path] = left; len(left) == 0 {
			delete(t.parts, p.Path)
		}
	}
}

// conflict refuses a call because another lock is in use for one of its paths.
type conflict struct {
	with *Lock
	error
}

func (c *conflict) Unwrap() error { return c.error }

// settles reports whether a refused call may try again, because the other lock has
// become idle and is bound to no terms.
func (c *conflict) settles() bool {
	l := c.with
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.idle() {
		return false
	}
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	l.bound = false
	return true
}

// bind binds the idle lock to the terms of a call. It returns a conflict if a lock that
// shares a path with it is bound to other terms. It is called with l.mu held.
func (l *Lock) bind(terms *Terms) error {
	t := l.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := l.partsRefuseLocked(terms); err != nil {
		return err
	}
	for _, p := range terms.Parts {
		if o := t.locks[p.Path]; o != nil {
			if err := o.refusesLocked(&o.terms.Manners, terms, &p.Manners); err != nil {
				return err
			}
		}
		for _, o := range t.parts[p.Path] {
			if o.l == l {
				continue
			}
			if err := o.l.refusesLocked(&o.l.terms.Parts[o.i].Manners, terms, &p.Manners); err != nil {
				return err
			}
		}
	}
	l.terms, l.bound = *terms, true
	return nil
}

// partsRefuse returns a conflict if a part of another lock in use contradicts the terms
// of a call, or nil.
func (l *Lock) partsRefuse(terms *Terms) error {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	return l.partsRefuseLocked(terms)
}

func (l *Lock) partsRefuseLocked(terms *Terms) error {
	if terms.Parts != nil {
		return nil
	}
	for _, o := range l.t.parts[l.name] {
		if err := o.l.refusesLocked(&o.l.terms.Parts[o.i].Manners, terms, &terms.Manners); err != nil {
			return err
		}
	}
	return nil
}

// refusesLocked returns a conflict if the lock is in use on other terms than a call's. m
// and theirs are the manners of the lock and of the call at the path that they share. The
// caller must hold the table's mutex.
func (l *Lock) refusesLocked(m *Manners, terms *Terms, theirs *Manners) error {
	if !l.bound {
		return nil
	}
	if err := l.terms.against(m, terms, theirs); err != nil {
		return &conflict{l, err}
	}
	return nil
}

// Entangled reports whether the owner would wait for itself: it holds a lock that
// shares a path with the one that it asks for.
func (t *Table) Entangled(name string, terms *Terms, owner string) bool {
	if owner == "" || terms.Parts == nil && t.multis.Load() == 0 {
		return false
	}
	return slices.ContainsFunc(t.sharing(name, terms), func(l *Lock) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.line.holds(owner)
	})
}

// entangles ends the calls of an owner, who has taken the lock, that wait for locks which
// share a path with it. A call that comes to wait after that finds out itself: see
// Lock.join. It is called with l.mu held.
func (l *Lock) entangles(owner string) {
	if owner == "" || l.terms.Parts == nil && l.t.multis.Load() == 0 {
		return
	}
	now := l.t.came.Load()
	for _, o := range l.t.sharing(l.name, &l.terms) {
		l.todo.rest = append(l.todo.rest, func() { o.forbid(owner, now) })
	}
}

// sharing returns the locks in use, apart from one, that share a path with it.
func (t *Table) sharing(name string, terms *Terms) (list []*Lock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add := func(path string) {
		for _, o := range t.parts[path] {
			if o.l.name != name {
				list = append(list, o.l)
			}
		}
	}
	if terms.Parts == nil {
		add(name)
	}
	for _, p := range terms.Parts {
		if l := t.locks[p.Path]; l != nil {
			list = append(list, l)
		}
		add(p.Path)
	}
	return list
}
