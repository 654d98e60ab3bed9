package main

import (
	"fmt"
	"time"
)

// act is how far the demo has got with its faults.
type act int

const (
	calm     act = iota
	killing      // a worker was killed, the lock is nobody's
	restart      // the next one has the lock
	between      // the killed one has started again
	cutting      // a worker was cut off while it held
	healing      // the next one has the lock and has written
	finished     // the cut is healed
)

// script makes the faults, each while a worker is known to hold the lock: it
// waits for the store's answer to its second write of a hold, or later.
type script struct {
	act    act
	since  int64    // of clock: when act began
	victim int      // who was killed last, or cut off
	fence  int64    // of the victim's hold
	killed int      // who was killed
	late   []report // writes that are held back
}

// after reports whether a part of the demo's length has gone by.
func (d *demo) after(part float64) bool {
	return d.timeline.since(clock()).Seconds() >= part*d.length.Seconds()
}

// turn goes on to the next act.
func (d *demo) turn(a act) { d.script.act, d.script.since = a, clock() }

// strike makes a fault if it is time for one. The worker has just asked the
// store for something, and hold is its hold.
func (d *demo) strike(worker int, r report, hold *held) (struck bool) {
	sc := &d.script
	switch {
	case sc.act == calm && d.after(0.14):
		sc.victim, sc.killed, sc.fence = worker, worker, r.Fence
		d.store.write(r.Fence)
		d.turn(killing)
		at := clock()
		d.crew[worker].kill()
		d.timeline.mark(worker, at, signKilled)
		d.note(at, worker, badTone, "KILLED (kill -9) holding fence %d; its session lives on", r.Fence)
		return true
	case sc.act == between && d.after(0.42) && worker != sc.killed:
		sc.victim, sc.fence = worker, r.Fence
		d.turn(cutting)
		at := clock()
		d.doors[worker].Blackhole(true, true)
		d.timeline.cut(worker, at)
		d.note(at, worker, warnTone, "CUT OFF holding fence %d: nothing gets in or out", r.Fence)
		sc.late = append(sc.late, r) // it is on the way
		return true
	}
	return false
}

// isCut reports whether a worker's messages to the store are held back.
func (d *demo) isCut(worker int) bool {
	return (d.script.act == cutting || d.script.act == healing) && d.script.victim == worker
}

// wrote follows the writes that the store has taken.
func (d *demo) wrote(worker int, fence int64) {
	sc := &d.script
	if worker == sc.victim || fence <= sc.fence {
		return
	}
	switch sc.act {
	case killing:
		d.turn(restart)
	case cutting:
		d.turn(healing)
	}
}

// tick does what comes by the clock. Its error is that of a worker that could
// not be started.
func (d *demo) tick() error {
	sc := &d.script
	passed := time.Duration(clock() - sc.since)
	switch {
	case sc.act == restart && passed > d.length/25 && !d.crew[sc.killed].running:
		d.turn(between)
		return d.launch(sc.killed)
	case sc.act == healing && passed > d.length/12:
		d.heal()
	}
	return nil
}

// heal ends the cut: what was sent meanwhile arrives now.
func (d *demo) heal() {
	sc := &d.script
	at := clock()
	d.doors[sc.victim].Heal()
	d.timeline.cut(sc.victim, at)
	d.note(at, sc.victim, goodTone, "back on the network")
	d.turn(finished)
	for _, r := range sc.late {
		d.deliver(sc.victim, r)
	}
	sc.late = nil
}

// deliver brings a write to the store, which answers it.
func (d *demo) deliver(worker int, r report) {
	latest := d.store.fence
	if d.store.write(r.Fence) {
		d.wrote(worker, r.Fence)
	} else {
		d.timeline.say(event{at: clock(), who: "store", tone: goodTone,
			text: fmt.Sprintf("REFUSED a late write of %s, fence %d after %d", workerName(worker), r.Fence, latest)})
	}
	d.crew[worker].answer(r.N)
}
