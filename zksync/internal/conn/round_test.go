package conn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Nodes are divided into transactions of a bounded size. Unreadable nodes are alone,
// and only some of them at a time.
func TestDivide(t *testing.T) {
	var u unreadable
	if parts := u.divide(nil, partSize); len(parts) != 0 {
		t.Errorf("%d parts of nothing", len(parts))
	}
	var paths []string
	for i := range 3*partSize/1000 + 1 {
		paths = append(paths, fmt.Sprintf("%s%03d", strings.Repeat("x", 980), i)) // 1000 bytes of a transaction
	}
	parts := u.divide(paths, partSize)
	if len(parts) != 4 || !slices.Equal(slices.Concat(parts...), paths) {
		t.Errorf("%d parts", len(parts))
	}
	for _, part := range parts {
		var ops []any
		for _, p := range part {
			ops = append(ops, &zk.CheckVersionRequest{Path: p, Version: -1})
		}
		if size := sizeOf(ops...) - sizeOp; size > partSize {
			t.Errorf("a part of %d bytes", size)
		}
	}
	u.note("/none", false)
	for _, p := range paths[:maxAlone+5] {
		u.note(p, true)
	}
	u.note("/elsewhere", true)
	parts = u.divide(paths, partSize)
	alone := 0
	for _, part := range parts {
		if len(part) == 1 {
			alone++
		}
	}
	if rest := slices.Concat(parts[alone:]...); alone != maxAlone || !slices.Equal(rest, paths[maxAlone+5:]) {
		t.Errorf("%d nodes alone, %d in other parts", alone, len(rest))
	}
	if n := len(u.paths); n != maxAlone+5 {
		t.Errorf("%d unreadable nodes, want %d: one is guarded no more", n, maxAlone+5)
	}
	u.note(paths[0], false)
	if parts := u.divide(paths[:2], partSize); len(parts) != 2 || parts[0][0] != paths[1] || len(u.paths) != 1 {
		t.Errorf("parts %d", len(parts))
	}
}

// manyParts guards nodes whose probe takes n transactions.
func manyParts(t *testing.T, c *Conn, n int) *lossLog {
	t.Helper()
	st, _ := c.State()
	l := newLossLog()
	for i := range n {
		g := c.Guard([]string{ephemeral(t, c, fmt.Sprintf("/%0*d", partSize-100, i))}, st.Session, l.lost)
		t.Cleanup(g.Stop)
	}
	return l
}

// The parts of a probe are sent together, and each answer is a sign of life. So a
// connection is not given up if the parts together take longer than T/6, but if no
// answer comes for T/6.
func TestPartsOfAProbe(t *testing.T) {
	const parts = 30
	inBubble(t, "Together", func(t *testing.T) {
		f := newFake(T)
		manyParts(t, f.open(t), parts)
		f.do(func() { f.script = allMute })
		time.Sleep(T/6 + 1)
		synctest.Wait()
		// A part without an answer does not delay the others.
		if n := f.countOf(wire.OpMulti); n != bytesAtOnce/partSize {
			t.Errorf("%d parts on their way, want %d", n, bytesAtOnce/partSize)
		}
		f.do(func() { f.script = nil })
	})
	inBubble(t, "Slow", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		l := manyParts(t, c, parts)
		f.do(func() { f.script = slow(T / 60) }) // one after the other they take T/2
		time.Sleep(20 * T)
		l.never(t)
		if n := f.dials(); n != 1 {
			t.Errorf("%d connections", n)
		}
		if st, _ := c.State(); !c.Alive(st.Session) {
			t.Error("not alive")
		}
		f.do(func() { f.script = nil })
	})
	inBubble(t, "ThenSilent", func(t *testing.T) {
		f := newFake(T)
		l := manyParts(t, f.open(t), parts)
		count := 0
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpMulti && p.n == 1 {
					count++
					a.delay, a.silent = T/60, count > 10
				}
				return a
			}
		})
		time.Sleep(2 * T)
		l.never(t)
		if n := f.dials(); n != 2 {
			t.Fatalf("%d connections, want 2", n)
		}
		f.do(func() {
			want := T/6 + 10*T/60 + T/6 // the last answer, and T/6 without one
			if at := f.peers[0].ended.Sub(l.start); at != want {
				t.Errorf("given up after %v, want %v", at, want)
			}
		})
	})
}

// An unreadable node hides the fate of the nodes after it in a transaction. These are
// checked again, and the unreadable one is checked alone from then on: the servers say
// whether it exists even if it may not be read.
func TestUnreadableNodes(t *testing.T) {
	inBubble(t, "HideNoOthers", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		var paths []string
		for i := range 40 {
			paths = append(paths, ephemeral(t, c, fmt.Sprint("/", i)))
		}
		l := newLossLog() // one guard, so that the order of the nodes is known
		g := c.Guard(paths, st.Session, l.lost)
		t.Cleanup(g.Stop)
		f.do(func() {
			for _, i := range []int{0, 3, 4, 20} {
				f.nodes[paths[i]].secret = true
			}
		})
		time.Sleep(T/6 + 1)
		if n := f.countOf(wire.OpMulti); n != 5 {
			t.Errorf("%d transactions to find four of them, want 5", n)
		}
		time.Sleep(T / 6)
		if n := f.countOf(wire.OpMulti); n != 10 {
			t.Errorf("%d transactions in the next round, want 5", n-5)
		}
		f.do(func() { f.nodes[paths[3]].secret = false })
		time.Sleep(2 * T / 6)
		if n := f.countOf(wire.OpMulti); n != 10+5+4 {
			t.Errorf("%d transactions in two rounds when one can be read again, want 9", n-10)
		}
		l.never(t)
		f.do(func() { delete(f.nodes, paths[39]) })
		if at := l.at(t, ErrNodeGone); at > T {
			t.Errorf("reported after %v", at)
		}
	})
	inBubble(t, "AreMissed", func(t *testing.T) {
		f := newFake(T)
		c, l := guarded(t, f)
		f.do(func() { f.nodes["/node"].secret = true })
		time.Sleep(T)
		if st, _ := c.State(); !c.Alive(st.Session) {
			t.Error("a refusal is a sign of life")
		}
		l.never(t)
		f.do(func() { delete(f.nodes, "/node") })
		if at := l.at(t, ErrNodeGone); at > T+T/6 {
			t.Errorf("reported after %v", at)
		}
	})
	inBubble(t, "All", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		ls := make(map[string]*lossLog)
		for i := range 100 {
			path := ephemeral(t, c, fmt.Sprint("/", i))
			ls[path] = newLossLog()
			g := c.Guard([]string{path}, st.Session, ls[path].lost)
			t.Cleanup(g.Stop)
			f.do(func() { f.nodes[path].secret = true })
		}
		time.Sleep(2*T + T/12) // between two rounds
		n := f.countOf(wire.OpMulti)
		time.Sleep(T)
		if each := (f.countOf(wire.OpMulti) - n) / 6; each != maxAlone {
			t.Errorf("%d transactions a round, want %d", each, maxAlone)
		}
		f.do(func() { delete(f.nodes, "/50") })
		ls["/50"].at(t, ErrNodeGone)
		for path, l := range ls {
			if path != "/50" {
				l.never(t)
			}
		}
	})
	inBubble(t, "Proven", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		for _, p := range []string{"/a", "/b", "/c"} {
			ephemeral(t, c, p)
		}
		f.do(func() { f.nodes["/a"].secret, f.nodes["/c"].secret = true, true })
		if err := c.Prove(1, "/a", "/b", "/c"); err != nil {
			t.Error(err)
		}
		if _, err := c.Delete("/b"); err != nil {
			t.Fatal(err)
		}
		if err := c.Prove(1, "/a", "/b", "/c"); !errors.Is(err, ErrNodeGone) {
			t.Errorf("a node is gone behind one that may not be read: %v", err)
		}
		if gone, _, err := c.Check("/a"); gone != -1 || err != nil {
			t.Errorf("gone %d, %v", gone, err)
		}
	})
}
