package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// compareAction is what a step does.
type compareAction int

const (
	doRequests      compareAction = iota // send all requests at once, then read the answers
	doDrop                               // close the connection and reconnect to the session
	doSteal                              // reconnect to the session while it has a connection
	doWrongPassword                      // try to, with a password that is not the session's
	doStranger                           // connect to a session that never was
	doFuture                             // connect having seen a transaction that is not yet
	doSetWatches                         // doDrop, and setWatches on the new connection
	doInTurn                             // send each request after the answer to the one before
)

// compareStep is what one of the sessions does. One that has lost its
// connection reconnects first, one that is over is begun anew.
type compareStep struct {
	who      int
	do       compareAction
	requests []compareRequest
	readOnly bool // send the byte that asks for read-only mode, as newer clients do
}

func (s compareStep) String() string {
	name := [...]string{"", "drop ", "steal ", "wrong password ", "stranger ", "future zxid ", "drop, then ", "in turn "}[s.do]
	list := make([]string, len(s.requests))
	for i, r := range s.requests {
		list[i] = r.String()
	}
	return fmt.Sprintf("client %d: %s%s", s.who, name, strings.Join(list, " + "))
}

// ends reports whether the step ends a session: the order in which its nodes
// then go is nobody's business.
func (s compareStep) ends() bool {
	for _, r := range s.requests {
		if r.op == wire.OpClose {
			return true
		}
	}
	return false
}

// quiet reports whether the step makes no event on another connection, and
// closes none.
func (s compareStep) quiet() bool {
	if s.do != doRequests {
		return false
	}
	for _, r := range s.requests {
		switch r.op {
		case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2, wire.OpGetACL, wire.OpSync,
			wire.OpGetEphemerals, wire.OpGetAllChildrenNumber, wire.OpMultiRead, wire.OpWhoAmI:
			if r.cut > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// randomSteps is the sequence of a seed: n steps below root.
func randomSteps(seed uint64, root string, n int) []compareStep {
	r := compareRandom{Rand: rand.New(rand.NewPCG(seed, 0)), root: root, watched: make(map[string]int)}
	r.blind = r.IntN(4) == 0
	steps := make([]compareStep, n)
	for i := range steps {
		steps[i] = r.step()
	}
	return steps
}

func (r compareRandom) step() compareStep {
	s := compareStep{who: r.IntN(compareClients), readOnly: r.IntN(2) == 0}
	switch n := r.IntN(100); {
	case n < 2:
		s.do = doDrop
	case n < 3:
		s.do = doSteal
	case n < 4:
		s.do = pick(r, doWrongPassword, doStranger, doFuture)
	case n < 7 && !r.blind:
		s.do = doSetWatches
		s.requests = []compareRequest{r.setWatches()}
	case n < 9:
		s.requests = []compareRequest{{op: wire.OpClose}}
	case n < 17:
		s.requests = r.atOnce()
	case n < 20:
		s.do = doInTurn
		s.requests = r.sasl()
	default:
		s.requests = []compareRequest{r.request()}
	}
	return s
}

// atOnce is some requests that are sent without waiting for answers.
func (r compareRandom) atOnce() []compareRequest {
	var list []compareRequest
	for n, unsettled := 2+r.IntN(3), false; len(list) < n; {
		q := r.request()
		// Some are answered at once, before those that are under way.
		if q.op == wire.OpAuth || q.op == wire.OpSASL || !known(q.op) || unsettled && q.op.Write() {
			continue
		}
		unsettled = unsettled || q.unsettles()
		list = append(list, q)
	}
	return list
}

// unsettles reports whether a real server is of two minds about a request: until
// it has carried it out, which is a matter of luck, it judges what comes close
// behind by something else. After setACL that is the ACL from before, and a
// container that was asked for with the flags of an ephemeral node is one.
func (r compareRequest) unsettles() bool {
	return r.op == wire.OpSetACL || r.op == wire.OpCreateContainer && r.flags == 1
}
