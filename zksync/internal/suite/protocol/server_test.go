package protocol_test

// Two servers know the tree. The leader carries out each write at once. The follower
// carries the same writes out later, in the same order.
const (
	leader = iota
	follower
	servers
)

const (
	maxBehind = 4 // writes that the follower may be behind
	maxQueue  = 7 // requests or messages under way on one connection
)

// message is an answer or an event on its way to a client.
type message struct {
	op    op // of the request; opTouched: an event
	task  uint8
	res   result
	id    id
	path  uint8
	seqs  [paths]uint8
	block id    // of a list: the node that blocks the asker's, or 0
	flags uint8 // of a list, see below
	gen   uint8 // of a list, or of a read of the parent: which parent it was
	at    uint8 // how many of the writes that the follower lacks it may show
}

const (
	shows    = 1 << iota // the list has the asker's node
	soleNode             // the end of the blocker alone makes it the asker's turn
	alone                // nobody but the asker's session stands in line
)

// link is the state of a connection.
type link uint8

const (
	down   link = iota
	up          //
	cut         // the client has given it up; the server still reads what was sent
	closed      // the server has closed it; the client still reads what was sent
)

// conn is a session's connection to one of the servers.
type conn struct {
	srv   uint8
	link  link
	busy  bool  // the follower has sent a write to the leader, and waits until it carries it out itself
	seen  uint8 // how many of the writes that the follower lacks the session has seen
	nin   uint8
	nout  uint8
	in    [maxQueue]request
	out   [maxQueue]message
	nodes [paths]uint32 // watches on nodes, by id
	dirs  uint8         // watches on the parents' data, by path
}

func (c *conn) send(r request) {
	if c.nin == maxQueue {
		panic("zksync: the model's queue of requests is too short")
	}
	c.in[c.nin] = r
	c.nin++
}

func (c *conn) push(m message) {
	if c.nout == maxQueue {
		panic("zksync: the model's queue of answers is too short")
	}
	c.out[c.nout] = m
	c.nout++
}

// pull takes the message at index at from what is on its way to the client.
func (c *conn) pull(at int) message {
	m := c.out[at]
	copy(c.out[at:], c.out[at+1:c.nout])
	c.nout--
	c.out[c.nout] = message{}
	c.seen = max(c.seen, m.at)
	return m
}

func (c *conn) dropIn() {
	c.nin, c.in, c.busy = 0, [maxQueue]request{}, false
}

func (c *conn) dropOut() { c.nout, c.out = 0, [maxQueue]message{} }

// serving reports whether the server reads and answers on the connection.
func (c *conn) serving() bool { return c.link == up || c.link == cut }

// canServe reports whether the server can take the next request of session i.
func (w *world) canServe(i int) bool {
	c := &w.conns[i]
	if !c.serving() || c.busy || c.nin == 0 {
		return false
	}
	return !c.in[0].op.isWrite() || !w.hasFollower || w.nbehind < maxBehind
}

// serve has the server take the next request of session i.
func (w *world) serve(i int) {
	c := &w.conns[i]
	r := c.in[0]
	copy(c.in[:], c.in[1:])
	c.nin--
	c.in[c.nin] = request{}
	if r.op.isWrite() {
		if w.sess[i].over {
			w.hangUp(i)
			return
		}
		w.sess[i].stale = w.sess[i].stale && r.op != opProve // the quorum knows that the session lives
		w.commit(r, i)
		return
	}
	w.answer(i, r)
}

// commit has the leader carry out a write. i is the session that waits for the answer,
// or -1.
func (w *world) commit(r request, i int) {
	res, seqs, del := w.trees[leader].apply(r)
	w.mark(r, del)
	if w.hasFollower {
		w.behind[w.nbehind] = pending{r, int8(i)}
		w.nbehind++
	}
	w.touch(leader, del)
	if i < 0 {
		return
	}
	if w.conns[i].srv == leader {
		w.reply(i, r, res, seqs)
		return
	}
	w.conns[i].busy = true
}

// follow has the follower carry out the next write that it lacks.
func (w *world) follow() {
	p := w.behind[0]
	copy(w.behind[:], w.behind[1:])
	w.nbehind--
	w.behind[w.nbehind] = pending{}
	for i := range w.conns {
		c := &w.conns[i]
		c.seen -= min(c.seen, 1)
		for k := range c.nout {
			c.out[k].at -= min(c.out[k].at, 1)
		}
	}
	res, seqs, del := w.trees[follower].apply(p.r)
	w.touch(follower, del)
	if i := int(p.r.kind); p.r.op == opExpire && w.conns[i].srv == follower && w.sess[i].over {
		w.hangUp(i)
	}
	if p.to >= 0 && w.conns[p.to].serving() && w.conns[p.to].srv == follower {
		w.conns[p.to].busy = false
		w.reply(int(p.to), p.r, res, seqs)
	}
}

// hangUp has the server close the connection of a session that has ended.
func (w *world) hangUp(i int) {
	c := &w.conns[i]
	switch c.link {
	case up:
		c.link = closed
	case cut:
		c.link = down
	}
	c.dropIn()
	c.nodes, c.dirs = [paths]uint32{}, 0
}

// pending is a write that the follower lacks, and the session that waits for its
// answer there, or -1.
type pending struct {
	r  request
	to int8
}

// touch sends the events of what was deleted on a server to the clients there. They
// are sent before any answer that shows the deletion.
func (w *world) touch(srv uint8, del gone) {
	for i := range w.conns {
		c := &w.conns[i]
		if !c.serving() || c.srv != srv {
			continue
		}
		for p := range paths {
			if hit := c.nodes[p] & del.nodes[p]; hit != 0 {
				for n := id(1); n <= sessions*perSession; n++ {
					if hit&(1<<n) != 0 {
						w.tell(i, message{op: opTouched, id: n, path: uint8(p)})
					}
				}
				c.nodes[p] &^= hit
			}
			if c.dirs&del.dirs&(1<<p) != 0 {
				w.tell(i, message{op: opTouched, path: uint8(p)})
				c.dirs &^= 1 << p
			}
		}
	}
}

// tell sends a message to a client that reads.
func (w *world) tell(i int, m message) {
	c := &w.conns[i]
	if c.link == cut {
		return
	}
	if c.srv == leader {
		m.at = w.nbehind
	}
	c.push(m)
}

func (w *world) reply(i int, r request, res result, seqs [paths]uint8) {
	if r.op == opNewPath && res == done {
		seqs = [paths]uint8{}
	}
	gen := w.trees[w.conns[i].srv][pathOf(r.mask)].gen
	w.tell(i, message{op: r.op, task: r.task, id: r.id, res: res, seqs: seqs, gen: gen})
}

// answer has a server answer a read, from what it knows itself.
func (w *world) answer(i int, r request) {
	c := &w.conns[i]
	p := pathOf(r.mask)
	d := &w.trees[c.srv][p]
	m := message{op: r.op, task: r.task, id: r.id, path: uint8(p), gen: d.gen}
	switch r.op {
	case opWatch:
		if d.find(r.id) < 0 {
			m.res = noNode
		}
		if m.res == done || w.wrong("exists-watch on a node that is gone") {
			m.res = done
			c.nodes[p] |= 1 << r.id
		}
	case opGuard:
		if !d.up {
			m.res = noNode
		} else {
			c.dirs |= 1 << p
		}
	case opForget:
		c.dirs &^= 1 << p
		return // nobody waits for the answer
	case opList:
		w.list(d, r, &m)
	}
	w.tell(i, m)
}

// list has what a list of the children says about the asker's node.
func (w *world) list(d *dir, r request, m *message) {
	if !d.up {
		m.res = noNode
		return
	}
	own := d.find(r.id)
	if own >= 0 {
		m.flags |= shows
		m.seqs[m.path] = d.nodes[own].seq
	} else {
		m.seqs[m.path] = d.next
		for own = 0; own < int(d.n) && d.nodes[own].seq < r.seq; own++ {
		}
	}
	b, sole := d.blocker(own, r.kind, w.downgrades && !w.wrong("a grant without a read behind a write node"))
	m.block = b
	if sole {
		m.flags |= soleNode
	}
	m.flags |= alone
	for k := range d.n {
		if d.nodes[k].id != r.id && d.nodes[k].id.owner() != r.id.owner() {
			m.flags &^= alone
		}
	}
}

func pathOf(mask uint8) int {
	if mask&1 != 0 {
		return 0
	}
	return 1
}
