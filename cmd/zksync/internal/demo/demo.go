package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The limits of the arguments of [Run].
const (
	MinWorkers, MaxWorkers = 2, 9
	MinLength, MaxLength   = 6 * time.Second, time.Minute
)

const (
	// The demo may take overrun longer than its length to show everything. It
	// stops its workers ending before its length is over, and they must have ended
	// within endLimit.
	overrun  = 10 * time.Second
	ending   = 500 * time.Millisecond
	endLimit = 5 * time.Second

	tickEvery = 20 * time.Millisecond // how often the main loop looks at the clock
)

// demo is one run of the demo. Its fields are for the goroutine of the main loop
// alone, but the timeline may be used by any.
type demo struct {
	workers int
	length  time.Duration

	sigs     chan os.Signal
	timeline *timeline
	members  []*zktest.Member // each worker's way to the server
	procs    []*workerProcess // nil before the first start
	messages chan message     // from all workers
	judge    judge
	store    store
	script   script
	stopping bool // the workers were asked to end
}

// Run shows the demo on out, for about the given length. It returns nil if
// everything was shown and the lock has kept its promises. Otherwise it returns an
// [exit.Error]. It catches the signals of the process and ignores Ctrl-Z, and
// leaves it so.
func Run(out io.Writer, workers int, length time.Duration) error {
	// On Linux the kernel kills a worker when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := &demo{
		workers: workers, length: length,
		sigs:     process.CatchSignals(),
		procs:    make([]*workerProcess, workers),
		messages: make(chan message, 64),
	}
	ignoreStop()
	server := zktest.New(zktest.WithTick(sessionTimeout / 6))
	defer server.Close()
	for range workers {
		d.members = append(d.members, server.AddMember())
	}
	d.timeline = newTimeline(workers, length)
	d.timeline.record(event{at: clock(), who: "demo", text: fmt.Sprintf("a ZooKeeper in this process, session timeout %v", sessionTimeout)})
	v := newView(out, d.timeline)
	err := d.play(v)
	d.dismiss()
	var summary []event
	if err == nil {
		summary, err = d.conclude()
	}
	v.finish(summary)
	return d.leave(v, err)
}

// play runs the demo until all workers have ended as they should.
func (d *demo) play(v *view) error {
	for worker := range d.workers {
		if err := d.launch(worker); err != nil {
			return err
		}
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	var limit <-chan time.Time
	for d.atWork() {
		var err error
		select {
		case sig := <-d.sigs:
			if process.AsksToEnd(sig) {
				return exit.Interrupted(sig)
			}
		case <-v.done:
			return &exit.Error{Code: exit.OS, Err: v.err}
		case <-limit:
			return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("the workers did not end within %v", endLimit)}
		case m := <-d.messages:
			err = d.receive(m)
		case <-tick.C:
			if err = d.tick(); err == nil && d.isTime() {
				d.stop()
				limit = time.After(endLimit)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTime reports whether the workers are to be asked to end.
func (d *demo) isTime() bool {
	now := d.timeline.since(clock())
	switch {
	case d.stopping:
		return false
	case d.script.act != finished:
		return now > d.length+overrun
	}
	return now > d.length-ending
}

// stop asks the workers to end.
func (d *demo) stop() {
	d.stopping = true
	for _, p := range d.procs {
		p.stop()
	}
}

// launch starts a worker, for the first time or again.
func (d *demo) launch(worker int) error {
	p, err := startWorker(worker, d.members[worker].Addr(), d.messages)
	if err != nil {
		return err
	}
	again := d.procs[worker] != nil
	d.procs[worker] = p
	text := "started, process %d"
	if again {
		text = "started again, process %d"
	}
	d.timeline.record(event{at: clock(), who: workerName(worker), text: fmt.Sprintf(text, p.cmd.Process.Pid), routine: !again})
	return nil
}

// atWork reports whether any worker runs.
func (d *demo) atWork() bool {
	return slices.ContainsFunc(d.procs, func(p *workerProcess) bool { return p != nil && p.running })
}

// dismiss kills the workers that still run, and waits until they are gone.
func (d *demo) dismiss() {
	for _, p := range d.procs {
		if p != nil && p.running {
			p.kill()
		}
	}
	for d.atWork() {
		if m := <-d.messages; m.end {
			d.procs[m.worker].running = false
		}
	}
}

// leave waits until the view has shown everything, but the output may have no
// reader. So a signal ends the wait, as does a second if err is that of a signal.
func (d *demo) leave(v *view, err error) error {
	var limit <-chan time.Time
	var e *exit.Error
	if errors.As(err, &e) && e.Code > exit.Signal {
		limit = time.After(time.Second)
	}
	for {
		select {
		case <-v.done:
			if err == nil && v.err != nil {
				err = &exit.Error{Code: exit.OS, Err: v.err}
			}
			return err
		case <-limit:
			return err
		case sig := <-d.sigs:
			if process.AsksToEnd(sig) {
				return exit.Interrupted(sig)
			}
		}
	}
}
