package queue

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

const testParent = "/d/p"

var mutexes = Place{Parent: testParent, Kind: znode.Exclusive, Rule: First}

func lockNode(t *testing.T, p Place, seq int64) znode.Name {
	t.Helper()
	n, ok := znode.Parse(fmt.Sprintf("%s%010d", p.prefix(znode.NewGUID()), seq))
	if !ok || n.Seq != seq {
		t.Fatalf("node %+v", n)
	}
	return n
}

func watchOf(czxid int64, epoch uint64) *conn.Watch {
	return &conn.Watch{Path: testParent, Epoch: epoch, Stat: zk.Stat{Czxid: czxid}}
}

// The number of a node counts only if it is the expected one, on the connection and the
// parent that the line and the watch are of.
func TestCensusCounts(t *testing.T) {
	const czxid, epoch = 7, 3
	for name, tt := range map[string]struct {
		watch *conn.Watch
		seq   int64
		epoch uint64
		names []znode.Foreign
		gone  error
		list  bool // expected
		ok    bool // expected
	}{
		"as expected":         {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch, ok: true},
		"somebody came":       {watch: watchOf(czxid, epoch), seq: 7, epoch: epoch},
		"no watch":            {seq: 6, epoch: epoch, list: true},
		"a late watch":        {watch: watchOf(czxid+1, epoch), seq: 6, epoch: epoch, list: true},
		"an old watch":        {watch: watchOf(czxid, epoch-1), seq: 6, epoch: epoch, list: true},
		"another connection":  {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch + 1, list: true},
		"another recipe":      {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch, names: []znode.Foreign{{Prefix: "x-"}}},
		"deleted by somebody": {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch, gone: conn.ErrNodeGone, list: true},
		"the session is over": {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch, gone: conn.ErrSessionOver, list: true, ok: true},
		"the old node stands": {watch: watchOf(czxid, epoch), seq: 6, epoch: epoch, gone: errors.New("refused"), list: true, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			var s Census
			p := mutexes
			if list, watch := s.asks(p, epoch), s.wants(testParent); !list || watch {
				t.Errorf("a path that is not known: list %v, watch %v", list, watch)
			}
			old := lockNode(t, p, 4)
			s.learn(p, []znode.Name{old}, 5, czxid, epoch)
			if s.wants(testParent) {
				t.Error("a watch is asked for at the first use")
			}
			if list, watch := s.asks(p, epoch), s.wants(testParent); !list || !watch {
				t.Errorf("a path that is known: list %v, watch %v", list, watch)
			}
			if list, watch := s.asks(p, epoch), s.wants(testParent); !list || watch {
				t.Errorf("a watch that was asked for, in a line that is not calm: list %v, watch %v", list, watch)
			}
			s.gone(testParent+"/"+old.Raw, nil)
			if _, ok := s.counts(p, []znode.Name{lockNode(t, p, 5)}, epoch); ok {
				t.Error("counted without a watch")
			}
			last := lockNode(t, p, 5)
			s.learn(p, []znode.Name{last}, 6, czxid, epoch)
			s.watches(testParent, tt.watch)
			s.gone(testParent+"/"+last.Raw, tt.gone)
			if list := s.asks(p, tt.epoch); list != tt.list {
				t.Errorf("a listing is asked for: %v", list)
			}
			p.Foreign = tt.names
			mine := lockNode(t, p, tt.seq)
			line, ok := s.counts(p, []znode.Name{mine}, tt.epoch)
			if ok != tt.ok {
				t.Fatalf("counts %v", ok)
			}
			if ok && (line[len(line)-1] != mine || p.turn(line, len(line)-1) != (tt.gone == nil)) {
				t.Errorf("line %v", line)
			}
		})
	}
}

// Nodes of the session that still stand are in the line.
func TestCensusOfPermits(t *testing.T) {
	var s Census
	p := Place{Parent: testParent, Kind: znode.Permit, Rule: Fits, Weight: 2, Limit: 5}
	first := lockNode(t, p, 0)
	s.learn(p, []znode.Name{first}, 1, 7, 1)
	s.watches(testParent, watchOf(7, 1))
	for seq, held := range []bool{1: true, 2: false} {
		if seq == 0 {
			continue
		}
		ours := []znode.Name{lockNode(t, p, int64(seq))}
		line, ok := s.counts(p, ours, 1)
		if !ok || len(line) != seq+1 || p.turn(line, seq) != held {
			t.Errorf("permit %d: %v, %v", seq, line, ok)
		}
	}
	if !s.asks(p, 1) {
		t.Error("nothing is left, and no listing asked for")
	}
	s.gone(testParent+"/"+first.Raw, nil)
	p.Weight = 1
	if s.asks(p, 1) {
		t.Error("one is left, and a listing asked for")
	}
	p.Limit = 6
	if !s.asks(p, 1) {
		t.Error("the limits differ, and no listing asked for")
	}
}

// A census remembers no more than its bounds, and gives up no path that is watched.
func TestCensusIsBounded(t *testing.T) {
	var s Census
	learn := func(i int, watched bool) {
		p := mutexes
		p.Parent = fmt.Sprintf("/d%d/p", i)
		s.learn(p, nil, 1, 7, 1)
		s.met(p.Parent, true)
		if watched {
			s.watches(p.Parent, watchOf(7, 1))
		}
	}
	for i := range 3 * maxLines {
		learn(i, i < maxLines/2)
	}
	watched := 0
	for _, k := range s.lines {
		if k.watch != nil {
			watched++
		}
	}
	if len(s.lines) != maxLines || watched != maxLines/2 || len(s.old) > maxOld {
		t.Errorf("%d paths, %d watched, %d directories", len(s.lines), watched, len(s.old))
	}
	var long []znode.Name
	for i := range maxKnown + 1 {
		long = append(long, lockNode(t, mutexes, int64(i)))
	}
	s = Census{}
	s.learn(mutexes, long, maxKnown+1, 7, 1)
	if k := s.lines[testParent]; len(k.line) != 0 || k.czxid != 0 {
		t.Errorf("a long line is remembered: %d nodes", len(k.line))
	}
	s = Census{}
	for i := range maxLines {
		learn(i, true)
	}
	for _, k := range s.lines {
		k.used = k.used.Add(-2 * idleFor)
	}
	p := mutexes
	p.Parent = "/new/p"
	if s.learn(p, nil, 1, 7, 1) == nil || len(s.lines) != maxLines {
		t.Errorf("no watch is left for a new path: %d paths", len(s.lines))
	}
	if (*Census)(nil).isNew(testParent) || !(&Census{}).isNew(testParent) {
		t.Error("isNew")
	}
}
