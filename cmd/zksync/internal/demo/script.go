package demo

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// The parts of the demo's length that pass before the faults.
const (
	killAfter = 0.14
	cutAfter  = 0.42
)

// play starts the workers, makes the faults, and shows what comes of them until the
// demo's time is over.
func (d *demo) play() error {
	for _, name := range d.story.workers {
		if err := d.start(name, routine, "started"); err != nil {
			return err
		}
	}
	for _, act := range []struct {
		when func() bool
		do   func() error
	}{
		{d.caught(killAfter), d.kill},
		{func() bool { return d.heirs() >= 1 && !d.workers[d.victim.Who].running }, d.restart},
		{d.caught(cutAfter), d.cutOff},
		{func() bool { return d.heirs() >= 2 }, d.heal},
	} {
		if err := d.until(act.when); err != nil {
			return err
		}
		if err := act.do(); err != nil {
			return err
		}
	}
	return d.until(func() bool { return d.story.now() > d.story.length })
}

// start starts a worker.
func (d *demo) start(name string, t tone, does string) error {
	w := d.workers[name]
	if err := w.start(d.pipe); err != nil {
		return &exit.Error{Code: exit.OS, Err: fmt.Errorf("can't start a worker: %w", err)}
	}
	d.story.tell(t, report{Who: name, What: started}, "%s, process %d", does, w.cmd.Process.Pid)
	return nil
}

// caught returns a condition: there is a victim that holds the lock. The search for it
// begins after a part of the demo's length.
func (d *demo) caught(after float64) func() bool {
	begin := time.Duration(after * float64(d.story.length))
	return func() bool {
		d.hunting = d.victim == nil && d.story.now() > begin
		return d.victim != nil
	}
}

// heirs returns how many holds have begun since that of the victim.
func (d *demo) heirs() int {
	if d.victim == nil {
		return 0
	}
	return len(d.judge.fences) - 1 - slices.Index(d.judge.fences, d.victim.Fence)
}

// kill kills the victim, and reports it. What follows in the pipe has happened when the
// victim could do nothing any more, even if it takes the kernel long to end the process.
func (d *demo) kill() error {
	d.workers[d.victim.Who].kill()
	end := report{Who: d.victim.Who, What: killed, Text: strconv.FormatInt(d.victim.Fence, 10)}
	_ = end.write(d.pipe) // this process reads it
	return nil
}

// restart starts the worker that was killed again.
func (d *demo) restart() error {
	d.spared, d.victim = d.victim.Who, nil
	return d.start(d.spared, plain, "started again")
}

// cutOff cuts the victim off from the server and from the store. Its write is on the
// way, and stays there.
func (d *demo) cutOff() error {
	d.workers[d.victim.Who].way.Blackhole()
	d.story.tell(warn, report{Who: d.victim.Who}, "CUT OFF holding fence %d: nothing gets in or out", d.victim.Fence)
	return nil
}

// heal ends the cut. The write that the network has held back arrives now.
func (d *demo) heal() error {
	late := *d.victim
	d.victim = nil
	d.workers[late.Who].way.Heal()
	d.story.tell(good, report{Who: late.Who, What: back}, "back on the network")
	d.deliver(late)
	return nil
}

// receive acts on a report of a worker. Its error ends the demo.
func (d *demo) receive(r report) error {
	switch r.What {
	case waiting:
		d.story.tell(routine, r, "waits, place %d, behind %s", r.N, r.Text)
	case holding:
		d.granted(r)
	case writing:
		if d.hunting && r.Fence == d.store.fence && r.Who != d.spared { // not the first write of this hold
			d.hunting, d.victim = false, &r
		} else {
			d.deliver(r)
		}
	case released:
		took := d.judge.end(r.Who, d.story.now())
		d.story.tell(routine, r, "releases after %.2f s", took.Seconds())
	case lost:
		d.judge.end(r.Who, d.story.now())
		d.story.tell(bad, r, "LOST the lock by its own clock; the others still wait")
	case killed:
		d.judge.end(r.Who, d.story.now())
		d.story.tell(bad, r, "KILLED (kill -9) holding fence %s; its session lives on", r.Text)
	case gone:
		w := d.workers[r.Who]
		if w.running = false; !w.killed {
			return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("%s has ended by itself: %s", r.Who, r.Text)}
		}
	default:
		return &exit.Error{Code: exit.OS, Err: fmt.Errorf("a worker has reported %q, which makes no sense", r.Text)}
	}
	return nil
}

// granted takes note of a hold. The first one after a fault is news: somebody holds the
// lock again.
func (d *demo) granted(r report) {
	d.judge.begin(r.Who, hold{r.Fence, d.story.now()})
	if d.heirs() == 1 {
		d.story.tell(good, r, "HOLDS the lock, fence %d: the session of %s is over", r.Fence, d.victim.Who)
	} else {
		d.story.tell(routine, r, "HOLDS the lock, fence %d", r.Fence)
	}
}

// deliver brings a write to the store, which answers it.
func (d *demo) deliver(r report) {
	latest := d.store.fence
	if !d.store.write(r.Fence) {
		d.story.tell(good, report{Who: "store"}, "REFUSED a late write of %s, fence %d after %d", r.Who, r.Fence, latest)
	}
	d.workers[r.Who].answer(r.N)
}
