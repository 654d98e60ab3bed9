package protocol_test

// scenario is a small world that is explored to the end.
type scenario struct {
	name   string
	config config
	tasks  map[int]task // by session*2 + task
	on     [sessions]uint8
	up     uint8 // the paths that exist at first
	left   faults
	ways   []way    // in which somebody takes the lock
	wrong  []string // the mistakes that it finds
	large  bool     // explored in the long form only; its mistakes in the short form, too
	small  bool     // every order can be looked at
}

// world returns the scenario's first state.
func (s *scenario) world(mistake string) world {
	c := s.config
	c.mistake = mistake
	w := world{config: &c, state: state{left: s.left}}
	for n := range w.trees {
		for p := range paths {
			if s.up&(1<<p) != 0 {
				w.trees[n][p] = dir{up: true, gen: 1}
			}
		}
	}
	for i := range w.conns {
		w.conns[i] = conn{srv: s.on[i], link: up}
	}
	for at, t := range s.tasks {
		t.clear()
		w.sess[at/2].tasks[at%2] = t
	}
	return w
}

func locks(n uint8) task { return task{mask: 1, cycles: n} }
func reads(n uint8) task { return task{mask: 1, cycles: n, kind: read} }

// onFollower has A on the follower, and the others on the leader.
var onFollower = [sessions]uint8{follower, leader, leader}

var scenarios = []scenario{{
	name:   "line",
	config: config{hasFollower: true, cutting: 1},
	tasks:  map[int]task{0: locks(1), 2: locks(1), 4: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{cuts: 1},
	ways:   []way{byList, byEvent},
	large:  true,
}, {
	name:   "line of two",
	config: config{hasFollower: true, cutting: 1},
	tasks:  map[int]task{0: locks(1), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{cuts: 1},
	ways:   []way{byList, byEvent},
	wrong:  []string{"no Sync after a lost answer", "an unlock that nobody follows", "no watch on the blocker"},
	small:  true,
}, {
	name:   "line, from the leader to the follower",
	config: config{hasFollower: true, cutting: 1},
	tasks:  map[int]task{0: locks(1), 2: locks(1), 4: locks(1)},
	up:     1,
	left:   faults{cuts: 1, cancels: 1},
	ways:   []way{byList, byEvent},
	large:  true,
}, {
	name:  "line, nodes deleted by hand",
	tasks: map[int]task{0: locks(1), 2: locks(1), 4: locks(1)},
	up:    1,
	left:  faults{hands: 1},
	ways:  []way{byList, byEvent},
	wrong: []string{"own node not looked for in the list", "exists-watch on a node that is gone", "a grant by the blocker's event alone",
		"a grant on an event that came before the own node's"},
}, {
	name:   "new path",
	config: config{together: true},
	tasks:  map[int]task{0: fresh(locks(1)), 2: fresh(locks(1)), 4: locks(1)},
	left:   faults{reaps: 1},
	ways:   []way{byList, byEvent, byNewPath},
	wrong:  []string{"a list that counts though its create failed"},
}, {
	name:   "new path, answers lost",
	config: config{hasFollower: true, cutting: 1, together: true},
	tasks:  map[int]task{0: fresh(locks(1)), 2: locks(1)},
	on:     onFollower,
	left:   faults{cuts: 1, hands: 1, reaps: 1},
	ways:   []way{byList, byEvent, byNewPath},
	large:  true,
}, {
	name:   "expiry",
	config: config{hasFollower: true},
	tasks:  map[int]task{0: locks(1), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{silences: 1, crashes: 1},
	ways:   []way{byList, byEvent, byProof},
	wrong:  []string{"the clock not compared at the grant"},
	large:  true,
}, {
	name:   "census",
	config: config{hasFollower: true, census: byDeletion},
	tasks:  map[int]task{0: locks(3), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{reaps: 1},
	ways:   []way{byList, byEvent, byNumber},
	wrong:  []string{"no watch on the parent", "a watch set after the node went", "an answer read before an earlier event"},
}, {
	name:   "census with three sessions",
	config: config{census: byDeletion},
	tasks:  map[int]task{0: locks(2), 2: locks(1), 4: locks(1)},
	up:     1,
	left:   faults{reaps: 1, cancels: 1},
	ways:   []way{byList, byEvent, byNumber},
}, {
	name:   "census, the watch given up",
	config: config{census: byParent},
	tasks:  map[int]task{0: locks(3), 2: locks(2)},
	up:     1,
	left:   faults{evicts: 1, reaps: 1},
	ways:   []way{byList, byNumber},
	wrong:  []string{"a watch removed after the next one was set"},
	large:  true,
}, {
	name:   "try by the number in the list",
	config: config{hasFollower: true, cutting: 1, census: byParent},
	tasks:  map[int]task{0: {mask: 1, cycles: 1, try: true}, 2: locks(2)},
	on:     onFollower,
	up:     1,
	left:   faults{reaps: 1},
	ways:   []way{byList, byNumber},
	wrong:  []string{"the watch sent after the list", "no watch on the parent"},
}, {
	name:   "census over a reconnect",
	config: config{hasFollower: true, cutting: 1, census: byDeletion},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{reaps: 1, cuts: 1},
	ways:   []way{byList, byEvent, byNumber},
	wrong:  []string{"a watch of an earlier connection"},
	large:  true,
}, {
	name:   "census, nodes deleted by hand",
	config: config{hasFollower: true, census: byDeletion},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{hands: 1, reaps: 1},
	ways:   []way{byList, byEvent, byNumber},
	wrong:  []string{"a deletion answered NoNode"},
	large:  true,
}, {
	name:   "census, waits given up",
	config: config{census: byDeletion},
	tasks:  map[int]task{0: locks(3), 2: locks(1)},
	up:     1,
	left:   faults{cancels: 1, requeues: 1},
	ways:   []way{byList, byEvent, byNumber},
	wrong:  []string{"the last node not granted", "the old node still held"},
	small:  true,
}, {
	name:   "census by the parent's czxid",
	config: config{hasFollower: true, census: byParent},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{hands: 1, reaps: 1},
	ways:   []way{byList, byEvent, byNumber},
	wrong:  []string{"no watch on the parent", "the parents not compared"},
	large:  true,
}, {
	name:   "census by the parent's czxid over a reconnect",
	config: config{hasFollower: true, cutting: 1, census: byParent},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{reaps: 1, cuts: 1},
	ways:   []way{byNumber},
	wrong:  []string{"a watch of an earlier connection"},
	large:  true,
}, {
	name:   "census by the parent's czxid, waits given up",
	config: config{census: byParent},
	tasks:  map[int]task{0: locks(3), 2: locks(1)},
	up:     1,
	left:   faults{cancels: 1, requeues: 1, reaps: 1},
	ways:   []way{byNumber},
	wrong:  []string{"the last node not granted", "the old node still held", "an answer read before an earlier event"},
}, {
	name:   "census and expiry",
	config: config{census: byParent},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	up:     1,
	left:   faults{silences: 1, reaps: 1},
	ways:   []way{byList, byEvent, byNumber, byProof},
	large:  true,
}, {
	name:   "census and downgrade",
	config: config{downgrades: true, census: byParent},
	tasks:  map[int]task{0: locks(2), 2: locks(1), 4: reads(1)},
	up:     1,
	left:   faults{downs: 1},
	ways:   []way{byList, byNumber},
	large:  true,
}, {
	name:   "swap",
	config: config{cutting: 1},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	up:     1,
	left:   faults{cuts: 1, swaps: 1, hands: 1},
	ways:   []way{byList, byEvent},
	wrong:  []string{"the old node of an unknown swap forgotten"},
}, {
	name:   "swap on a follower",
	config: config{hasFollower: true, cutting: 1},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{cuts: 1, swaps: 1, hands: 1},
	ways:   []way{byList, byEvent},
	large:  true,
}, {
	name:   "swap with census",
	config: config{hasFollower: true, census: byDeletion},
	tasks:  map[int]task{0: locks(3), 2: locks(1)},
	on:     onFollower,
	up:     1,
	left:   faults{swaps: 1, reaps: 1},
	ways:   []way{byList, byEvent, byNumber},
}, {
	name:   "downgrade",
	config: config{downgrades: true, cutting: 1},
	tasks:  map[int]task{0: locks(1), 2: locks(1), 4: reads(1)},
	up:     1,
	left:   faults{downs: 1, cuts: 1},
	ways:   []way{byList},
	wrong:  []string{"a grant without a read behind a write node"},
}, {
	name:   "downgrade on a follower",
	config: config{downgrades: true, hasFollower: true, cutting: 1},
	tasks:  map[int]task{0: locks(1), 2: locks(1), 4: reads(1)},
	on:     onFollower,
	up:     1,
	left:   faults{downs: 1, cuts: 1},
	ways:   []way{byList},
	large:  true,
}, {
	name:  "several locks at once",
	tasks: map[int]task{0: {mask: 3, cycles: 1}, 2: {mask: 2, cycles: 1}, 4: {mask: 3, cycles: 1}},
	up:    3,
	left:  faults{hands: 1},
	ways:  []way{byList, byEvent, byProof},
	wrong: []string{"no proof at the end of a wait in several places"},
	large: true,
}, {
	name:   "several locks at once, by census",
	config: config{census: byDeletion},
	tasks:  map[int]task{0: {mask: 3, cycles: 2}, 2: {mask: 1, cycles: 1}, 4: {mask: 2, cycles: 1}},
	up:     3,
	left:   faults{reaps: 1},
	ways:   []way{byList, byNumber},
	wrong:  []string{"no watch on the parent"},
	large:  true,
}, {
	name:   "two calls of a session",
	config: config{together: true, cutting: 1},
	tasks:  map[int]task{0: fresh(locks(1)), 1: fresh(task{mask: 2, cycles: 1}), 2: locks(1)},
	left:   faults{cuts: 1},
	ways:   []way{byList, byNewPath},
	wrong:  []string{"an answer given to the call of an earlier connection"},
	small:  true,
}, {
	name:   "census of readers",
	config: config{census: byParent},
	tasks:  map[int]task{0: reads(1), 1: reads(1), 2: locks(1)},
	up:     1,
	left:   faults{hands: 1, reaps: 1},
	ways:   []way{byList, byNumber},
	wrong:  []string{"the parents not compared"},
	large:  true,
}, {
	name:   "census of readers and writers",
	config: config{census: byParent},
	tasks:  map[int]task{0: reads(2), 1: locks(1), 2: reads(1)},
	up:     1,
	ways:   []way{byList, byNumber},
	wrong:  []string{"a writer after readers", "a reader beside its own writer"},
	small:  true,
}, {
	name:   "linger",
	config: config{cutting: 1},
	tasks:  map[int]task{0: locks(2), 2: locks(1)},
	up:     1,
	left:   faults{lingers: 1, silences: 1, cuts: 1},
	ways:   []way{byList, byEvent, byProof, byLinger},
	wrong:  []string{"linger survives an expiry", "the clock not compared at the grant"},
	large:  true,
}}

// fresh returns a task that makes the parent and its node in one transaction.
func fresh(t task) task { t.newPath = true; return t }
