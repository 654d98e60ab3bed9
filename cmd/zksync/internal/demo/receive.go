package demo

import (
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// receive acts on a message of a worker. Its error ends the demo.
func (d *demo) receive(m message) error {
	r, w := m.report, m.worker
	switch {
	case m.err != nil:
		return &exit.Error{Code: exit.OS, Err: fmt.Errorf("%s does not talk sense: %w", workerName(w), m.err)}
	case m.end:
		return d.gone(w, r.At)
	}
	switch r.What {
	case saysReady:
		d.timeline.turn(w, span{from: r.At, doing: idle})
	case saysWait:
		d.timeline.turn(w, span{from: r.At, doing: waiting})
	case saysBehind:
		d.routine(r.At, w, "waits, place %d, behind %s", r.N, r.Text)
	case saysHold:
		d.granted(w, r)
	case saysWrite:
		d.asked(w, r)
	case saysRelease, saysLost:
		d.ended(w, r)
	case saysError:
		return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("%s can't go on: %s", workerName(w), r.Text)}
	}
	return nil
}

// granted takes note of a hold that begins. After a fault this is news: somebody
// holds the lock again.
func (d *demo) granted(w int, r report) {
	d.judge.begin(w, r.Fence, r.At)
	d.timeline.turn(w, span{from: r.At, doing: holding, fence: r.Fence})
	if sc := &d.script; (sc.act == killing || sc.act == cutting) && w != sc.victim {
		d.note(r.At, w, goodTone, "HOLDS the lock, fence %d: the session of %s is over", r.Fence, workerName(sc.victim))
		return
	}
	d.routine(r.At, w, "HOLDS the lock, fence %d", r.Fence)
}

// asked deals with a write that a worker asks for: the network holds it back, or
// the worker becomes the victim of a fault, or the store answers.
func (d *demo) asked(w int, r report) {
	if d.isCut(w) {
		d.script.late = append(d.script.late, r)
		return
	}
	if !d.strike(w, r) {
		d.deliver(w, r)
	}
}

// deliver brings a write to the store, which answers it.
func (d *demo) deliver(w int, r report) {
	latest := d.store.fence
	if d.store.write(r.Fence) {
		d.wrote(w, r.Fence)
	} else {
		d.timeline.record(event{at: clock(), who: "store", tone: goodTone,
			text: fmt.Sprintf("REFUSED a late write of %s, fence %d after %d", workerName(w), r.Fence, latest)})
	}
	d.procs[w].ack(r.N)
}

// ended takes note of a hold that the worker itself says has ended.
func (d *demo) ended(w int, r report) {
	h := d.judge.end(w, r.At, r.What)
	d.timeline.turn(w, span{from: r.At, doing: idle})
	if h == nil {
		return
	}
	if r.What == saysRelease {
		d.routine(r.At, w, "releases after %.2f s", time.Duration(h.end-h.begin).Seconds())
		return
	}
	d.timeline.mark(w, r.At, signLost)
	d.note(r.At, w, badTone, "LOST the lock by its own clock; the others still wait")
}

// gone takes note of a process that has ended, and of the hold that ends with it.
// It returns an error if nobody wanted the process to end.
func (d *demo) gone(w int, at int64) error {
	p := d.procs[w]
	p.running = false
	d.judge.end(w, at, heldUntilKilled)
	d.timeline.turn(w, span{from: at, doing: away})
	if p.doomed {
		return nil
	}
	return &exit.Error{Code: exit.OS, Err: fmt.Errorf("%s has ended by itself: %s", workerName(w), p.lastWords())}
}

// note adds a line about a worker to the log.
func (d *demo) note(at int64, worker int, t tone, format string, args ...any) {
	d.timeline.record(event{at: at, who: workerName(worker), tone: t, text: fmt.Sprintf(format, args...)})
}

// routine adds a line about a worker that the picture shows as well.
func (d *demo) routine(at int64, worker int, format string, args ...any) {
	d.timeline.record(event{at: at, who: workerName(worker), text: fmt.Sprintf(format, args...), routine: true})
}
