package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync"
)

// WorkerCommand is the name of the command that a worker process runs. [Run]
// starts this program's executable with it and the arguments of [Work].
const WorkerCommand = "demo-worker"

const (
	lockPath = "/locks/demo"

	// sessionTimeout is that of the workers: how long the lock of a worker that
	// was killed stays.
	sessionTimeout = 1500 * time.Millisecond

	// A hold is so many writes to the store, and a pause after each.
	writesPerHold = 4
	stepPause     = 140 * time.Millisecond
)

// what is what happens to a worker. Workers report only some of these.
type what string

const (
	started  what = "start"
	waiting  what = "wait" // in line, at position N, behind Text
	holding  what = "hold"
	writing  what = "write"   // asks the store to accept the write N
	released what = "release" // has finished its work, and releases the lock next
	lost     what = "lost"    // the hold's context has ended
	killed   what = "killed"  // by the demo, holding the fence Text
	back     what = "back"    // on the network
	gone     what = "gone"    // the process has ended, as Text says
)

// report is a line of JSON that a worker writes to its stdout. The demo answers the
// write N by a line with N on the worker's stdin.
type report struct {
	Who   string `json:"who"`
	What  what   `json:"what"`
	Fence int64  `json:"fence,omitempty"`
	N     int    `json:"n,omitempty"`
	Text  string `json:"text,omitempty"`
}

// write writes the report by one call. So reports of several processes do not mix in
// one pipe.
func (r report) write(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// worker is a process of the demo that shares the lock. In a loop, it waits for
// the lock, works under it, and gives it back.
type worker struct {
	name    string
	answers chan int // the numbers of writes that the store has answered
	writes  int      // how many it has made
}

// Work is the main function of a worker process. It returns only if the worker can't
// go on, and ends the process itself when the demo is gone. The arguments are those
// that [Run] has given to the process: the address of the server and the worker's name.
func Work(server, name string) error {
	signal.Ignore(os.Interrupt) // Ctrl-C is for the demo, which ends its workers
	w := &worker{name: name, answers: make(chan int, 64)}
	go w.listen()
	return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("%s can't go on: %w", name, w.run(server))}
}

// run works until the lock can't be had.
func (w *worker) run(server string) error {
	ctx := context.Background()
	tracer := &zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) {
		w.report(report{What: waiting, N: p.Position, Text: p.Identity})
	}}
	s, err := zksync.Dial(ctx, []string{server}, zksync.WithSessionTimeout(sessionTimeout), zksync.WithIdentity(w.name),
		zksync.WithTracer(tracer), zksync.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer s.Close()
	mu := zksync.NewMutex(s, lockPath)
	for err == nil || errors.Is(err, zksync.ErrLost) {
		time.Sleep(rand.N(250 * time.Millisecond))
		err = mu.Do(ctx, w.hold)
	}
	return err
}

// listen reads the demo's answers. It ends the process when they end: the demo is gone
// then.
func (w *worker) listen() {
	lines := json.NewDecoder(os.Stdin)
	for n := 0; lines.Decode(&n) == nil; {
		w.answers <- n
	}
	os.Exit(exit.Unavailable)
}

// hold works under the lock. It reports how long the worker believed that it held the
// lock: from the first moment after the grant to the release, or to the end of the hold's
// context if that came first.
func (w *worker) hold(held context.Context, h *zksync.Hold) error {
	w.report(report{What: holding, Fence: h.Fence()})
	end := watchEnd(held, func(how what) { w.report(report{What: how}) })
	defer end()
	for range writesPerHold {
		if err := w.write(held, h.Fence()); err != nil {
			return err
		}
	}
	return nil
}

// watchEnd reports once how the work under held has ended: lost, as soon as held ends,
// or released, when the function that it returns is called before.
func watchEnd(held context.Context, report func(what)) (end func()) {
	tell := sync.OnceFunc(func() {
		if held.Err() != nil {
			report(lost)
		} else {
			report(released)
		}
	})
	unwatch := context.AfterFunc(held, tell)
	return func() {
		tell()
		unwatch()
	}
}

// write is what the lock protects: it makes a write to the store, with the fence, waits
// for the answer, and pauses.
func (w *worker) write(held context.Context, fence int64) error {
	w.writes++
	w.report(report{What: writing, Fence: fence, N: w.writes})
	for answered := 0; answered != w.writes; {
		select {
		case answered = <-w.answers:
		case <-held.Done():
			return context.Cause(held)
		}
	}
	select {
	case <-time.After(stepPause*3/4 + rand.N(stepPause/2)):
	case <-held.Done():
	}
	return context.Cause(held)
}

// report reports to the demo, through the pipe that is the worker's stdout. It can fail
// only when the demo is gone, and listen learns of that as well.
func (w *worker) report(r report) {
	r.Who = w.name
	_ = r.write(os.Stdout)
}
