package dynamic

import (
	"cmp"
	"slices"
)

// table orders servers as a hash table of Java does: that is the order in which
// ZooKeeper writes them.
type table struct {
	buckets int // a power of two
	slots   map[int64]slot
	puts    int
}

type slot struct {
	server Server
	put    int
}

// newTable returns a table with the buckets that Java gives a new one.
func newTable() *table { return &table{buckets: 16, slots: make(map[int64]slot)} }

// copyOf returns a table with the buckets that Java gives a copy.
func copyOf(list []Entry) *table {
	t := newTable()
	for t.buckets = 1; t.buckets < int(float32(len(list))/0.75+1); t.buckets *= 2 {
	}
	for _, e := range list {
		t.put(e.ID, e.Server)
	}
	return t
}

func (t *table) put(id int64, s Server) {
	old, there := t.slots[id]
	if !there {
		t.puts++
		old.put = t.puts
	}
	old.server = s
	t.slots[id] = old
	if len(t.slots) > t.buckets*3/4 {
		t.buckets *= 2
	}
}

func (t *table) remove(id int64) { delete(t.slots, id) }

// entries returns the servers by their buckets, and those of a bucket as they came.
func (t *table) entries() []Entry {
	list := make([]Entry, 0, len(t.slots))
	for id, s := range t.slots {
		list = append(list, Entry{id, s.server})
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(t.bucket(a.ID)-t.bucket(b.ID), t.slots[a.ID].put-t.slots[b.ID].put)
	})
	return list
}

func (t *table) bucket(id int64) int {
	h := uint32(id) ^ uint32(id>>32)
	return int((h ^ h>>16) & uint32(t.buckets-1))
}
