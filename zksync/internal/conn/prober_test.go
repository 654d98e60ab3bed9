package conn

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// play gives a prober the views of some scenes, and returns its decisions as text.
func play(start time.Time, all []scene) []string {
	var p prober
	var got []string
	for _, s := range all {
		s.see.now, s.see.nodes = start.Add(s.at), true
		s.see.clock = quorumClock{timeout: T, contact: start.Add(s.contact), answered: start.Add(s.answered)}
		if s.ended {
			p = p.roundEnded()
		}
		var do step
		p, do = p.next(s.see)
		text := fmt.Sprint(do.wait)
		if do.probe {
			text = "probe " + text
		}
		if do.cut {
			text = "cut " + text
		}
		got = append(got, text)
	}
	return got
}

// scene is what a prober sees at a time after its start.
type scene struct {
	at, contact, answered time.Duration
	ended                 bool // the round has ended
	see                   view
	want                  string
}

func on(epoch uint64) view  { return view{up: true, epoch: epoch} }
func off(epoch uint64) view { return view{epoch: epoch} }

func TestProber(t *testing.T) {
	const s = time.Second // T is 12 s: T/6 is 2 s, a session is lost after 6 s
	for name, scenes := range map[string][]scene{
		"EverySixth": {
			{at: 0, see: on(1), want: "2s"},
			{at: 2 * s, see: on(1), want: "probe 2s"},
			{at: 3 * s, contact: 2 * s, answered: 3 * s, ended: true, see: on(1), want: "1s"},
			{at: 4 * s, contact: 2 * s, answered: 3 * s, see: on(1), want: "probe 2s"},
		},
		"LateAnswersAreSignsOfLife": {
			{at: 2 * s, see: on(1), want: "probe 2s"},
			{at: 4*s - 1, contact: 2 * s, answered: 4*s - 1, see: on(1), want: "2s"},
			{at: 5 * s, contact: 2 * s, answered: 5 * s, see: on(1), want: "2s"},
			{at: 7*s - 1, contact: 4 * s, answered: 6 * s, see: on(1), want: "1.000000001s"},
			{at: 7 * s, contact: 4 * s, answered: 6 * s, ended: true, see: on(1), want: "probe 2s"}, // overdue
		},
		"SilenceIsCut": {
			{at: 2 * s, see: on(1), want: "probe 2s"},
			{at: 3 * s, contact: 2 * s, answered: 3 * s, see: on(1), want: "2s"},
			{at: 5 * s, contact: 2 * s, answered: 3 * s, see: on(1), want: "cut 3s"}, // then the loss
			{at: 6 * s, contact: 2 * s, answered: 3 * s, see: off(1), want: "2s"},
			{at: 8 * s, contact: 2 * s, answered: 3 * s, see: off(1), want: "2s"}, // lost
		},
		"ANewConnectionIsProven": {
			{at: 2 * s, see: on(1), want: "probe 2s"},
			{at: 2 * s, contact: 2 * s, answered: 2 * s, ended: true, see: on(1), want: "2s"},
			{at: 3 * s, contact: 2 * s, answered: 2 * s, see: off(1), want: "5s"},
			{at: 3 * s, contact: 2 * s, answered: 2 * s, see: on(2), want: "probe 2s"},
		},
		"WhatIsLeftOfARoundIsWaitedForOnTheNextConnection": {
			{at: 2 * s, see: on(1), want: "probe 2s"},
			{at: 3 * s, see: off(1), want: "3s"},
			{at: 3 * s, see: on(2), want: "2s"},
			{at: 5 * s, see: on(2), want: "cut 1s"},
			{at: 5 * s, ended: true, see: off(2), want: "1s"},
			{at: 5 * s, see: on(3), want: "probe 1s"},
		},
		"NothingIsAskedWhileDown": {
			{at: 0, see: off(1), want: "6s"},
			{at: 5 * s, see: off(1), want: "1s"},
			{at: 9 * s, see: off(1), want: "2s"},
		},
	} {
		got := play(time.Now(), scenes)
		for i, sc := range scenes {
			if got[i] != sc.want {
				t.Errorf("%s: step %d: %q, want %q", name, i, got[i], sc.want)
			}
		}
	}
}

// manyParts guards nodes that take n parts of a probe.
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

// Parts of a probe are sent together. Each answer is a sign of life: a connection on
// which all of them take longer than T/6 is not given up, one that falls silent is.
func TestPartsOfAProbe(t *testing.T) {
	const parts = 30
	bubble(t, "Together", func(t *testing.T) {
		f := newFake(T)
		manyParts(t, f.open(t), parts)
		f.do(func() { f.script = allMute })
		time.Sleep(T/6 + 1)
		synctest.Wait()
		// One that is not answered holds up the fake server, not its connection.
		if n := f.countOf(wire.OpMulti); n != partsAtOnce {
			t.Errorf("%d parts on their way, want %d", n, partsAtOnce)
		}
		f.do(func() { f.script = nil })
	})
	bubble(t, "Slow", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		l := manyParts(t, c, parts)
		f.do(func() { f.script = slow(T / 60) }) // all take T/2, one after the other
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
	bubble(t, "ThenSilent", func(t *testing.T) {
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
			want := T/6 + 10*T/60 + T/6 // the last answer, and T/6 of nothing
			if at := f.peers[0].ended.Sub(l.start); at != want {
				t.Errorf("given up after %v, want %v", at, want)
			}
		})
	})
}

// A node that may not be read hides what those behind it in its transaction have
// become of. They are asked for again, and it is checked alone from then on: whether
// it exists is told without permission, too.
func TestUnreadableNodes(t *testing.T) {
	bubble(t, "HideNoOthers", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		var paths []string
		for i := range 40 {
			paths = append(paths, ephemeral(t, c, fmt.Sprint("/", i)))
		}
		l := newLossLog() // one guard, so that their order is known
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
			t.Errorf("told after %v", at)
		}
	})
	bubble(t, "AreMissed", func(t *testing.T) {
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
			t.Errorf("told after %v", at)
		}
	})
	bubble(t, "All", func(t *testing.T) {
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
		time.Sleep(2 * T)
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
	bubble(t, "Proven", func(t *testing.T) {
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

// A loss that is due is reported at one look, and the next look is no later than the
// time at which it is due.
func TestLossIsNotBetweenTwoLooks(t *testing.T) {
	start := time.Now()
	due := start.Add(T / 2)
	for _, now := range []time.Time{due.Add(-time.Second), due.Add(-1), due, due.Add(1)} {
		c := newConn(Config{Timeout: T})
		c.state = State{Session: 1, Epoch: 1}
		c.clock.measure(1)
		c.clock.proved(start, start)
		g := &Guard{c: c, session: 1, lost: func(error) func() { return nil }}
		c.guards[g] = struct{}{}
		lost, _, v := c.judgeLocked(now)
		_, do := prober{began: start}.next(v)
		if reported := lost.reasons[g] == ErrNoContact; reported != !now.Before(due) || !reported && now.Add(do.wait) != due {
			t.Errorf("%v before it is due: reported %v, the next look after %v", due.Sub(now), reported, do.wait)
		}
	}
}
