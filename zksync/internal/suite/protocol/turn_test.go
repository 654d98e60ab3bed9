package protocol_test

// entered goes on after the answer to a create.
func (w *world) entered(i, k int) {
	t := &w.sess[i].tasks[k]
	switch {
	case !t.made && t.refused == noNode && !t.swaps:
		w.note("%s is told that there is no parent", name(i))
		t.parent, t.peeked = true, false
		if t.saw[0] != 0xff && (t.saw[0]&alone == 0 || t.block[0] != 0) {
			t.saw[0] = 0xff
		}
		w.begin(i, k)
	case !t.made:
		t.newPath = false
		w.begin(i, k) // the parent exists, or the node to swap is lost
	case t.newPath:
		t.newPath = false
		w.note("%s has made the parent, so it is alone", name(i))
		w.turn(i, k, byNewPath)
	case !t.number:
		if w.wrong("the last node not granted") {
			w.record(i, k)
		}
		w.judge(i, k)
	case t.saw[0] != 0xff:
		t.saw[0] |= shows // the deliberate mistake
		w.judge(i, k)
	case w.counts(i, k):
		w.note("%s gets the number that shows that nobody stands before it", name(i))
		w.turn(i, k, byNumber)
	default:
		if w.wrong("the last node not granted") {
			w.record(i, k)
		}
		w.look(i, k)
	}
}

// judge decides after a list of the places. Places are passed one after the other; what
// was seen of the later ones before a wait is too old.
func (w *world) judge(i, k int) {
	t := &w.sess[i].tasks[k]
	for p := range paths {
		if t.mask&^t.passed&(1<<p) != 0 && t.saw[p]&shows == 0 && !w.wrong("own node not looked for in the list") {
			w.note("%s does not find its node %s in the list", name(i), t.id)
			w.again(i, k, false)
			return
		}
	}
	for p := range paths {
		if t.mask&^t.passed&(1<<p) == 0 {
			continue
		}
		if t.block[p] != 0 {
			w.await(i, k, p)
			return
		}
		t.passed |= 1 << p
		if t.waited && t.mask&^t.passed != 0 {
			w.note("%s has its turn below %s", name(i), pathName(p))
			w.look(i, k)
			return
		}
	}
	if t.waited && t.mask == 3 && !w.wrong("no proof at the end of a wait in several places") {
		w.prove(i, k)
		return
	}
	w.note("%s sees in the list that it is its turn", name(i))
	if w.censusOf(i) != noCensus && !t.waited && !w.wrong("a watch set after the node went") {
		w.guard(i, k)
	}
	w.turn(i, k, byList)
}

// await watches the node that blocks the task's below path p. If the turn may come without
// a read, it watches its own node, too, in the same write.
func (w *world) await(i, k, p int) {
	t := &w.sess[i].tasks[k]
	t.phase, t.waited, t.its, t.at = watching, true, t.block[p], uint8(p)
	t.sole = t.saw[p]&soleNode != 0 && t.mask != 3 && t.its.owner() != i
	t.fired, t.ownArmed, t.ownGone = false, false, false
	w.note("%s waits for the end of %s", name(i), t.its)
	if !w.wrong("no watch on the blocker") {
		w.ask(i, k, request{op: opWatch, mask: 1 << p, id: t.its})
	}
	if t.sole {
		w.ask(i, k, request{op: opWatch, mask: 1 << p, id: t.id})
	}
}

// touched goes on after an event.
func (w *world) touched(i int, m message) {
	s := &w.sess[i]
	if m.id == 0 {
		w.note("%s reads the event that the parent %s was deleted", name(i), pathName(int(m.path)))
		s.known[m.path].fire()
		return
	}
	w.note("%s reads the event that %s was deleted", name(i), m.id)
	for k := range s.tasks {
		t := &s.tasks[k]
		if t.id == m.id && t.phase == lingering {
			w.leave(i, k)
		}
		if t.phase != watching && t.phase != waiting {
			continue
		}
		if t.id == m.id {
			t.ownGone = true
			if t.phase == waiting {
				w.again(i, k, true)
			}
		} else if t.its == m.id && t.at == m.path {
			t.fired = true
			if t.phase == waiting {
				w.turned(i, k)
			}
		}
	}
}

// turned goes on after the end of the blocker, or when that is not found: without a list, if
// it was the only one before the task's own node, and that node is watched and has had no
// event.
func (w *world) turned(i, k int) {
	t := &w.sess[i].tasks[k]
	if t.sole && t.ownArmed && !t.ownGone || t.sole && w.wrong("a grant on an event that came before the own node's") || w.wrong("a grant by the blocker's event alone") && t.mask != 3 {
		w.note("%s takes its turn without a read", name(i))
		w.turn(i, k, byEvent)
		return
	}
	w.look(i, k)
}
