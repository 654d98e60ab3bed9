package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

const (
	// demoTimeout is the workers' session timeout: how long the lock of one
	// that was killed stays.
	demoTimeout = 1500 * time.Millisecond

	// The demo may overrun its length by so much to have shown everything, and
	// takes so long at its end for what is under way.
	demoOverrun = 10 * time.Second
	demoEnding  = 500 * time.Millisecond
	demoLimit   = 5 * time.Second // for the workers to end

	minWorkers, maxWorkers = 2, 9
	minLength, maxLength   = 6 * time.Second, time.Minute
)

// demo is one "zksync demo": all but the view is its main loop's.
type demo struct {
	workers int
	length  time.Duration

	out      io.Writer
	sigs     chan os.Signal
	timeline *timeline
	doors    []*zktest.Door // each worker's way to ZooKeeper
	crew     []*hand
	news     chan news
	judge    judge
	store    store
	script   script
	stopping bool
}

func newDemo() *cobra.Command {
	d := &demo{}
	length := seconds(10 * time.Second)
	cmd := &cobra.Command{
		Use:                   "demo [flags]",
		Short:                 "Show a lock at work, and what happens to it when things break",
		Long:                  demoLong,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.length, d.out = time.Duration(length), cmd.OutOrStdout()
			switch {
			case len(args) > 0:
				return usagef("demo takes no arguments, only flags")
			case d.workers < minWorkers || d.workers > maxWorkers:
				return usagef("--workers %d: want %d to %d", d.workers, minWorkers, maxWorkers)
			case d.length < minLength || d.length > maxLength:
				return usagef("--duration %v: want 6s to 1m", d.length)
			}
			return d.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&d.workers, "workers", 4, "how many processes share the lock, 2 to 9")
	f.Var(&length, "duration", "how long it lasts, 6s to 1m")
	return cmd
}

// run shows the demo and returns nil if the lock has kept its promises.
func (d *demo) run() error {
	// On Linux the kernel kills a worker when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.sigs = catchSignals()
	ignoreStop()
	server := zktest.New(zktest.WithTick(demoTimeout / 6))
	defer server.Close()
	for range d.workers {
		d.doors = append(d.doors, server.Door())
	}
	d.news = make(chan news, 64)
	d.timeline = newTimeline(d.workers, d.length)
	d.timeline.say(event{at: clock(), who: "demo", text: fmt.Sprintf("a ZooKeeper in this process, session timeout %v", demoTimeout)})
	v := newView(d.out, d.timeline)
	err := d.play(v)
	d.dismiss()
	var summary []event
	if err == nil {
		summary, err = d.conclude()
	}
	v.finish(summary)
	return d.leave(v, err)
}

// leave waits until everything is shown, unless nobody wants to: what we write
// may have no reader.
func (d *demo) leave(v *view, err error) error {
	var limit <-chan time.Time
	var exit *exitError
	if errors.As(err, &exit) && exit.code > exitSignal {
		limit = time.After(time.Second)
	}
	for {
		select {
		case <-v.done:
			if err == nil && v.err != nil {
				err = &exitError{exitOS, v.err}
			}
			return err
		case <-limit:
			return err
		case sig := <-d.sigs:
			if slices.Contains(endSignals, sig) {
				return interrupted(sig)
			}
		}
	}
}

// interrupted is the error of a program that a signal has ended.
func interrupted(sig os.Signal) error {
	return &exitError{code: exitSignal + int(sig.(syscall.Signal))}
}

// play runs the demo until all workers have ended in good order.
func (d *demo) play(v *view) error {
	for i := range d.workers {
		d.crew = append(d.crew, nil)
		if err := d.launch(i); err != nil {
			return err
		}
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var limit <-chan time.Time
	for d.atWork() {
		var err error
		select {
		case sig := <-d.sigs:
			if slices.Contains(endSignals, sig) {
				return interrupted(sig)
			}
		case <-v.done:
			return &exitError{exitOS, v.err}
		case <-limit:
			return &exitError{exitUnavailable, fmt.Errorf("the workers did not end within %v", demoLimit)}
		case n := <-d.news:
			err = d.hear(n)
		case <-tick.C:
			if err = d.tick(); err == nil && !d.stopping && d.isTime() {
				d.stopping = true
				limit = time.After(demoLimit)
				for _, h := range d.crew {
					h.stop()
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTime reports whether the workers are to end.
func (d *demo) isTime() bool {
	now := d.timeline.since(clock())
	if d.script.act != finished {
		return now > d.length+demoOverrun
	}
	return now > d.length-demoEnding
}

// launch starts a worker, anew if need be.
func (d *demo) launch(worker int) (err error) {
	again := d.crew[worker] != nil
	h, err := newHand(worker, d.doors[worker].Addr(), d.news)
	if err != nil {
		return err
	}
	d.crew[worker] = h
	text := "started, process %d"
	if again {
		text = "started again, process %d"
	}
	d.timeline.say(event{at: clock(), who: workerName(worker), text: fmt.Sprintf(text, h.cmd.Process.Pid), routine: !again})
	return nil
}

func (d *demo) atWork() bool {
	return slices.ContainsFunc(d.crew, func(h *hand) bool { return h != nil && h.running })
}

// dismiss ends the workers that are left, and waits until they are gone.
func (d *demo) dismiss() {
	for _, h := range d.crew {
		if h != nil && h.running {
			h.kill()
		}
	}
	for d.atWork() {
		if n := <-d.news; n.end {
			d.crew[n.worker].running = false
		}
	}
}

// note adds a line about a worker to the log.
func (d *demo) note(at int64, worker int, t tone, format string, args ...any) {
	d.timeline.say(event{at: at, who: workerName(worker), tone: t, text: fmt.Sprintf(format, args...)})
}

// routine adds a line that the picture shows too.
func (d *demo) routine(at int64, worker int, format string, args ...any) {
	d.timeline.say(event{at: at, who: workerName(worker), text: fmt.Sprintf(format, args...), routine: true})
}

// hear takes what a worker says.
func (d *demo) hear(n news) error {
	r, w := n.report, n.worker
	switch {
	case n.err != nil:
		return &exitError{exitOS, fmt.Errorf("%s does not talk sense: %w", workerName(w), n.err)}
	case n.end:
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
		d.judge.begin(w, r.Fence, r.At)
		d.timeline.turn(w, span{from: r.At, doing: holding, fence: r.Fence})
		if sc := &d.script; (sc.act == killing || sc.act == cutting) && w != sc.victim {
			d.note(r.At, w, goodTone, "HOLDS the lock, fence %d: the session of %s is over", r.Fence, workerName(sc.victim))
		} else {
			d.routine(r.At, w, "HOLDS the lock, fence %d", r.Fence)
		}
	case saysWrite:
		switch h := d.judge.holder(w); {
		case d.isCut(w):
			d.script.late = append(d.script.late, r)
		case h != nil && r.At-h.begin > int64(stepPause)/2 && d.strike(w, r, h):
		default:
			d.deliver(w, r)
		}
	case saysRelease, saysLost:
		d.ended(w, r)
	case saysError:
		return &exitError{exitUnavailable, fmt.Errorf("%s can't go on: %s", workerName(w), r.Text)}
	}
	return nil
}

// ended notes the end of a hold.
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

// gone notes the end of a process, and with it of its hold.
func (d *demo) gone(w int, at int64) error {
	h := d.crew[w]
	h.running = false
	d.judge.end(w, at, heldUntilKilled)
	d.timeline.turn(w, span{from: at, doing: away})
	if h.doomed {
		return nil
	}
	return &exitError{exitOS, fmt.Errorf("%s has ended by itself: %s", workerName(w), h.lastWords())}
}
