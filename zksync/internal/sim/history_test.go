package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what happened on each path, for the checker.
type history map[string][]porcupine.Operation

func (h *history) add(path string, in, out any, call, end int64) {
	if *h == nil {
		*h = make(history)
	}
	(*h)[path] = append((*h)[path], porcupine.Operation{Input: in, Call: call, Output: out, Return: end})
}

// The inputs of the model "owner": one at a time.
type (
	acquire struct{ who string }
	release struct{ who string }
)

var ownerModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		switch in := input.(type) {
		case acquire:
			return state == "", in.who
		case release:
			return state == in.who, ""
		}
		return false, state
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%T%v -> %v", in, in, out) },
}

// The inputs of the model "fenced": a register that takes nothing late.
type (
	read  struct{ fence int64 }
	write struct {
		fence int64
		value int
	}
	answer struct {
		ok    bool
		value int
	}
	fenced struct {
		fence int64
		value int
	}
)

var fencedModel = porcupine.Model{
	Init: func() any { return fenced{} },
	Step: func(state, input, output any) (bool, any) {
		st, out := state.(fenced), output.(answer)
		switch in := input.(type) {
		case read:
			if in.fence < st.fence {
				return !out.ok, st
			}
			return out.ok && out.value == st.value, fenced{in.fence, st.value}
		case write:
			if in.fence < st.fence {
				return !out.ok, st
			}
			// One more than what is there: no other has written in between.
			return out.ok && in.value == st.value+1, fenced(in)
		}
		return false, st
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// store is what the lock guards: it knows the largest fence it has seen. It is
// some way off.
type store struct {
	w    *world
	path string

	mu sync.Mutex
	st fenced // guarded by mu
}

func (s *store) read(k *worker, fence int64) (int, bool) {
	a := s.serve(read{fence}, fence, func() {})
	return a.value, a.ok
}

func (s *store) write(k *worker, fence int64, value int) {
	s.serve(write{fence, value}, fence, func() { s.st.value = value })
}

func (s *store) serve(in any, fence int64, f func()) answer {
	call := s.w.next()
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	a := answer{ok: fence >= s.st.fence}
	if a.ok {
		s.st.fence = fence
		f()
		a.value = s.st.value
	}
	s.mu.Unlock()
	time.Sleep(time.Millisecond)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.writes.add(s.path, in, a, call, s.w.nextLocked())
	return a
}

// check judges the histories.
func (w *world) check() {
	for _, h := range []struct {
		name  string
		model porcupine.Model
		ops   history
	}{{"owner", ownerModel, w.owners}, {"fenced", fencedModel, w.writes}} {
		for _, p := range w.paths {
			ops := slices.Clone(h.ops[p])
			if res := porcupine.CheckOperationsTimeout(h.model, ops, 10*time.Second); res != porcupine.Ok {
				w.bad = append(w.bad, fmt.Sprintf("history: %s of %s: %v", h.name, p, res))
				slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
				for _, o := range ops {
					w.trace = append(w.trace, fmt.Sprintf("%d-%d %s", o.Call, o.Return, h.model.DescribeOperation(o.Input, o.Output)))
				}
			}
		}
	}
}
