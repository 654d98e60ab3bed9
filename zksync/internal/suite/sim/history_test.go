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

// The inputs of the model "holders": one who holds alone, or several who share.
// Who writes may read beside that.
type (
	acquire struct {
		who    string
		read   bool
		beside string
	}
	release struct {
		who  string
		read bool
	}
	holders struct {
		alone   string
		readers int
	}
)

var holdersModel = porcupine.Model{
	Init: func() any { return holders{} },
	Step: func(state, input, _ any) (bool, any) {
		st := state.(holders)
		switch in := input.(type) {
		case acquire:
			switch {
			case !in.read:
				return st == holders{}, holders{alone: in.who}
			case st.alone == "" || st.alone == in.beside:
				st.readers++
				return true, st
			}
		case release:
			switch {
			case in.read && st.readers > 0:
				st.readers--
				return true, st
			case !in.read && st.alone == in.who:
				st.alone = ""
				return true, st
			}
		}
		return false, st
	},
	DescribeOperation: describe,
}

// The inputs of the model "permits".
type (
	take struct{ n int64 }
	give struct{ n int64 }
)

// permitsModel is that of so many permits.
func permitsModel(limit int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return limit },
		Step: func(state, input, _ any) (bool, any) {
			left := state.(int64)
			switch in := input.(type) {
			case take:
				return in.n <= left, left - in.n
			case give:
				return left+in.n <= limit, left + in.n
			}
			return false, left
		},
		DescribeOperation: describe,
	}
}

func describe(in, out any) string { return fmt.Sprintf("%T%+v -> %v", in, in, out) }

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
	for i, p := range w.paths {
		model := holdersModel
		if w.limits[i] > 0 {
			model = permitsModel(w.limits[i])
		}
		w.judge("holders", p, model, w.owners[p])
		w.judge("fenced", p, fencedModel, w.writes[p])
	}
}

func (w *world) judge(name, path string, model porcupine.Model, ops []porcupine.Operation) {
	res := porcupine.CheckOperationsTimeout(model, ops, 10*time.Second)
	if res == porcupine.Ok {
		return
	}
	w.bad = append(w.bad, fmt.Sprintf("history: %s of %s: %v", name, path, res))
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, o := range ops {
		w.trace = append(w.trace, fmt.Sprintf("%d-%d %s", o.Call, o.Return, model.DescribeOperation(o.Input, o.Output)))
	}
}
