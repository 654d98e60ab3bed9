package zksync

// search finds the components of a graph, the sets of vertices that all reach each
// other, by Tarjan's algorithm. It keeps the way itself, since a line may be too long
// for the stack. Vertices are numbered: the owners first, then the links.
type search struct {
	g      *graph
	count  int32   // vertices entered
	index  []int32 // of each vertex: its number in the order of entry, from 1; 0: not entered
	low    []int32 // of each vertex: the lowest index that it is known to reach
	cursor []int32 // of each vertex: its next edge; see successor
	way    []int32 // the vertices from the start to the present one
	open   []int32 // the vertices entered that have no component yet
}

// components sets comp and size, or g.err if there was no time for that.
func (g *graph) components() {
	n := len(g.owners) + len(g.links)
	g.comp, g.size = make([]int32, n), make([]int32, 1)
	s := &search{g: g, index: make([]int32, n), low: make([]int32, n), cursor: make([]int32, n)}
	for o := range g.owners {
		s.cursor[o] = g.owners[o].waits
	}
	for o := range g.owners {
		if s.index[o] == 0 {
			s.enter(int32(o))
		}
		for len(s.way) > 0 {
			if !g.step() {
				return
			}
			s.advance()
		}
	}
}

// advance goes along one edge of the present vertex, or leaves a vertex without more.
func (s *search) advance() {
	v := s.way[len(s.way)-1]
	switch to := s.successor(v); {
	case to == none:
		s.leave(v)
	case s.index[to] == 0:
		s.enter(to)
	case s.g.comp[to] == 0:
		s.low[v] = min(s.low[v], s.index[to])
	}
}

// enter goes on to a vertex that is new.
func (s *search) enter(v int32) {
	s.count++
	s.index[v], s.low[v] = s.count, s.count
	s.way, s.open = append(s.way, v), append(s.open, v)
}

// leave goes back from v, all of whose edges have been taken.
func (s *search) leave(v int32) {
	s.way = s.way[:len(s.way)-1]
	if len(s.way) > 0 {
		up := s.way[len(s.way)-1]
		s.low[up] = min(s.low[up], s.low[v])
	}
	if s.low[v] == s.index[v] {
		s.close(v)
	}
}

// successor returns the next vertex that an edge of v leads to, or none.
func (s *search) successor(v int32) int32 {
	g := s.g
	at, owners := s.cursor[v], int32(len(g.owners))
	if v < owners {
		if at == none {
			return none
		}
		s.cursor[v] = g.waits[at].next
		return owners + g.waits[at].link
	}
	s.cursor[v]++
	l := &g.links[v-owners]
	switch {
	case at == 0:
		return l.owner
	case at == 1 && l.prev != none:
		return owners + l.prev
	}
	return none
}

// close makes a component of the open vertices from v on.
func (s *search) close(v int32) {
	c := int32(len(s.g.size))
	from := len(s.open) - 1
	for s.open[from] != v {
		from--
	}
	for _, v := range s.open[from:] {
		s.g.comp[v] = c
	}
	s.g.size = append(s.g.size, int32(len(s.open)-from))
	s.open = s.open[:from]
}
