package protocol_test

// known is what a session knows of one path for the census. It ends with the
// connection.
type known struct {
	valid bool
	id    id    // the last node that was granted
	last  uint8 // its number
	kind  kind
	alone bool  // nobody else's node stood before it when it was granted
	gen   uint8 // its parent, as the list that showed it said
	gone  stage // what is known of its deletion

	watch   stage // none, sent or answered; an event makes it none
	parent  uint8
	guarded bool // the watch had been answered when the deletion was sent
}

// stage is how far something has got.
type stage uint8

const (
	none stage = iota
	sent
	answered
)

// censusOf returns the rule of a session. In the scenarios of the census A counts; the
// others list, which costs them a request and says the same.
func (w *world) censusOf(i int) rule {
	if i > 0 {
		return noCensus
	}
	return w.census
}

// fire forgets the watch and all that rests on it.
func (n *known) fire() { *n = known{} }

// guard asks for the watches on the parents' data that are missing.
func (w *world) guard(i, k int) {
	s := &w.sess[i]
	for p := range paths {
		if n := &s.known[p]; s.tasks[k].mask&(1<<p) != 0 && n.watch == none && !w.wrong("no watch on the parent") {
			w.note("%s asks for a watch on the parent %s", name(i), pathName(p))
			n.watch = sent
			w.send(i, request{op: opGuard, task: uint8(k), mask: 1 << p})
		}
	}
}

// guarded goes on after the answer to a watch on the parent.
func (w *world) guarded(i int, m message) {
	n := &w.sess[i].known[m.path]
	if n.watch == sent {
		n.watch = answered
		n.parent = m.gen
		if m.res != done {
			n.fire()
		}
	}
}

// record notes a grant.
func (w *world) record(i, k int) {
	s := &w.sess[i]
	t := &s.tasks[k]
	for p := range paths {
		n := &s.known[p]
		if t.mask&(1<<p) == 0 || n.valid && n.last > t.seq[p] {
			continue
		}
		if !t.number || t.saw[p] != 0xff {
			n.alone = t.kind == write || t.saw[p]&alone != 0
			n.gen = t.gen[p]
		}
		n.valid, n.id, n.last, n.kind, n.gone, n.guarded = true, t.id, t.seq[p], t.kind, none, false
	}
}

// leaving notes that the deletion of a task's node is sent now.
func (w *world) leaving(i, k int) {
	s := &w.sess[i]
	for p := range paths {
		if n := &s.known[p]; n.valid && n.id == s.tasks[k].old {
			n.gone, n.guarded = sent, n.watch == answered
		}
	}
}

// erased notes the answer to the deletion of a node.
func (w *world) erased(i int, m message) {
	for p := range paths {
		n := &w.sess[i].known[p]
		if !n.valid || n.id != m.id {
			continue
		}
		n.gone = answered
		if m.res != done && w.census == byDeletion && !w.wrong("a deletion answered NoNode") {
			n.valid = false
		}
	}
}

// mayCount reports whether the create is sent without a list, since its number will
// say whether anybody stands before the node.
func (w *world) mayCount(i, k int) bool {
	s := &w.sess[i]
	if w.censusOf(i) == noCensus {
		return false
	}
	for p := range paths {
		if s.tasks[k].mask&(1<<p) != 0 && !w.trusts(i, k, p, sent) {
			return false
		}
	}
	return true
}

// counts reports whether the number of the node that was made says that it is its turn.
func (w *world) counts(i, k int) bool {
	s := &w.sess[i]
	t := &s.tasks[k]
	if t.peeked { // the watch was sent before the list, and has been silent since
		return (s.known[0].watch == answered || w.wrong("no watch on the parent")) && t.seq[0] == t.next
	}
	for p := range paths {
		if t.mask&(1<<p) != 0 && (!w.trusts(i, k, p, answered) || t.seq[p] != s.known[p].last+1) {
			return false
		}
	}
	return true
}

// trusts reports whether what is known of path p lets a number decide. The deletion of
// the last node and the watch on the parent have to be sent before the create, and
// answered before the grant.
func (w *world) trusts(i, k, p int, known stage) bool {
	s := &w.sess[i]
	n := &s.known[p]
	if !n.valid {
		return false
	}
	if n.watch < known && !w.wrong("no watch on the parent") && !w.wrong("a watch set after the node went") {
		return false
	}
	reads := s.tasks[k].kind == read
	beside := reads && (n.kind == read || w.wrong("a reader beside its own writer")) && n.gone == none // the last node stands, and excludes no reader
	if !reads && !n.alone && !w.wrong("a writer after readers") {
		return false
	}
	if n.gone < known && !beside && !w.wrong("the old node still held") {
		return false
	}
	if !reads && w.stands(i, k, p) {
		return false
	}
	switch w.census {
	case byDeletion:
		return n.guarded || beside || w.wrong("a watch set after the node went") || w.wrong("no watch on the parent") || w.wrong("the old node still held")
	default:
		return n.watch == sent || n.parent == n.gen || w.wrong("the parents not compared") || w.wrong("no watch on the parent")
	}
}

// stands reports whether another node of the session may stand below path p.
func (w *world) stands(i, k, p int) bool {
	if w.wrong("the old node still held") {
		return false
	}
	for l := range w.sess[i].tasks {
		t := &w.sess[i].tasks[l]
		if t.mask&(1<<p) != 0 && l != k && (t.id != 0 || t.old != 0) {
			return true
		}
	}
	return false
}

// peek has a try ask for the list. The watch comes first: it tells whether the parent is
// the same from the list to the create.
func (w *world) peek(i, k int) {
	t := &w.sess[i].tasks[k]
	t.clear()
	t.phase = peeking
	late := w.wrong("the watch sent after the list")
	if !late {
		w.guard(i, k)
	}
	w.note("%s asks for the list below P, and has no node", name(i))
	w.ask(i, k, request{op: opList, mask: t.mask, kind: t.kind, seq: 0xff})
	if late {
		w.guard(i, k)
	}
}

// peeked gives up if somebody is in line. Otherwise it asks for a node.
func (w *world) peeked(i, k int) {
	t := &w.sess[i].tasks[k]
	if t.block[0] != 0 {
		w.note("%s is refused: somebody is in line", name(i))
		t.cycles--
		t.phase = idle
		t.clear()
		return
	}
	gen := t.gen
	t.peeked = true
	w.begin(i, k)
	t.gen = gen
}

// evict gives up the watch on a parent, so that the session knows fewer paths.
func (w *world) evict(i int) {
	w.note("%s gives up what it knows of P", name(i))
	s := &w.sess[i]
	s.known[0].fire()
	if w.wrong("a watch removed after the next one was set") {
		s.forget = true
		return
	}
	w.forget(i)
}

func (w *world) forget(i int) {
	w.sess[i].forget = false
	w.note("%s asks to remove its watch on P", name(i))
	w.send(i, request{op: opForget, mask: 1})
}
