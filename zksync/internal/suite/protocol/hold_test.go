package protocol_test

// turn takes the turn that has been shown: at once, if the clock proves that the
// session lives, or after an answer of the quorum.
func (w *world) turn(i, k int, by way) {
	if w.sess[i].stale && !w.wrong("the clock not compared at the grant") {
		w.prove(i, k)
		return
	}
	w.grant(i, k, by)
}

// prove asks the quorum whether the task's node and its session exist.
func (w *world) prove(i, k int) {
	t := &w.sess[i].tasks[k]
	t.phase = proving
	w.note("%s asks the quorum whether its node stands", name(i))
	w.ask(i, k, request{op: opProve, mask: t.mask, id: t.id})
}

// grant gives the lock to the task, and checks whether it may have it.
func (w *world) grant(i, k int, by way) {
	if w.used != nil {
		w.used[by]++
	}
	s := &w.sess[i]
	t := &s.tasks[k]
	t.phase = held
	w.note("%s HOLDS the lock with %s", name(i), t.id)
	truth := w.truth[t.id]
	switch {
	case truth&t.mask != t.mask:
		w.fail("%s takes the lock, but it was never the turn of its node %s", name(i), t.id)
	case t.mask == 3 && t.waited && truth&wasBoth == 0:
		w.fail("%s takes both locks, but there was no moment when it was the turn of both nodes", name(i))
	case truth&byTimeout != 0 || s.over:
		w.fail("%s takes the lock with %s, whose session has ended", name(i), t.id)
	}
	if w.censusOf(i) != noCensus {
		w.record(i, k)
	}
	t.settle()
}

// unlock gives the lock back. It does not wait for the answer to the deletion.
func (w *world) unlock(i, k int) {
	t := &w.sess[i].tasks[k]
	t.cycles--
	t.phase = idle
	w.leave(i, k)
}

// leave deletes the task's node, and follows the deletion until the node is known to be
// gone.
func (w *world) leave(i, k int) {
	t := &w.sess[i].tasks[k]
	w.note("%s asks for the deletion of %s", name(i), t.id)
	w.remove(i, k)
	t.phase = idle
	t.clear()
}

// remove sends the deletion of the task's node.
func (w *world) remove(i, k int) {
	t := &w.sess[i].tasks[k]
	if t.old != 0 {
		panic("zksync: the model follows one deletion of a task at a time")
	}
	t.old, t.id = t.id, 0
	t.unknown = w.conns[i].link != up && w.conns[i].link != closed
	w.leaving(i, k)
	w.send(i, request{op: opDelete, task: uint8(k), mask: t.mask, id: t.old})
}

// deleted goes on after the answer to a deletion.
func (w *world) deleted(i, k int, m message) {
	t := &w.sess[i].tasks[k]
	if t.old != m.id {
		return
	}
	t.old, t.unknown = 0, false
	w.erased(i, m)
}

// again gives an attempt up, and makes another. gone: the node is known to be gone.
func (w *world) again(i, k int, gone bool) {
	if !gone || w.sess[i].tasks[k].mask == 3 {
		w.remove(i, k)
	}
	w.sess[i].tasks[k].peeked = false
	w.begin(i, k)
}

// swap gives the lock back and stands in line again, in one transaction.
func (w *world) swap(i, k int) {
	t := &w.sess[i].tasks[k]
	old := t.id
	t.cycles--
	t.clear()
	t.id = w.fresh(i)
	t.old, t.swaps, t.phase = old, true, entering
	w.note("%s asks to delete %s and make %s in one transaction", name(i), old, t.id)
	w.leaving(i, k)
	t.number = w.mayCount(i, k)
	w.ask(i, k, request{op: opSwap, mask: t.mask, id: t.id, old: old, kind: t.kind})
	if !t.number {
		w.lists(i, k)
	}
}

// swapped goes on after the answer to a swap: the old node is gone in any case, and if
// it had gone before, then the new one was not made.
func (w *world) swapped(i, k int, res result) {
	t := &w.sess[i].tasks[k]
	w.erased(i, message{op: opDelete, id: t.old, res: res})
	t.old = 0
	if res != done {
		t.swaps = false
		t.refused = exists // begin again
	}
}

// requeue stands in line again before it gives the lock back: the create is sent before
// the deletion, so the old node still stands when the new one is made.
func (w *world) requeue(i, k int) {
	t := &w.sess[i].tasks[k]
	old := t.id
	t.cycles--
	t.clear()
	t.id, t.phase = w.fresh(i), entering
	w.note("%s asks for its node %s, and then for the deletion of %s", name(i), t.id, old)
	t.number = w.mayCount(i, k)
	w.ask(i, k, request{op: opCreate, mask: t.mask, id: t.id, kind: t.kind})
	t.old = old
	if !w.wrong("the old node still held") {
		w.leaving(i, k)
	}
	w.send(i, request{op: opDelete, task: uint8(k), mask: t.mask, id: old})
	if !t.number {
		w.lists(i, k)
	}
}

// pair asks for a read node beside the write node: a downgrade.
func (w *world) pair(i, k int) {
	t := &w.sess[i].tasks[k]
	t.phase = pairing
	t.its = w.fresh(i)
	w.note("%s asks for the read node %s beside %s", name(i), t.its, t.id)
	w.ask(i, k, request{op: opBeside, mask: t.mask, id: t.its, old: t.id})
}

// paired goes on after the answer: a reader from now on, it deletes its write node.
func (w *world) paired(i, k int) {
	t := &w.sess[i].tasks[k]
	if t.refused == noNode {
		w.note("%s is told that its node had gone: the lock is lost", name(i))
		w.lose(i, k)
		return
	}
	beside := t.its
	t.phase, t.its = held, 0
	w.remove(i, k)
	t.id, t.kind = beside, read
	w.note("%s reads on with %s, and asks for the deletion of %s", name(i), t.id, t.old)
	if w.truth[t.id]&t.mask != t.mask {
		w.fail("%s reads with %s, but it was never its turn", name(i), t.id)
	}
}

// lose ends a holding whose node is gone.
func (w *world) lose(i, k int) {
	t := &w.sess[i].tasks[k]
	t.cycles--
	t.phase, t.id = idle, 0
	t.clear()
}

// linger keeps the node of a task that holds no longer; its watch reports the node's
// end.
func (w *world) linger(i, k int) {
	t := &w.sess[i].tasks[k]
	t.cycles--
	t.phase = lingering
	w.note("%s unlocks, and keeps %s", name(i), t.id)
	w.send(i, request{op: opWatch, task: uint8(k), mask: t.mask, id: t.id})
}

// relock takes the lock again with a node that was kept.
func (w *world) relock(i, k int) {
	if w.sess[i].stale && !w.wrong("the clock not compared at the grant") {
		w.leave(i, k)
		return
	}
	w.grant(i, k, byLinger)
}
