package conn

import (
	"fmt"
	"testing"
	"time"
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
			{at: 5 * s, contact: 2 * s, answered: 3 * s, see: on(1), want: "cut 3s"}, // the loss is due then
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
