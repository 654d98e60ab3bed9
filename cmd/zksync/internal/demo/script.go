package demo

// act is how far the demo has got with its faults.
type act int

const (
	calm     act = iota
	killing      // a worker was killed, and nobody holds the lock
	restart      // the next worker has the lock and has written
	between      // the killed worker was started again
	cutting      // a worker was cut off while it held the lock
	healing      // the next worker has the lock and has written
	finished     // the cut is healed
)

// When the acts begin. The first two are parts of the demo's length that must
// have passed, the others parts of it that the act before must have lasted.
const (
	killAfter    = 0.14
	cutAfter     = 0.42
	restartAfter = 1.0 / 25
	healAfter    = 1.0 / 12
)

// script makes the faults. A fault is made while a worker is known to hold the
// lock: it has asked the store for the second write of its hold, or for a later
// one, and waits for the answer.
type script struct {
	act    act
	since  int64    // of clock: when act began
	victim int      // the worker that was killed last, or cut off
	fence  int64    // of the victim's hold
	killed int      // the worker that was killed
	late   []report // writes that the network holds back
}

// turn begins the next act.
func (s *script) turn(a act) { s.act, s.since = a, clock() }

// passed reports whether a part of the demo's length has passed since its start.
func (d *demo) passed(part float64) bool {
	return d.timeline.since(clock()).Seconds() >= part*d.length.Seconds()
}

// lasted reports whether the act has lasted for a part of the demo's length.
func (d *demo) lasted(part float64) bool {
	return float64(clock()-d.script.since) > part*float64(d.length)
}

// strike makes a fault if it is time for one. The worker has just asked the store
// for a write; if strike returns true, it gets no answer.
func (d *demo) strike(worker int, write report) (struck bool) {
	sc := &d.script
	h := d.judge.holder(worker)
	switch {
	case h == nil || write.At-h.begin <= int64(stepPause)/2:
		return false // it does not hold, or this is the first write of its hold
	case sc.act == calm && d.passed(killAfter):
		d.kill(worker, write)
		return true
	case sc.act == between && d.passed(cutAfter) && worker != sc.killed:
		d.cut(worker, write)
		return true
	}
	return false
}

// kill kills a worker that holds the lock. The store has accepted its write, and
// the answer comes too late.
func (d *demo) kill(worker int, write report) {
	sc := &d.script
	sc.victim, sc.killed, sc.fence = worker, worker, write.Fence
	d.store.write(write.Fence)
	sc.turn(killing)
	at := clock()
	d.procs[worker].kill()
	d.timeline.mark(worker, at, signKilled)
	d.note(at, worker, badTone, "KILLED (kill -9) holding fence %d; its session lives on", write.Fence)
}

// cut cuts a worker that holds the lock off from the server and from the store.
// Its write is on the way, and stays there.
func (d *demo) cut(worker int, write report) {
	sc := &d.script
	sc.victim, sc.fence = worker, write.Fence
	sc.turn(cutting)
	at := clock()
	d.members[worker].Blackhole()
	d.timeline.cut(worker, at)
	d.note(at, worker, warnTone, "CUT OFF holding fence %d: nothing gets in or out", write.Fence)
	sc.late = append(sc.late, write)
}

// isCut reports whether the network holds back what a worker sends to the store.
func (d *demo) isCut(worker int) bool {
	return (d.script.act == cutting || d.script.act == healing) && d.script.victim == worker
}

// wrote takes note of a write that the store has accepted. If it comes from the
// holder after the victim, the fault has shown what it was to show.
func (d *demo) wrote(worker int, fence int64) {
	sc := &d.script
	if worker == sc.victim || fence <= sc.fence {
		return
	}
	switch sc.act {
	case killing:
		sc.turn(restart)
	case cutting:
		sc.turn(healing)
	}
}

// tick does what comes by the clock. Its error is that of a worker that could not
// be started.
func (d *demo) tick() error {
	sc := &d.script
	switch {
	case sc.act == restart && d.lasted(restartAfter) && !d.procs[sc.killed].running:
		sc.turn(between)
		return d.launch(sc.killed)
	case sc.act == healing && d.lasted(healAfter):
		d.heal()
	}
	return nil
}

// heal ends the cut. The writes that the network has held back arrive now.
func (d *demo) heal() {
	sc := &d.script
	at := clock()
	d.members[sc.victim].Heal()
	d.timeline.cut(sc.victim, at)
	d.note(at, sc.victim, goodTone, "back on the network")
	sc.turn(finished)
	for _, write := range sc.late {
		d.deliver(sc.victim, write)
	}
	sc.late = nil
}
