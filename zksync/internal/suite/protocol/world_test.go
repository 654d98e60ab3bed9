package protocol_test

import "fmt"

const sessions = 3

// config is what a scenario fixes; it is no part of the state.
type config struct {
	hasFollower bool
	downgrades  bool  // write holders read on with a node beside their own
	census      rule  // how a free lock is known to be free without a list
	together    bool  // the parent and the first node in one transaction, where nothing is known
	cutting     uint8 // the sessions that may lose their connections
	mistake     string
	all         bool                             // look at every order of steps, also of those that don't depend on each other
	used        *[len(ways)]int                  // how often the lock was taken in each way
	say         func(format string, args ...any) // tells what happens; nil while exploring
}

// way is a way to know that it is one's turn.
type way uint8

const (
	byList  way = iota
	byEvent     // without a read, after the end of the blocker
	byNumber
	byNewPath // the transaction that made the parent
	byLinger
	byProof // the quorum was asked at the end
)

var ways = [...]string{"a list", "an event", "the number", "the new parent", "linger", "a proof"}

// rule is a rule of the census.
type rule uint8

const (
	noCensus   rule = iota
	byDeletion      // the watch was answered before the deletion was sent, and that was answered "deleted"
	byParent        // the watch is on the very parent whose list showed our node: its czxid is the same
)

// world is a state, and what is fixed.
type world struct {
	*config
	state
	bad string // what a lock promises and does not hold here
}

// state is one state of everything.
type state struct {
	trees   [servers]tree
	behind  [maxBehind]pending // what the follower lacks
	nbehind uint8
	conns   [sessions]conn
	sess    [sessions]session
	truth   [sessions*perSession + 1]uint8 // by id
	left    faults
}

// faults are what may still go wrong.
type faults struct {
	cuts, reaps, hands, silences, cancels, crashes, requeues, swaps, downs, lingers, evicts uint8
}

// What is known of a node that a client can't know.
const (
	wasFirst  = 1 << iota // it has been its turn below path 0, and next bit: below path 1
	_                     //
	byItself              // its session has deleted it
	byHand                // somebody else has
	byTimeout             // its session has ended
	wasBoth               // it has been its turn below both paths at one moment
)

// mark records what the leader's new state means for the nodes.
func (w *world) mark(r request, del gone) {
	for p := range paths {
		for n := range w.truth {
			if del.nodes[p]&(1<<n) == 0 {
				continue
			}
			switch r.op {
			case opHand:
				w.truth[n] |= byHand
			case opExpire:
				w.truth[n] |= byTimeout
			default:
				w.truth[n] |= byItself
			}
		}
		d := &w.trees[leader][p]
		for k := range int(d.n) {
			if d.free(k) {
				n := d.nodes[k].id
				w.truth[n] |= wasFirst << p
				o := &w.trees[leader][1-p]
				if at := o.find(n); at >= 0 && o.free(at) {
					w.truth[n] |= wasBoth
				}
			}
		}
	}
}

// free reports whether it is the turn of the node at index k.
func (d *dir) free(k int) bool {
	n := d.nodes[k]
	for i := range k {
		before := d.nodes[i]
		if n.kind == write || before.kind == write && before.seq != n.seq {
			return false
		}
	}
	return true
}

// fresh returns an id of session i that nothing refers to.
func (w *world) fresh(i int) id {
	var used uint32
	for s := range w.trees {
		for p := range w.trees[s] {
			for _, n := range w.trees[s][p].nodes {
				used |= 1 << n.id
			}
		}
	}
	for _, p := range w.behind {
		used |= 1<<p.r.id | 1<<p.r.old
	}
	for k := range w.conns {
		c := &w.conns[k]
		used |= c.nodes[0] | c.nodes[1]
		for _, r := range c.in[:c.nin] {
			used |= 1<<r.id | 1<<r.old
		}
		for _, m := range c.out[:c.nout] {
			used |= 1<<m.id | 1<<m.block
		}
		for _, t := range w.sess[k].tasks {
			used |= 1<<t.id | 1<<t.old | 1<<t.its | 1<<t.block[0] | 1<<t.block[1]
		}
		for _, e := range w.sess[k].known {
			used |= 1 << e.id
		}
	}
	for n := id(1 + i*perSession); n <= id((i+1)*perSession); n++ {
		if used&(1<<n) == 0 {
			w.truth[n] = 0
			return n
		}
	}
	panic("zksync: the model has too few ids")
}

// check records a violation of what a lock promises.
func (w *world) check() {
	for i := range w.sess {
		for k := range w.sess[i].tasks {
			t := &w.sess[i].tasks[k]
			if !t.holds() {
				continue
			}
			if w.truth[t.id]&byItself != 0 {
				w.fail("%s holds the lock, but has deleted its node %s itself", name(i), t.id)
			}
			w.checkBeside(i, k)
		}
	}
}

// checkBeside records whether two hold that exclude each other. A holder whose node
// somebody has deleted by hand, or whose session the servers have ended, has lost the
// lock and can't know; it excludes nobody.
func (w *world) checkBeside(i, k int) {
	t := &w.sess[i].tasks[k]
	for j := range w.sess {
		for l := range w.sess[j].tasks {
			u := &w.sess[j].tasks[l]
			if j*2+l <= i*2+k || !u.holds() || t.mask&u.mask == 0 || t.kind == read && u.kind == read {
				continue
			}
			if (w.truth[t.id]|w.truth[u.id])&(byHand|byTimeout) == 0 {
				w.fail("%s holds the lock beside %s", name(i), name(j))
			}
		}
	}
}

func (w *world) fail(format string, args ...any) {
	if w.bad == "" {
		w.bad = fmt.Sprintf(format, args...)
	}
}

// finished reports whether everybody has had the lock as often as wanted, and nothing
// is left.
func (w *world) finished() bool {
	for i := range w.sess {
		for k := range w.sess[i].tasks {
			if t := &w.sess[i].tasks[k]; t.phase != idle || t.cycles > 0 || t.old != 0 {
				return false
			}
		}
	}
	return true
}

// wrong reports whether the protocol is to be followed with this mistake.
func (w *world) wrong(mistake string) bool { return w.mistake == mistake }

func name(i int) string { return string(rune('A' + i)) }

func (n id) String() string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("%s%d", string(rune('a'+n.owner())), (int(n)-1)%perSession+1)
}
