package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync"
)

// releaseWithin limits the wait for a release to be confirmed.
const releaseWithin = 5 * time.Second

// worker is a process of the demo that shares the lock. In a loop, it waits for
// the lock, works under it, and gives it back.
type worker struct {
	answers chan int // the numbers of writes that the store has answered

	mu     sync.Mutex
	out    *json.Encoder // guarded by mu
	writes int           // how many it has made
}

// Work is the main function of a worker process. It works until the demo says
// stop, and ends the process itself when the demo is gone. The arguments are those
// that [Run] has given to the process: the address of the server, the worker's
// name and its session timeout.
func Work(server, name, timeout string) error {
	d, err := time.ParseDuration(timeout)
	if err != nil {
		return err
	}
	w := &worker{answers: make(chan int, 64), out: json.NewEncoder(os.Stdout)}
	if err := w.run(server, name, d); err != nil {
		w.report(report{What: saysError, Text: exit.Plain(err)})
		return &exit.Error{Code: exit.Unavailable}
	}
	return nil
}

// run works until the demo says stop.
func (w *worker) run(server, name string, timeout time.Duration) error {
	signal.Ignore(os.Interrupt) // Ctrl-C is for the demo, which ends its workers
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go w.listen(os.Stdin, stop)

	tracer := &zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) {
		w.report(report{What: saysBehind, N: p.Position, Text: p.Identity})
	}}
	s, err := zksync.Dial(ctx, []string{server}, zksync.WithSessionTimeout(timeout),
		zksync.WithIdentity(name), zksync.WithTracer(tracer))
	if err != nil {
		return err
	}
	defer s.Close()
	w.report(report{What: saysReady})
	mu := zksync.NewMutex(s, lockPath)
	for pause(ctx, time.Duration(rand.IntN(250))*time.Millisecond) {
		w.report(report{What: saysWait})
		h, err := mu.Hold(ctx)
		switch {
		case err == nil:
			w.hold(h)
		case ctx.Err() == nil:
			return err
		}
	}
	return nil
}

// listen reads the demo's lines from r and calls stop when one asks for that. It
// ends the process when r ends: the demo is gone then.
func (w *worker) listen(r io.Reader, stop func()) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if n, isAck := readAck(lines.Text()); isAck {
			w.answers <- n
			continue
		}
		stop()
	}
	os.Exit(exit.Unavailable)
}

// hold works under the lock and gives it back. It reports how long the worker
// believed that it held the lock: from the first moment after the grant to the
// release, or to the end of the hold's context if that came first.
func (w *worker) hold(h *zksync.Hold) {
	w.report(report{What: saysHold, Fence: h.Fence()})
	held := h.Context(context.Background())
	ending := watchEnd(held)
	w.work(held, h.Fence())
	end := ending()
	end.Fence = h.Fence()
	w.report(end)
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	_ = h.Release(ctx) // fails if the lock is lost; otherwise the node is deleted later
}

// watchEnd returns a function that reports how and when the work under held has
// ended: at the time of its call, or when held ended if that came first.
func watchEnd(held context.Context) func() report {
	lostAt := make(chan int64, 1)
	unwatch := context.AfterFunc(held, func() { lostAt <- clock() })
	return func() report {
		end := report{At: clock(), What: saysRelease}
		unwatched := unwatch()
		if held.Err() != nil {
			end.What = saysLost
			// A context closes Done before it calls functions, so the clock may have
			// been read here before it was read there.
			if !unwatched {
				end.At = min(end.At, <-lostAt)
			}
		}
		return end
	}
}

// work is what the lock protects: writes to the store, each with the fence. The
// store must answer one before the next begins.
func (w *worker) work(held context.Context, fence int64) {
	for range writesPerHold {
		if held.Err() != nil {
			return
		}
		w.writes++
		w.report(report{What: saysWrite, Fence: fence, N: w.writes})
		for answered := 0; answered != w.writes; {
			select {
			case answered = <-w.answers:
			case <-held.Done():
				return
			}
		}
		if !pause(held, stepPause*3/4+time.Duration(rand.Int64N(int64(stepPause/2)))) {
			return
		}
	}
}

// report writes a report. It adds the time if the report has none.
func (w *worker) report(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.At == 0 {
		r.At = clock()
	}
	if err := w.out.Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exit.Unavailable) // the demo is gone
	}
}

// pause waits for d, and reports whether ctx has not ended by then.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
