package conn

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// lossLog records the losses that guards report.
type lossLog struct {
	c     chan error
	start time.Time
}

func newLossLog() *lossLog { return &lossLog{c: make(chan error, 10), start: time.Now()} }

func (l *lossLog) lost(reason error) func() { l.c <- reason; return func() {} }

// at waits for a loss, and returns when it was reported.
func (l *lossLog) at(t *testing.T, want error) time.Duration {
	t.Helper()
	select {
	case err := <-l.c:
		if !errors.Is(err, want) {
			t.Errorf("lost: %v, want %v", err, want)
		}
	case <-time.After(time.Hour):
		t.Fatal("no loss in an hour")
	}
	return time.Since(l.start)
}

// never checks that no loss was reported.
func (l *lossLog) never(t *testing.T) {
	t.Helper()
	select {
	case err := <-l.c:
		t.Errorf("lost after %v: %v", time.Since(l.start), err)
	default:
	}
}

// guarded opens a connection and guards a node of its session on it.
func guarded(t *testing.T, f *fake) (*Conn, *lossLog) {
	t.Helper()
	c := f.open(t)
	l := newLossLog()
	node := ephemeral(t, c, "/node")
	st, _ := c.State()
	g := c.Guard([]string{node}, st.Session, l.lost)
	t.Cleanup(g.Stop)
	return c, l
}

// A guard ends with its session, without contact, and with its node. Only one with a
// function to call ends without contact, as the others keep the probes going.
func TestGuardSet(t *testing.T) {
	start := time.Now()
	clock := quorumClock{timeout: T}
	clock.measure(1)
	clock.proved(start, start)
	var calls []string
	named := func(name string, session int64, paths ...string) *Guard {
		return &Guard{paths: paths, session: session, lost: func(reason error) func() {
			calls = append(calls, name+": "+reason.Error())
			return func() { calls = append(calls, "then") }
		}}
	}
	old, both, one := named("old", 2, "/old"), named("both", 1, "/a", "/b"), named("one", 1, "/c")
	probes := &Guard{session: 1, paths: []string{"/d"}}
	s := guardSet{old: {}, both: {}, one: {}, probes: {}}

	lost, paths := s.judge(&clock, start.Add(T/2-1))
	slices.Sort(paths)
	if len(lost.reasons) != 1 || lost.reasons[old] != ErrSessionOver || !slices.Equal(paths, []string{"/a", "/b", "/c", "/d"}) {
		t.Errorf("lost %v, nodes to check %v", lost.reasons, paths)
	}
	if lost := s.gone("/b"); len(lost.reasons) != 1 || lost.reasons[both] != ErrNodeGone {
		t.Errorf("lost %v", lost.reasons)
	}
	if lost := s.gone("/b"); lost.reasons != nil {
		t.Errorf("lost again: %v", lost.reasons)
	}
	last := named("last", 1)
	s[last] = struct{}{}
	lost, paths = s.judge(&clock, start.Add(T/2))
	if len(lost.reasons) != 2 || lost.reasons[one] != ErrNoContact || lost.reasons[last] != ErrNoContact || !slices.Equal(paths, []string{"/d"}) {
		t.Errorf("lost %v, nodes to check %v", lost.reasons, paths)
	}
	if len(s) != 1 {
		t.Errorf("%d guards left, want 1", len(s))
	}

	lost.report()
	slices.Sort(calls[:2])
	want := []string{"last: " + ErrNoContact.Error(), "one: " + ErrNoContact.Error(), "then", "then"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	clock.measure(2)
	lost, _ = s.judge(&clock, start)
	lost.report() // there is no function to call
	if lost.reasons[probes] != ErrSessionOver || len(s) != 0 {
		t.Errorf("lost %v, %d guards left", lost.reasons, len(s))
	}
}

func TestGoneNodesAreNamed(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		start := time.Now()
		var all []*lossLog
		for i := range 5 {
			l := newLossLog()
			c.Guard([]string{ephemeral(t, c, fmt.Sprint("/", i))}, st.Session, l.lost)
			all = append(all, l)
		}
		f.do(func() { // without an event
			delete(f.nodes, "/1")
			delete(f.nodes, "/3")
		})
		for _, i := range []int{1, 3} {
			// The first hides the second until the first answer has come.
			if at := all[i].at(t, ErrNodeGone); at != T/6 {
				t.Errorf("node %d: reported after %v, want %v", i, at, T/6)
			}
		}
		time.Sleep(T)
		for _, i := range []int{0, 2, 4} {
			all[i].never(t)
		}
		if at := f.times(wire.OpMulti, start); at[0] != T/6 || at[1] != T/6 || at[2] != T/6 || at[3] != T/3 {
			t.Errorf("probes at %v", at)
		}
	})
}

func TestGuardOfAnExpiredSession(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, l := guarded(t, f)
		silent := c.Guard([]string{"/node"}, 1, nil)
		f.expire()
		l.at(t, ErrSessionOver)
		silent.Stop()
		st, err := c.Await(t.Context())
		if err != nil || st.Session != 2 || c.Alive(1) || !c.Alive(2) {
			t.Errorf("state %+v, %v", st, err)
		}
		if !c.Mine(1) || !c.Mine(2) || c.Mine(3) {
			t.Error("Mine")
		}
		late := newLossLog()
		c.Guard([]string{"/node"}, 1, late.lost)
		late.at(t, ErrSessionOver)
	})
}
