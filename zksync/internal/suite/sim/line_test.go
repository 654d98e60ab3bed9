package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// What a lock is held for.
const (
	asMutex  = "mutex"
	asWriter = "write"
	asReader = "read"
	asPermit = "permit"
)

// alone reports whether nobody may hold beside.
func alone(mode string) bool { return mode == asMutex || mode == asWriter }

// standing is a lock node as the server has it.
type standing struct {
	node    string
	attempt string // what its name has of the one that made it: those of a Multi share that
	mode    string
	seq     int
	weight  int64 // of a permit
	limit   int64
	czxid   int64
	session int64
	data    []byte
	twin    bool // the second node of one of ours, for kazoo's eyes
}

// The checker has its own idea of names, so as not to share the library's.
func parseNode(name string) (n standing, ok bool) {
	for mark, mode := range map[string]string{"-lock-": asMutex, "__lock__": asMutex, "__WRIT__": asWriter, "__READ__": asReader, "-permit-": asPermit} {
		attempt, rest, found := strings.Cut(name, mark)
		if !found {
			continue
		}
		n.mode, n.attempt = mode, attempt
		if mode == asPermit {
			var size string
			if size, rest, ok = strings.Cut(rest, "-"); !ok {
				return n, false
			}
			weight, limit, _ := strings.Cut(size, "of")
			n.weight, _ = strconv.ParseInt(weight, 10, 64)
			n.limit, _ = strconv.ParseInt(limit, 10, 64)
		}
		// Beyond the end of the numbers nobody holds.
		var err error
		n.seq, err = strconv.Atoi(rest)
		return n, err == nil && 0 <= n.seq && n.seq <= math.MaxInt32-1000
	}
	return n, false
}

// line is who stands at a path, in order, all at one time: a permit that shrinks
// has one node or the other.
func (w *world) line(path string) (line []standing) {
	names := w.srv.Children(path)
	for again := true; again; {
		line = line[:0]
		for _, name := range names {
			n, ok := parseNode(name)
			if !ok {
				continue
			}
			n.node = path + "/" + name
			data, stat, stands := w.srv.Get(n.node)
			if stands {
				n.data, n.czxid, n.session = data, stat.Czxid, stat.EphemeralOwner
				n.twin = strings.Contains(name, "__lock__") && !strings.Contains(string(data), `"kazoo"`)
				line = append(line, n)
			}
		}
		before := names
		names = w.srv.Children(path)
		again = !slices.Equal(names, before)
	}
	slices.SortFunc(line, func(a, b standing) int {
		// Of a write node and the read node in its place, that one comes first.
		return cmp.Or(cmp.Compare(a.seq, b.seq), -cmp.Compare(a.mode, b.mode))
	})
	return line
}

// entitled is who of a line may hold, for a mode.
func entitled(line []standing, mode string) (in []standing) {
	sum, limit := int64(0), int64(math.MaxInt64) // the smallest so far
	bar := math.MaxInt                           // the first number of one that wants the lock alone
	for i, n := range line {
		switch {
		case n.mode == asPermit:
			sum, limit = sum+n.weight, min(limit, n.limit)
			if mode == asPermit && sum <= limit {
				in = append(in, n)
			}
		case alone(n.mode):
			if n.mode == mode && i == 0 && !n.twin {
				in = append(in, n)
			}
			bar = min(bar, n.seq)
		case mode == asReader && n.seq <= bar:
			in = append(in, n)
		}
	}
	return in
}

// entitledKazoo is who of a line may hold by kazoo's rule, which heeds nodes with
// its own name only.
func entitledKazoo(line []standing) []standing {
	line = slices.DeleteFunc(slices.Clone(line), func(n standing) bool { return !strings.Contains(n.node, "__lock__") })
	return line[:min(len(line), 1)]
}

// parts is how many nodes stand that were made with one.
func (w *world) parts(n standing) (count int) {
	for _, p := range w.paths {
		for _, name := range w.srv.Children(p) {
			if strings.HasPrefix(name, n.attempt) {
				count++
			}
		}
	}
	return count
}

// of is those of a process.
func of(p *process, line []standing) []standing {
	return slices.DeleteFunc(slices.Clone(line), func(n standing) bool { return !p.made(n) })
}

func weigh(line []standing) (sum int64) {
	for _, n := range line {
		sum += n.weight
	}
	return sum
}

func (w *world) exists(node string) bool {
	_, _, ok := w.srv.Get(node)
	return ok
}

// made reports whether a node is of this process: by its data, unless somebody
// has written over that.
func (p *process) made(n standing) bool {
	if maker, ok := p.w.makers.Load(n.node); ok {
		return maker == p.name
	}
	return strings.Contains(string(n.data), `"id":"`+p.name+`"`)
}
