package protocol_test

// disconnect has a client notice that its connection is lost.
func (w *world) disconnect(i int, as link) {
	c, s := &w.conns[i], &w.sess[i]
	if c.link == closed {
		as = down
	}
	c.link = as
	c.dropOut()
	s.forget = false
	for p := range s.known {
		switch n := &s.known[p]; {
		case !w.wrong("a watch of an earlier connection"):
			n.fire()
		case n.watch == sent:
			n.watch = none
		}
	}
	for k := range s.tasks {
		t := &s.tasks[k]
		t.wait = 0
		t.unknown = t.old != 0 && !t.swaps
	}
}

// reconnect connects a client to a server that is not behind what its session has seen.
func (w *world) reconnect(i int, srv uint8) {
	w.note("%s connects to the %s", name(i), [...]string{"leader", "follower"}[srv])
	c, s := &w.conns[i], &w.sess[i]
	seen := c.seen
	if srv == follower {
		seen = 0
	}
	*c = conn{srv: srv, link: up, seen: seen}
	for k := range w.nbehind {
		if w.behind[k].to == int8(i) {
			w.behind[k].to = -1
		}
	}
	s.stale = false
	if s.over {
		w.newSession(i)
		return
	}
	for k := range s.tasks {
		w.resume(i, k)
	}
}

// newSession has a client learn that its session was over.
func (w *world) newSession(i int) {
	w.note("%s has a new session", name(i))
	s := &w.sess[i]
	s.over = false
	s.known = [paths]known{}
	w.conns[i].seen = 0
	for k := range s.tasks {
		t := &s.tasks[k]
		t.old, t.unknown = 0, false
		switch {
		case t.holds():
			w.lose(i, k)
		case t.phase == lingering && w.wrong("linger survives an expiry"):
		default:
			t.phase, t.id = idle, 0
			t.clear()
		}
	}
}

// resume has a task go on after a reconnect.
func (w *world) resume(i, k int) {
	t := &w.sess[i].tasks[k]
	if t.unknown {
		if w.wrong("an unlock that nobody follows") {
			t.old = 0
		} else {
			w.send(i, request{op: opDelete, task: uint8(k), mask: t.mask, id: t.old})
		}
		t.unknown = false
	}
	switch t.phase {
	case peeking:
		w.peek(i, k)
	case entering:
		if t.made {
			w.look(i, k)
		} else if w.wrong("an answer given to the call of an earlier connection") && t.newPath {
			t.wait = 1
		} else {
			w.resolve(i, k)
		}
	case resolving:
		w.resolve(i, k)
	case looking, watching, waiting, proving:
		if t.waited = true; t.passed == t.mask {
			t.passed = 0
		}
		w.look(i, k)
	case pairing:
		w.ask(i, k, request{op: opBeside, mask: t.mask, id: t.its, old: t.id})
	case lingering:
		w.leave(i, k)
	}
}

// resolve finds out whether a create of unknown outcome has made its nodes.
func (w *world) resolve(i, k int) {
	w.note("%s looks whether its node was made", name(i))
	w.sess[i].tasks[k].phase, w.sess[i].tasks[k].passed = resolving, 0
	if !w.wrong("no Sync after a lost answer") {
		w.ask(i, k, request{op: opSync, mask: 3})
	}
	w.lists(i, k)
}

// resolved goes on when that is known.
func (w *world) resolved(i, k int) {
	t := &w.sess[i].tasks[k]
	there := true
	for p := range paths {
		there = there && (t.mask&(1<<p) == 0 || t.saw[p] != 0xff && t.saw[p]&shows != 0)
	}
	if there {
		t.made = true
		if t.swaps {
			t.old, t.swaps = 0, false
		}
		w.judge(i, k)
		return
	}
	if t.swaps { // nothing was done: the old node stands, or was lost
		t.swaps = false
		if w.wrong("the old node of an unknown swap forgotten") {
			t.old = 0
		} else {
			w.send(i, request{op: opDelete, task: uint8(k), mask: t.mask, id: t.old})
		}
	}
	w.begin(i, k)
}
