package protocol_test

// A step is something that can happen next. A fault is a step that nobody can count on
// or has to expect: everybody must get the lock without further faults.
type step struct {
	fault bool
	take  func(w *world)
}

// next returns what is to be looked at next: all that can happen, or one step that can
// as well come first. A client that can only read its next message, and to which
// nothing else can happen before, may do so at once: that changes only what it knows and
// what it asks next, which no step of others depends on.
func (w *world) next(all []step) []step {
	for i := range sessions {
		if !w.all && w.onlyReads(i) {
			return append(all, step{false, func(w *world) { w.note("%s reads %s", name(i), w.conns[i].out[0]); w.receive(i, 0) }})
		}
	}
	return w.steps(all)
}

// onlyReads reports whether the one thing that can happen at session i is that it reads
// its next message.
func (w *world) onlyReads(i int) bool {
	c, s := &w.conns[i], &w.sess[i]
	if c.link != up || c.nout == 0 || s.stale || s.over || w.left.silences > 0 || w.left.crashes > 0 || w.left.cuts > 0 && w.cutting&(1<<i) != 0 {
		return false
	}
	if w.wrong("an answer read before an earlier event") || w.wrong("a grant on an event that came before the own node's") {
		return false
	}
	if s.forget || w.left.evicts > 0 {
		return false
	}
	for k := range s.tasks {
		switch t := &s.tasks[k]; t.phase {
		case idle:
			if t.cycles > 0 {
				return false
			}
		case held, lingering:
			return false
		case waiting:
			if w.left.cancels > 0 {
				return false
			}
		}
	}
	return true
}

// steps returns all that can happen next.
func (w *world) steps(all []step) []step {
	add := func(fault bool, take func(*world)) { all = append(all, step{fault, take}) }
	for i := range sessions {
		c, s := &w.conns[i], &w.sess[i]
		if w.canServe(i) {
			add(false, func(w *world) { w.note("the server takes %s's request: %s", name(i), w.conns[i].in[0]); w.serve(i) })
		}
		if s.crash {
			if !s.over && w.nbehind < maxBehind {
				add(false, func(w *world) { w.expire(i) })
			}
			continue
		}
		if c.nout > 0 && (c.link == up || c.link == closed) {
			for _, at := range w.readable(i) {
				add(false, func(w *world) { w.note("%s reads %s", name(i), w.conns[i].out[at]); w.receive(i, at) })
			}
		}
		if c.link == closed && c.nout == 0 {
			add(false, func(w *world) { w.note("%s sees its connection closed", name(i)); w.disconnect(i, down) })
		}
		if c.link == cut || c.link == down {
			for srv := range uint8(servers) {
				if srv == leader || w.hasFollower && (c.seen == 0 || w.wrong("an older server accepted")) {
					add(false, func(w *world) { w.reconnect(i, srv) })
				}
			}
		}
		all = w.works(i, all)
		all = w.fails(i, all)
	}
	if w.nbehind > 0 {
		add(false, func(w *world) { w.note("the follower carries out: %s", w.behind[0].r); w.follow() })
	}
	return w.meddles(all)
}

// readable returns which of the messages client i may read next: the first. With a
// mistake, a client that keeps no order may read another.
func (w *world) readable(i int) []int {
	at := []int{0}
	c := &w.conns[i]
	for k := 1; k < int(c.nout); k++ {
		m := c.out[k]
		t := &w.sess[i].tasks[m.task]
		if w.wrong("an answer read before an earlier event") && c.out[0].op == opTouched && m.op != opTouched ||
			w.wrong("a grant on an event that came before the own node's") && m.op == opTouched && m.id == t.its && c.out[0].op == opTouched {
			return append(at, k)
		}
	}
	return at
}

// works adds what the program of a session does.
func (w *world) works(i int, all []step) []step {
	add := func(take func(*world)) { all = append(all, step{false, take}) }
	s := &w.sess[i]
	if s.known[0].watch == answered && w.left.evicts > 0 {
		add(func(w *world) { w.left.evicts--; w.evict(i) })
	}
	if s.forget {
		add(func(w *world) { w.forget(i) })
	}
	for k := range s.tasks {
		all = w.worksOn(i, k, all)
	}
	return all
}

// worksOn adds what the program does with one lock.
func (w *world) worksOn(i, k int, all []step) []step {
	add := func(take func(*world)) { all = append(all, step{false, take}) }
	t := &w.sess[i].tasks[k]
	connected := w.conns[i].link == up
	switch t.phase {
	case idle:
		if t.cycles > 0 && connected {
			add(func(w *world) { w.begin(i, k) })
		}
	case held:
		if t.old != 0 {
			return all
		}
		add(func(w *world) { w.note("%s unlocks", name(i)); w.unlock(i, k) })
		if connected && t.cycles > 1 && w.left.swaps > 0 {
			add(func(w *world) { w.left.swaps--; w.swap(i, k) })
		}
		if connected && t.cycles > 1 && w.left.requeues > 0 {
			add(func(w *world) { w.left.requeues--; w.requeue(i, k) })
		}
		if connected && t.kind == write && w.left.downs > 0 {
			add(func(w *world) { w.left.downs--; w.pair(i, k) })
		}
		if connected && t.cycles > 1 && w.left.lingers > 0 {
			add(func(w *world) { w.left.lingers--; w.linger(i, k) })
		}
	case waiting:
		if w.left.cancels > 0 && t.old == 0 {
			add(func(w *world) { w.left.cancels--; w.note("%s gives up waiting", name(i)); w.unlock(i, k) })
		}
	case lingering:
		add(func(w *world) { w.leave(i, k) })
		add(func(w *world) { w.relock(i, k) })
	}
	return all
}

// fails adds what may go wrong with a session.
func (w *world) fails(i int, all []step) []step {
	add := func(take func(*world)) { all = append(all, step{true, take}) }
	c, s := &w.conns[i], &w.sess[i]
	if w.left.cuts > 0 && w.cutting&(1<<i) != 0 && (c.link == up || c.link == closed) {
		add(func(w *world) { w.left.cuts--; w.note("%s loses its connection", name(i)); w.disconnect(i, cut) })
	}
	if w.left.silences > 0 && !s.stale && !s.over {
		add(func(w *world) {
			w.left.silences--
			w.sess[i].stale = true
			w.note("the clock of %s does not prove its session any more", name(i))
		})
	}
	if s.stale && !s.over && w.nbehind < maxBehind {
		add(func(w *world) { w.expire(i) })
	}
	if w.left.crashes > 0 {
		add(func(w *world) { w.left.crashes--; w.crash(i) })
	}
	return all
}

// meddles adds what others do to the nodes.
func (w *world) meddles(all []step) []step {
	if w.hasFollower && w.nbehind == maxBehind {
		return all
	}
	for p := range paths {
		d := &w.trees[leader][p]
		if d.up && d.n == 0 && w.left.reaps > 0 {
			all = append(all, step{true, func(w *world) {
				w.left.reaps--
				w.note("somebody deletes the empty parent %s", pathName(p))
				w.commit(request{op: opReap, mask: 1 << p}, -1)
			}})
		}
		for k := range d.n {
			if n := d.nodes[k].id; w.left.hands > 0 {
				all = append(all, step{true, func(w *world) {
					w.left.hands--
					w.note("somebody deletes %s by hand", n)
					w.commit(request{op: opHand, mask: 1 << p, id: n}, -1)
				}})
			}
		}
	}
	return all
}

// expire has the servers end a session.
func (w *world) expire(i int) {
	w.note("the servers end the session of %s", name(i))
	w.sess[i].over = true
	w.commit(request{op: opExpire, mask: 3, kind: kind(i)}, -1)
	if c := &w.conns[i]; c.srv == leader || c.link == down {
		w.hangUp(i)
	}
}

// crash ends a process. What it had sent may still be carried out.
func (w *world) crash(i int) {
	w.note("the process of %s is gone", name(i))
	if w.conns[i].link != down {
		w.conns[i].link = cut
	}
	w.conns[i].dropOut()
	w.sess[i] = session{crash: true}
}
