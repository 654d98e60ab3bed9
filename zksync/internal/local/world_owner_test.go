package local

import "slices"

// What the world knows of owners, and of giving back.

// entries are the holders of a call's owner that it may enter, by the kinds of both, and
// how.
var entries = map[[2]Kind]entry{
	{Exclusive, Exclusive}: same, {Exclusive, Write}: same, {Write, Exclusive}: same, {Write, Write}: same,
	{Read, Read}: same, {Write, Read}: beside, // a holder's, a call's
}

// deadlocked checks that a call which ends can't enter what its owner holds.
func (w *world) deadlocked(c *Call) {
	if w.forbidden == c.Owner {
		return
	}
	h := w.mine(c.Owner, c.Kind)
	if h == nil {
		w.wrong("a call ends as if it waited for its owner")
		return
	}
	if _, may := entries[[2]Kind{h.kind, c.Kind}]; may {
		w.wrong("a call ends that may enter what its owner holds")
	}
	if !h.accepted {
		w.wrong("a call ends for a grant that its owner may still give back")
	}
}

// waiting checks that a group does not wait for its own owner, who knows that it holds. A
// call that can't enter waits until that is certain.
func (w *world) waiting(g *group) {
	h := w.mine(g.Owner, g.Kind)
	if h == nil {
		return
	}
	if _, may := entries[[2]Kind{h.kind, g.Kind}]; may || h.accepted {
		w.wrong("a call waits for its own owner")
	}
}

// unaccepted returns an owner's holder whose grant no call has taken yet, or nil.
func (w *world) unaccepted() *Holder {
	for e := w.line.held.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*Holder); h.owner != "" && !h.accepted && h.levels+int64(h.handles) > 0 {
			return h
		}
	}
	return nil
}

// comes has a call, which was answered, come to a holder of its owner later.
func (w *world) comes(c *Call) {
	h := c.into
	how, may := entries[[2]Kind{h.kind, c.Kind}]
	if !may || h.owner != c.Owner || how == same && !c.Want.Handle {
		w.wrong("a call is sent to a holder that it can't enter, or enters at once")
	}
	w.coming = append(w.coming, c)
}

// arrives has a call enter the holder that it was sent to. If that was lost meanwhile
// the call ends.
func (w *world) arrives(c *Call) {
	w.coming = slices.DeleteFunc(w.coming, func(o *Call) bool { return o == c })
	h := c.into
	c.into = nil
	if w.choose(3) == 0 { // it gives up
		if w.entered(h) {
			w.end(h)
		}
		return
	}
	if w.node(h.ticket) == nil {
		w.lose(h, errGone)
	}
	if h.lost != nil {
		w.entered(h)
		return
	}
	if h.over() || h.ticket.holder != h {
		w.wrong("a holder has ended before a call of its owner, which waited, could enter")
		return
	}
	c.ready = make(chan struct{})
	w.answered[c] = 0
	w.own(h, c)
	if w.entered(h) {
		w.end(h)
	}
}

// forbids has an owner get another lock that shares a path with this one.
func (w *world) forbids(owner string) {
	w.forbidden = owner
	w.forbid(owner, 0)
	w.forbidden = "-"
	for g := w.first(); g != nil; g = w.next(g) {
		if owner != "" && g.Owner == owner {
			w.wrong("a call waits that was to end")
		}
	}
}

// own serves a call whose owner holds.
func (w *world) own(h *Holder, c *Call) {
	n := w.node(h.ticket)
	w.owning = c
	defer func() { w.owning = nil }()
	if h.lost != nil || n == nil { // refused, or found lost by a look at the node
		w.lose(h, errGone)
		return
	}
	switch how, may := entries[[2]Kind{h.kind, c.Kind}]; {
	case !may: // refused
	case how == same:
		w.enter(h, c)
	default:
		t := &Ticket{kind: Read}
		at := slices.Index(w.nodes, n) + 1
		w.nodes = slices.Insert(w.nodes, at, &node{ticket: t, kind: Read, after: h.ticket})
		w.downgrade(t, c)
	}
}

// giveBack gives a level or a handle of a holder back.
func (w *world) giveBack(h *Holder) {
	if h.handles > 0 {
		h.handles--
		w.end(h)
		return
	}
	if h.levels == 0 {
		return // nothing but calls that are on their way in
	}
	side := func(k Kind) bool { return k.Alone() == h.kind.Alone() }
	owner := ""
	switch {
	case h.kind == Permit || w.choose(2) == 0:
	case h.owner != "":
		owner = h.owner
	default: // of nobody, by a context with an owner
		owner = "c"
	}
	paid := w.pays(side, owner)
	w.fairlyPaid(paid, side, owner)
	if paid == nil {
		return
	}
	if paid.levels--; paid.kind == Permit {
		paid.levels = 0
	}
	w.end(paid)
}

// fairlyPaid checks whose level it is that is given back: what was lost comes first,
// then the newest permit, or the oldest that reads; an owner pays for nobody else, and is
// paid for only if there is nobody else.
func (w *world) fairlyPaid(paid *Holder, side func(Kind) bool, owner string) {
	if paid == nil {
		w.wrong("nobody is paid for")
		return
	}
	newer := false
	for e := w.line.held.Back(); e != nil; e = e.Prev() {
		h := e.Value.(*Holder)
		if h.levels == 0 || !side(h.kind) {
			continue
		}
		if newer = newer || h == paid; h == paid {
			continue
		}
		switch {
		case owner != "" && paid.owner != owner && (paid.owner != "" || h.owner == owner):
			w.wrong("an owner pays for another one")
		case owner != "" && h.owner != paid.owner:
		case owner == "" && h.owner == "" && paid.owner != "":
			w.wrong("an owner is paid for though there is somebody else")
		case (h.owner == owner) != (paid.owner == owner):
		case h.lost != nil && paid.lost == nil:
			w.wrong("what was lost is not paid first")
		case (h.lost != nil) == (paid.lost != nil) && newer == (h.kind != Permit):
			w.wrong("they are not paid in order")
		}
	}
}
