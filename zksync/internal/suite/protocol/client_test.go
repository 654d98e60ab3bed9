package protocol_test

// phase is how far a task has got.
type phase uint8

const (
	idle      phase = iota
	peeking         // a try has asked for a list, and has made no node yet
	entering        // the request that makes its node is under way
	looking         // a list is under way
	watching        // the watches on its blocker and perhaps on its own node are under way
	waiting         // they stand
	resolving       // it is unknown whether the node was made: a Sync and a list are under way
	proving         // the quorum is asked whether the node stands
	held
	lingering // nobody holds, and the node stays
	pairing   // held for writing; a read node beside it is under way
)

// task is one line of work of a session: it takes a lock and gives it back, for a
// number of cycles.
type task struct {
	phase  phase
	kind   kind
	try    bool  // it looks first, and makes no node if somebody is in line
	mask   uint8 // the paths that it locks at once
	cycles uint8
	id     id
	seq    [paths]uint8

	wait    uint8  // answers that it waits for before it goes on
	peeked  bool   // a list has shown that nobody is in line
	next    uint8  // and that this is the next number
	made    bool   // the answer that the node was made has come
	refused result // what the servers said otherwise
	number  bool   // no list was sent with the create
	newPath bool   // the parent was to be made in the same transaction
	parent  bool   // the parent has to be made first
	passed  uint8  // the paths where it has been its turn, one after the other
	waited  bool   // it was not its turn in all places at once
	swaps   bool   // old is deleted by the transaction that makes the node

	saw   [paths]uint8 // the flags of the list, 0xff: none
	block [paths]id
	gen   [paths]uint8

	its      id // the blocker that is watched
	at       uint8
	sole     bool
	fired    bool // it has gone
	ownArmed bool
	ownGone  bool

	old     id // a node whose deletion is followed
	unknown bool
}

func (t *task) holds() bool { return t.phase == held || t.phase == pairing }

// session is what a client knows.
type session struct {
	tasks [2]task
	known [paths]known
	stale bool // the quorum has not proved for too long that the session lives
	over  bool // the servers have ended it, and the client has not been told
	crash bool // the process is gone

	forget bool // a watch is to be removed, and the request has not been sent
}

func (w *world) send(i int, r request) {
	if c := &w.conns[i]; c.link == up {
		c.send(r)
	}
}

// begin makes an attempt to get in line.
func (w *world) begin(i, k int) {
	s := &w.sess[i]
	t := &s.tasks[k]
	if t.try && !t.peeked {
		w.peek(i, k)
		return
	}
	failed := t.saw // of the attempt before
	next, peeked := t.next, t.peeked
	t.clear()
	t.next, t.peeked = next, peeked
	t.id = w.fresh(i)
	t.phase = entering
	if t.parent {
		w.parents(i, k)
	} else if w.together && t.newPath {
		w.note("%s asks for the parent and its node %s in one transaction", name(i), t.id)
		w.ask(i, k, request{op: opNewPath, mask: t.mask, id: t.id, kind: t.kind})
		return
	}
	t.newPath = false
	if t.number = t.peeked; t.peeked {
		w.askNode(i, k)
		return
	}
	t.number = w.mayCount(i, k)
	if w.wrong("a list that counts though its create failed") && failed[0] != 0xff && t.mask == 1 {
		t.number, t.saw, t.block[0] = true, failed, 0
	}
	if w.censusOf(i) != noCensus && w.sess[i].known[0].valid && w.wrong("a watch set after the node went") {
		w.guard(i, k)
	}
	w.askNode(i, k)
	if !t.number {
		w.lists(i, k)
	}
}

func (w *world) askNode(i, k int) {
	t := &w.sess[i].tasks[k]
	w.note("%s asks for its node %s", name(i), t.id)
	w.ask(i, k, request{op: opCreate, mask: t.mask, id: t.id, kind: t.kind})
}

// parents asks for the parents of a task's paths.
func (w *world) parents(i, k int) {
	t := &w.sess[i].tasks[k]
	t.parent = false
	for p := range paths {
		if t.mask&(1<<p) != 0 {
			w.ask(i, k, request{op: opParent, mask: 1 << p})
		}
	}
}

// clear forgets what belongs to an attempt.
func (t *task) clear() {
	*t = task{phase: t.phase, kind: t.kind, try: t.try, mask: t.mask, cycles: t.cycles, old: t.old, unknown: t.unknown,
		parent: t.parent, newPath: t.newPath, saw: [paths]uint8{0xff, 0xff}}
}

// settle forgets what a holder does not need.
func (t *task) settle() {
	n := t.id
	t.clear()
	t.id = n
}

// ask sends a request whose answer the task waits for.
func (w *world) ask(i, k int, r request) {
	r.task = uint8(k)
	w.sess[i].tasks[k].wait++
	w.send(i, r)
}

// lists asks for the lists of all places where it has not been the task's turn.
func (w *world) lists(i, k int) {
	t := &w.sess[i].tasks[k]
	for p := range paths {
		if t.mask&^t.passed&(1<<p) != 0 {
			w.note("%s asks for the list below %s", name(i), pathName(p))
			w.ask(i, k, request{op: opList, mask: 1 << p, id: t.id, kind: t.kind, seq: t.seq[p]})
		}
	}
}

// look lists again.
func (w *world) look(i, k int) {
	t := &w.sess[i].tasks[k]
	t.phase, t.its, t.fired, t.ownArmed, t.ownGone, t.sole = looking, 0, false, false, false, false
	w.lists(i, k)
}

// receive has client i read the message at index at of what its server has sent.
func (w *world) receive(i, at int) {
	m := w.conns[i].pull(at)
	t := &w.sess[i].tasks[m.task]
	if u := &w.sess[i].tasks[1-m.task]; w.stray(u, m) {
		m.task = 1 - m.task // the deliberate mistake
		t = u
	}
	switch m.op {
	case opTouched:
		w.touched(i, m)
		return
	case opGuard:
		w.guarded(i, m)
		return
	case opDelete:
		w.deleted(i, int(m.task), m)
		return
	case opCreate, opNewPath, opSwap:
		t.made, t.refused, t.seq, t.gen[pathOf(t.mask)] = m.res == done, m.res, m.seqs, m.gen
		if m.op == opSwap {
			w.swapped(i, int(m.task), m.res)
		}
	case opList:
		t.saw[m.path], t.block[m.path], t.gen[m.path] = m.flags, m.block, m.gen
		if m.flags&shows != 0 {
			t.seq[m.path] = m.seqs[m.path]
		} else if t.phase == peeking {
			t.next = m.seqs[m.path]
		}
	case opWatch:
		if t.phase != watching {
			return // of a node that was kept
		}
		t.watched(m)
	case opProve, opBeside:
		t.refused = m.res
	}
	if t.wait--; t.wait == 0 {
		w.decide(i, int(m.task))
	}
}

// watched notes the answer to a watch on the blocker or on the own node.
func (t *task) watched(m message) {
	switch {
	case m.id == t.id:
		t.ownArmed = m.res == done
		t.ownGone = t.ownGone || m.res != done
	case m.res != done:
		t.its = 0
	}
}

// stray reports whether an answer is given to the call of an earlier connection.
func (w *world) stray(u *task, m message) bool {
	return w.wrong("an answer given to the call of an earlier connection") && m.op == opNewPath && u.id != m.id &&
		u.phase == entering && u.newPath && u.wait > 0
}

// decide goes on when all answers of a step have come.
func (w *world) decide(i, k int) {
	t := &w.sess[i].tasks[k]
	switch t.phase {
	case peeking:
		w.peeked(i, k)
	case entering:
		w.entered(i, k)
	case looking:
		w.judge(i, k)
	case resolving:
		w.resolved(i, k)
	case watching:
		t.phase = waiting
		switch {
		case t.ownGone:
			w.again(i, k, true)
		case t.its == 0, t.fired:
			w.turned(i, k)
		}
	case proving:
		if t.refused != done {
			w.again(i, k, true)
			return
		}
		w.turn(i, k, byProof)
	case pairing:
		w.paired(i, k)
	}
}
