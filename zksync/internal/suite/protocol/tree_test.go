package protocol_test

// An id names one attempt of one session to stand in line, as the GUID in a node's name
// does. 0 is no node. An id is used again once nothing refers to it any more.
type id uint8

const (
	perSession = 9 // ids of a session
	maxNodes   = 6 // nodes below a path
	paths      = 2
)

// owner returns the session whose attempt the id names.
func (n id) owner() int { return (int(n) - 1) / perSession }

// kind says whom a node in line keeps out.
type kind uint8

const (
	write kind = iota
	read
)

// node is one lock node.
type node struct {
	id   id
	seq  uint8
	kind kind
}

// dir is the parent of one lock's nodes. The nodes are in the order of the line.
type dir struct {
	up    bool
	gen   uint8 // which parent this is: it stands for the parent's czxid
	next  uint8 // number of creates below it: the next sequence number
	n     uint8
	nodes [maxNodes]node
}

// find returns the index of a node, or -1.
func (d *dir) find(n id) int {
	for i := range d.n {
		if d.nodes[i].id == n {
			return int(i)
		}
	}
	return -1
}

func (d *dir) insert(n node) {
	at := d.n
	for at > 0 && (d.nodes[at-1].seq > n.seq || d.nodes[at-1].seq == n.seq && n.kind == write) {
		d.nodes[at] = d.nodes[at-1]
		at--
	}
	d.nodes[at] = n
	d.n++
	d.next++
}

func (d *dir) remove(i int) {
	copy(d.nodes[i:d.n], d.nodes[i+1:d.n])
	d.n--
	d.nodes[d.n] = node{}
}

// blocker applies the rule of the line to the node at index own: the node that it waits
// for, or 0. sole is true if the end of that node alone makes it its turn. A write node
// may end because a read node of its holder has replaced it, so it is not sole if there
// are downgrades.
func (d *dir) blocker(own int, k kind, downgrades bool) (b id, sole bool) {
	if k == read {
		for i := own - 1; i >= 0; i-- {
			if d.nodes[i].kind == write {
				return d.nodes[i].id, false
			}
		}
		return 0, false
	}
	if own == 0 {
		return 0, false
	}
	first := d.nodes[0].kind
	return d.nodes[own-1].id, own == 1 && (first == read || !downgrades)
}

// tree is what one server knows.
type tree [paths]dir

// op is what a request asks for.
type op uint8

const (
	opNone    op = iota
	opCreate     // the node id below each path of the mask, in one transaction
	opNewPath    // the parent and the node, in one transaction
	opParent     // the parent
	opDelete     // the node id below each path of the mask
	opSwap       // delete the node old and create the node id, in one transaction
	opBeside     // create the read node id with the number of the write node old, which must stand
	opProve      // a quorum write that checks the node id
	opSync       // have the server catch up
	opList       // list the children
	opWatch      // read a node and watch it
	opGuard      // read the parent and watch its data
	opForget     // remove the watch on the parent's data
	opHand       // somebody deletes the node id by hand
	opReap       // somebody deletes the empty parent
	opExpire     // the end of the session that kind names
	opTouched    // an event: the node id, or the parent if id is 0, was deleted
)

var opWords = [...]string{"-", "create", "create parent and node", "create parent", "delete", "swap", "create beside", "prove",
	"sync", "list", "watch", "watch parent", "remove the watch on the parent", "delete by hand", "delete parent", "expire", "event"}

// isWrite reports whether the leader orders the request.
func (o op) isWrite() bool { return o != opList && o != opWatch && o != opGuard && o != opForget }

// request is a request, and the transaction that it becomes.
type request struct {
	op   op
	task uint8
	mask uint8 // of paths
	id   id
	old  id
	kind kind  // of the node; of opExpire: the session
	seq  uint8 // of opList: the number of the asker's node
}

// result is what a server says to a request.
type result uint8

const (
	done result = iota
	noNode
	exists
)

// gone is what a transaction has deleted.
type gone struct {
	nodes [paths]uint32 // by id
	dirs  uint8         // by path
}

// apply carries a transaction out: wholly, or not at all. Two servers with one tree give
// one answer.
func (t *tree) apply(r request) (res result, seqs [paths]uint8, del gone) {
	if r.op == opExpire {
		for p := range t {
			for i := int(t[p].n) - 1; i >= 0; i-- {
				if n := t[p].nodes[i].id; n.owner() == int(r.kind) {
					del.nodes[p] |= 1 << n
					t[p].remove(i)
				}
			}
		}
		return done, seqs, del
	}
	for p := range t {
		if r.mask&(1<<p) != 0 {
			if r.op == opDelete { // a transaction that fails is finished node by node
				if t[p].find(r.id) < 0 {
					res = noNode
				}
				continue
			}
			if res := t[p].check(r); res != done {
				return res, seqs, gone{}
			}
		}
	}
	for p := range t {
		if r.mask&(1<<p) != 0 {
			seqs[p] = t[p].change(p, r, &del)
		}
	}
	return res, seqs, del
}

// check says whether the transaction succeeds at this path.
func (d *dir) check(r request) result {
	switch r.op {
	case opCreate:
		if !d.up {
			return noNode
		}
	case opNewPath, opParent:
		if d.up {
			return exists
		}
	case opHand, opProve:
		if d.find(r.id) < 0 {
			return noNode
		}
	case opSwap:
		if d.find(r.old) < 0 {
			return noNode
		}
	case opBeside:
		if d.find(r.id) >= 0 {
			return exists
		}
		if d.find(r.old) < 0 {
			return noNode
		}
	case opReap:
		if !d.up || d.n > 0 {
			return noNode
		}
	}
	return done
}

// change carries the transaction out at this path.
func (d *dir) change(p int, r request, del *gone) (seq uint8) {
	if r.op == opNewPath || r.op == opParent {
		*d = dir{up: true, gen: d.gen + 1}
	}
	switch r.op {
	case opDelete, opHand:
		if at := d.find(r.id); at >= 0 {
			d.remove(at)
			del.nodes[p] |= 1 << r.id
		}
	case opSwap:
		d.remove(d.find(r.old))
		del.nodes[p] |= 1 << r.old
	case opReap:
		*d = dir{gen: d.gen}
		del.dirs |= 1 << p
	case opBeside:
		seq = d.nodes[d.find(r.old)].seq
		d.insert(node{r.id, seq, read})
		return seq
	}
	if r.op == opCreate || r.op == opNewPath || r.op == opSwap {
		seq = d.next
		d.insert(node{r.id, seq, r.kind})
	}
	return seq
}
