package demo

import (
	"errors"
	"io"
	"math"
	"os"
	"runtime"
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
	overrun     = 10 * time.Second // may be added to the length to show everything
	redrawEvery = 100 * time.Millisecond
)

// demo is one run of the demo.
type demo struct {
	sigs    chan os.Signal
	limit   time.Duration // since the start: when the demo must have come to its end
	pipe    *os.File      // into which the workers report
	reports chan report   // what comes out of it
	workers map[string]*workerProcess
	story   *story
	screen  *screen
	judge   judge
	store   store

	hunting bool    // the next worker that is known to hold the lock becomes the victim
	victim  *report // the write of the victim of a fault, which is not answered; nil: there is none
	spared  string  // the worker that was the victim before
}

// Run shows the demo on out, for about the given length. It returns nil if
// everything was shown and the lock has kept its promises. Otherwise it returns an
// [exit.Error]. It catches the signals of the process and ignores Ctrl-Z, and
// leaves it so.
func Run(out io.Writer, workers int, length time.Duration) error {
	// On Linux the kernel kills a worker when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, to, err := os.Pipe()
	if err != nil {
		return &exit.Error{Code: exit.OS, Err: err}
	}
	defer to.Close() // ends listen
	d := &demo{
		sigs: process.CatchSignals(), limit: length + overrun, pipe: to, reports: make(chan report, 64),
		workers: make(map[string]*workerProcess), story: newStory(workers, length),
	}
	go d.listen(from)
	// A worker that was stopped would see the end of its hold only when it goes on, and
	// would report it behind the next hold.
	process.IgnoreStop()
	server := zktest.New(zktest.WithTick(sessionTimeout / 6))
	defer server.Close()
	for _, name := range d.story.workers {
		d.workers[name] = &workerProcess{name: name, way: server.AddMember()}
	}
	d.screen = newScreen(out, d.story)
	d.story.tell(plain, report{Who: "demo"}, "a ZooKeeper in this process, session timeout %v", sessionTimeout)
	err = d.play()
	d.dismiss()
	var summary []line
	if err == nil || errors.Is(err, errLate) {
		summary, err = d.conclude(err == nil)
	}
	d.screen.finish(summary)
	return d.leave(err)
}

// errLate is the end of [demo.until] by the clock.
var errLate = errors.New("it is too late")

// until goes on until cond holds. The limit ends it, too.
func (d *demo) until(cond func() bool) error {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for !cond() {
		select {
		case sig := <-d.sigs:
			if process.AsksToEnd(sig) {
				return exit.Interrupted(sig)
			}
		case <-d.screen.done:
			return d.screen.err
		case r := <-d.reports:
			if err := d.receive(r); err != nil {
				return err
			}
		case <-tick.C:
			d.screen.update()
			if d.story.now() > d.limit {
				return errLate
			}
		}
	}
	return nil
}

// dismiss kills the workers that run, and waits until they are gone.
func (d *demo) dismiss() {
	for _, w := range d.workers {
		w.kill()
	}
	for _, w := range d.workers {
		for w.running {
			_ = d.receive(<-d.reports) // the demo is over, whatever a worker says
		}
	}
}

// leave waits until everything is written, but the output may have no reader. So a
// signal ends the wait, as does a second if err is that of a signal.
func (d *demo) leave(err error) error {
	d.limit = math.MaxInt64
	var e *exit.Error
	if errors.As(err, &e) && e.Code > exit.Signal {
		d.limit = d.story.now() + time.Second
	}
	written := d.until(func() bool { return false })
	if err != nil {
		return err
	}
	return written
}
