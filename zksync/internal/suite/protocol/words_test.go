package protocol_test

import "fmt"

func pathName(p int) string { return [...]string{"P", "Q"}[p] }

// String describes a request.
func (r request) String() string {
	where := " below " + pathName(pathOf(r.mask))
	if r.mask == 3 {
		where = " below P and Q"
	}
	switch r.op {
	case opSync:
		return "sync"
	case opParent:
		return "create the parent " + pathName(pathOf(r.mask))
	case opGuard:
		return "read the parent " + pathName(pathOf(r.mask)) + " and watch it"
	case opForget:
		return "remove the watch on " + pathName(pathOf(r.mask))
	case opReap:
		return "delete the parent " + pathName(pathOf(r.mask))
	case opList:
		return "list" + where
	case opExpire:
		return "end the session of " + name(int(r.kind))
	case opSwap, opBeside:
		return fmt.Sprintf("%s %s and %s%s", opWords[r.op], r.old, r.id, where)
	}
	return fmt.Sprintf("%s %s%s", opWords[r.op], r.id, where)
}

// String describes a message.
func (m message) String() string {
	switch {
	case m.op == opTouched && m.id == 0:
		return "the event: " + pathName(int(m.path)) + " was deleted"
	case m.op == opTouched:
		return fmt.Sprintf("the event: %s was deleted", m.id)
	case m.res == noNode:
		return fmt.Sprintf("the answer to %s %s: no such node", opWords[m.op], m.id)
	case m.res == exists:
		return fmt.Sprintf("the answer to %s %s: it exists", opWords[m.op], m.id)
	case m.op == opCreate, m.op == opSwap:
		return fmt.Sprintf("the answer: %s was made, its number is %d", m.id, m.seqs[0])
	case m.op == opList && m.block != 0:
		return fmt.Sprintf("the list: %s stands before it", m.block)
	case m.op == opList:
		return "the list: nobody stands before it"
	}
	return fmt.Sprintf("the answer to %s %s: done", opWords[m.op], m.id)
}
