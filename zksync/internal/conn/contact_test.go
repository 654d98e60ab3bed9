package conn

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// T is the session timeout in bubbles. The parts of it that matter are whole seconds.
const T = 12 * time.Second

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble.Test(t, f) })
}

func TestProbes(t *testing.T) {
	inBubble(t, "EverySixth", func(t *testing.T) {
		f := newFake(T)
		c, l := guarded(t, f)
		time.Sleep(T + T/12)
		want := []time.Duration{T / 6, T / 3, T / 2, 2 * T / 3, 5 * T / 6, T}
		if got := f.times(wire.OpMulti, l.start); !slices.Equal(got, want) {
			t.Errorf("probes at %v, want %v", got, want)
		}
		l.never(t)
		if st, _ := c.State(); !c.Alive(st.Session) || c.Alive(0) || c.Alive(st.Session+1) {
			t.Error("Alive")
		}
	})
	inBubble(t, "NoneWithoutAGuard", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		g := c.Guard([]string{"/"}, st.Session, nil)
		time.Sleep(T/2 + T/12)
		g.Stop()
		n := f.countOf(wire.OpMulti)
		time.Sleep(T)
		if got := f.countOf(wire.OpMulti); n == 0 || got != n {
			t.Errorf("%d probes with a guard, %d after it", n, got-n)
		}
	})
	// A request of a program's client is smaller: its buffer may be.
	inBubble(t, "ManyNodesInParts", func(t *testing.T) {
		f := newFake(T)
		manyNodesInParts(t, f, f.open(t), 1400, "300 KiB")
	})
	inBubble(t, "ManyNodesInPartsByAProgramsClient", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		manyNodesInParts(t, f, c, 400, "85 KiB")
	})
}

// manyNodesInParts guards n nodes, whose checks have that size and take three transactions.
func manyNodesInParts(t *testing.T, f *fake, c *Conn, n int, size string) {
	t.Helper()
	st, _ := c.State()
	l := newLossLog()
	for i := range n {
		g := c.Guard([]string{ephemeral(t, c, fmt.Sprintf("/%0200d", i))}, st.Session, l.lost)
		t.Cleanup(g.Stop)
	}
	time.Sleep(T/6 + T/12)
	if n := f.countOf(wire.OpMulti); n != 3 {
		t.Errorf("%d transactions for %s of nodes, want 3", n, size)
	}
	l.never(t)
}

// A probe that is not answered within T/6 ends the connection. The next probe
// proves at once that the session lives, on the next connection.
func TestUnansweredProbeMovesOn(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, l := guarded(t, f)
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) act { return act{silent: p.n == 1 && h.Op == wire.OpMulti} }
		})
		time.Sleep(T)
		l.never(t)
		if n := f.dials(); n != 2 {
			t.Fatalf("%d connections, want 2", n)
		}
		f.do(func() {
			if at := f.peers[0].ended.Sub(l.start); at != T/3 {
				t.Errorf("the connection was given up after %v, want %v", at, T/3)
			}
		})
		probes := f.times(wire.OpMulti, l.start)
		if probes[0] != T/6 || probes[1] != T/3 {
			t.Errorf("probes at %v, want %v, %v, ...", probes, T/6, T/3)
		}
		if st, _ := c.State(); st.Epoch != 2 || st.Session != 1 {
			t.Errorf("state %+v", st)
		}
	})
}

// On a new connection a probe proves at once that the session lives.
func TestReconnectIsProven(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		_, l := guarded(t, f)
		time.Sleep(T/6 + T/24)
		f.cut()
		time.Sleep(T / 24)
		if got, want := f.times(wire.OpMulti, l.start), []time.Duration{T / 6, T/6 + T/24}; !slices.Equal(got, want) {
			t.Errorf("probes at %v, want %v", got, want)
		}
	})
}

// Without contact the guards lose at exactly T/2 after the sending of the last write
// that the quorum has answered.
func TestLossOfContact(t *testing.T) {
	for name, script := range map[string]func(*peer, wire.RequestHeader) act{
		"Silent": allMute,
		// A follower that is cut off from its leader answers pings and reads. A
		// deposed leader accepts the connect request of a known session, too.
		"PingsReadsAndConnects": func(_ *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpMulti} },
	} {
		inBubble(t, name, func(t *testing.T) {
			f := newFake(T)
			c, l := guarded(t, f)
			time.Sleep(T/6 + T/100) // until one probe is answered
			f.do(func() { f.script = script })
			reads := time.NewTicker(T / 20)
			defer reads.Stop()
			for range 6 {
				<-reads.C
				go c.Children("/")
				go c.Sync("/")
			}
			if at := l.at(t, ErrNoContact); at != T/6+T/2 {
				t.Errorf("reported after %v, want %v", at, T/6+T/2)
			}
			if st, _ := c.State(); c.Alive(st.Session) {
				t.Error("alive all the same")
			}
			f.do(func() { f.script = nil })
		})
	}
	inBubble(t, "CountedFromTheSending", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		st, _ := c.State()
		time.Sleep(T)
		if c.Alive(st.Session) {
			t.Error("alive by the connect request of long ago")
		}
		f.do(func() { f.script = slow(T / 4) })
		if _, _, err := c.Check("/"); err != nil || !c.Alive(st.Session) {
			t.Fatalf("after an answer that took T/4: %v", err)
		}
		f.do(func() { f.script = nil })
		time.Sleep(T/4 - 1)
		if !c.Alive(st.Session) {
			t.Error("not alive less than T/2 after the sending")
		}
		time.Sleep(time.Nanosecond)
		if c.Alive(st.Session) {
			t.Error("alive T/2 after the sending")
		}
		for _, refused := range []func() error{
			func() error { _, err := c.Delete("/none"); return err },
			func() error { _, _, err := c.Create([]string{"/none/x"}, nil, 0, acl); return err },
		} {
			refused()
			if !c.Alive(st.Session) {
				t.Error("a refusal by the quorum is a sign of life, too")
			}
			time.Sleep(T / 2)
		}
	})
}

// slow returns a script that answers transactions after d.
func slow(d time.Duration) func(*peer, wire.RequestHeader) act {
	return func(_ *peer, h wire.RequestHeader) (a act) {
		if h.Op == wire.OpMulti {
			a.delay = d
		}
		return a
	}
}

// Servers that do not answer for T/4, or accept no connections for T/4, cause no loss,
// whenever that begins.
func TestQuarterTimeoutOfSilence(t *testing.T) {
	const steps = 24
	for _, refuse := range []bool{false, true} {
		for i := range steps {
			inBubble(t, fmt.Sprintf("Refuse=%v/%d", refuse, i), func(t *testing.T) {
				f := newFake(T)
				c, l := guarded(t, f)
				time.Sleep(time.Duration(i) * T / 6 / steps)
				for range 3 {
					f.do(func() {
						f.script = allMute
						if refuse {
							f.refuse = errRefused
						}
					})
					if refuse {
						f.cut()
					}
					time.Sleep(T / 4)
					f.do(func() { f.script, f.refuse = nil, nil })
					if _, err := c.Await(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(T / 4)
				}
				time.Sleep(T)
				l.never(t)
			})
		}
	}
}

func TestProve(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		node := ephemeral(t, c, "/node")
		time.Sleep(T + time.Second) // between two pings, which the client sends every T/3
		if err := c.Prove(1, node); err != nil {
			t.Errorf("Prove: %v", err)
		}
		if err := c.Prove(2, node); !errors.Is(err, ErrSessionOver) {
			t.Errorf("of another session: %v", err)
		}
		if err := c.Prove(1, "/none"); !errors.Is(err, ErrNodeGone) {
			t.Errorf("without a node: %v", err)
		}
		f.do(func() { f.script = slow(T/2 + 1) })
		if err := c.Prove(1, node); !errors.Is(err, ErrNoContact) {
			t.Errorf("answered after T/2: %v", err)
		}
		f.do(func() { f.script = func(*peer, wire.RequestHeader) act { return act{cut: true, silent: true} } })
		var cut sync.WaitGroup
		cut.Go(func() { time.Sleep(time.Second); f.cut() })
		if err := c.Prove(1, node); err == nil || Classify(err) != Unknown {
			t.Errorf("cut: %v", err)
		}
		cut.Wait()
		f.do(func() { f.script = nil })
	})
}
