package protocol_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// outcome is what a search has found.
type outcome struct {
	states, steps int
	cut           bool     // there are more states than wanted
	bad           string   // "": nothing
	trace         []string // the shortest way there
}

// way returns the trace as lines.
func (o outcome) way() string { return "    " + strings.Join(o.trace, "\n    ") }

// search looks at all states that can be reached from the first one.
type search struct {
	visited visited
	before  []int32 // the state from which each was reached first
	over    []bool  // everybody has got everything
	from    []int32 // the steps that are no faults
	to      []int32
	steps   int
}

// explore searches breadth first, so that the first violation has the shortest trace. It
// gives up after most states.
func explore(first world, most int) outcome {
	s := new(search)
	s.add(&first, -1)
	frontier, later := []state{first.state}, []state(nil)
	var steps []step
	w, next := new(world), new(world)
	for at := int32(0); len(frontier) > 0; frontier, later = later, frontier[:0] {
		for _, now := range frontier {
			*w = world{config: first.config, state: now}
			steps = w.next(steps[:0])
			for _, st := range steps {
				*next = *w
				st.take(next)
				next.check()
				s.steps++
				n, isNew := s.add(next, at)
				if !st.fault {
					s.from, s.to = append(s.from, at), append(s.to, n)
				}
				if !isNew {
					continue
				}
				if next.bad != "" {
					return s.outcome(first, n, next.bad)
				}
				later = append(later, next.state)
			}
			if at++; int(at) > most {
				return outcome{states: int(at), cut: true}
			}
		}
	}
	if n, bad := s.stuck(); bad != "" {
		return s.outcome(first, n, bad)
	}
	return outcome{states: len(s.before), steps: s.steps}
}

// add returns the number of a state, and whether it is new.
func (s *search) add(w *world, before int32) (n int32, isNew bool) {
	n, isNew = s.visited.add(w)
	if isNew {
		s.before = append(s.before, before)
		s.over = append(s.over, w.finished())
	}
	return n, isNew
}

// stuck returns a state from which somebody may wait for ever without another fault, or
// -1. There is none if each state without a further step is one in which everybody has
// got everything, and no steps without faults lead round in a circle: then every run
// ends, and ends well.
func (s *search) stuck() (n int32, bad string) {
	steps := make([]int32, len(s.before)) // that are no faults, from each state
	for _, from := range s.from {
		steps[from]++
	}
	for n, left := range steps {
		if left == 0 && !s.over[n] {
			return int32(n), "without another fault nothing happens any more, and somebody waits for ever"
		}
	}
	start, from := s.byEnd()
	var todo []int32 // states from which every run ends
	for n, left := range steps {
		if left == 0 {
			todo = append(todo, int32(n))
		}
	}
	for len(todo) > 0 {
		to := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, n := range from[start[to]:start[to+1]] {
			if steps[n]--; steps[n] == 0 {
				todo = append(todo, n)
			}
		}
	}
	for n, left := range steps {
		if left > 0 {
			return int32(n), "without another fault somebody may go round in a circle for ever"
		}
	}
	return -1, ""
}

// byEnd returns the steps that are no faults, in the order of the states that they lead
// to: those to the state n come from the states from[start[n]:start[n+1]].
func (s *search) byEnd() (start, from []int32) {
	start = make([]int32, len(s.before)+1)
	for _, to := range s.to {
		start[to+1]++
	}
	for i := range s.before {
		start[i+1] += start[i]
	}
	at := slices.Clone(start)
	from = make([]int32, len(s.from))
	for e, to := range s.to {
		from[at[to]] = s.from[e]
		at[to]++
	}
	return start, from
}

// outcome returns the way to a state, in words.
func (s *search) outcome(first world, n int32, bad string) outcome {
	var way []int32
	for m := n; m >= 0; m = s.before[m] {
		way = append(way, m)
	}
	o := outcome{states: len(s.before), steps: s.steps, bad: bad}
	c := *first.config
	var said []string
	c.say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	w := first
	w.config = &c
	for k := len(way) - 2; k >= 0; k-- {
		for _, st := range w.next(nil) {
			next := w
			said = nil
			st.take(&next)
			next.check()
			if n, _ := s.visited.add(&next); n == way[k] {
				w = next
				break
			}
		}
		o.trace = append(o.trace, strings.Join(said, "; "))
	}
	return o
}

// note tells what happens, if somebody listens.
func (c *config) note(format string, args ...any) {
	if c.say != nil {
		c.say(format, args...)
	}
}

// visited numbers the states that were seen. It keeps and compares all of a state, not
// only a hash of it. It has no pointers into its memory, which keeps the garbage
// collector out.
type visited struct {
	seed  maphash.Seed
	keys  []byte   // one after the other
	ends  []uint32 // of each key
	table []int32  // number + 1 of the states, by hash
	key   []byte
}

func (v *visited) add(w *world) (n int32, isNew bool) {
	if 2*(len(v.ends)+1) > len(v.table) {
		v.grow()
	}
	v.key = w.encode(v.key[:0])
	slot := v.slot(v.key)
	for ; v.table[slot] != 0; slot = (slot + 1) & (len(v.table) - 1) {
		if n := v.table[slot] - 1; bytes.Equal(v.at(n), v.key) {
			return n, false
		}
	}
	v.keys = append(v.keys, v.key...)
	v.ends = append(v.ends, uint32(len(v.keys)))
	v.table[slot] = int32(len(v.ends))
	return int32(len(v.ends) - 1), true
}

func (v *visited) at(n int32) []byte {
	start := uint32(0)
	if n > 0 {
		start = v.ends[n-1]
	}
	return v.keys[start:v.ends[n]]
}

func (v *visited) slot(key []byte) int {
	return int(maphash.Bytes(v.seed, key)) & (len(v.table) - 1)
}

func (v *visited) grow() {
	if v.table == nil {
		v.seed = maphash.MakeSeed()
	}
	v.table = make([]int32, max(1<<12, 4*len(v.table)))
	for n := range v.ends {
		slot := v.slot(v.at(int32(n)))
		for v.table[slot] != 0 {
			slot = (slot + 1) & (len(v.table) - 1)
		}
		v.table[slot] = int32(n) + 1
	}
}
