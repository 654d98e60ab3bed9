package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/zksync"
)

const (
	demoLock   = "/locks/demo"
	workerRole = "demo-worker" // the hidden command that a worker runs

	// A hold is so many writes to the store, each followed by a pause.
	writesPerHold = 4
	stepPause     = 140 * time.Millisecond
)

// report is a line that a worker writes to its stdout, for the demo.
type report struct {
	At    int64  `json:"at"` // of clock
	What  string `json:"what"`
	Fence int64  `json:"fence,omitempty"`
	N     int    `json:"n,omitempty"` // a write's number, or a place in line
	Text  string `json:"text,omitempty"`
}

// What a report tells.
const (
	saysReady   = "ready"   // has a session
	saysWait    = "wait"    // wants the lock
	saysBehind  = "behind"  // waits in place N for Text
	saysHold    = "hold"    // has the lock
	saysWrite   = "write"   // asks the store to take a write
	saysRelease = "release" // works no more, is about to give the lock back
	saysLost    = "lost"    // has lost the lock
	saysError   = "error"   // can't go on
)

// worker is one process of the demo that shares the lock: it waits for it,
// works under it, gives it back, and begins anew.
type worker struct {
	answers chan int // numbers of writes that the store has answered

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
	n   int           // of the last write
}

func newWorker() *cobra.Command {
	return &cobra.Command{
		Use:    workerRole + " SERVER NAME TIMEOUT",
		Short:  "A worker of the demo",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			timeout, err := time.ParseDuration(args[2])
			if err != nil {
				return err
			}
			w := &worker{answers: make(chan int, 64), out: json.NewEncoder(os.Stdout)}
			if err := w.run(args[0], args[1], timeout); err != nil {
				w.tell(report{What: saysError, Text: plain(err)})
				return &exitError{code: exitUnavailable}
			}
			return nil
		},
	}
}

// run works until the demo says stop.
func (w *worker) run(server, name string, timeout time.Duration) error {
	signal.Ignore(os.Interrupt) // Ctrl-C is for the demo, which ends us
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go w.listen(os.Stdin, stop)

	tracer := &zksync.Tracer{Blocked: func(_ context.Context, p zksync.Peer) {
		w.tell(report{What: saysBehind, N: p.Position, Text: p.Identity})
	}}
	s, err := zksync.Dial(ctx, []string{server}, zksync.WithSessionTimeout(timeout),
		zksync.WithIdentity(name), zksync.WithTracer(tracer))
	if err != nil {
		return err
	}
	defer s.Close()
	w.tell(report{What: saysReady})
	mu := zksync.NewMutex(s, demoLock)
	for pause(ctx, time.Duration(rand.IntN(250))*time.Millisecond) {
		w.tell(report{What: saysWait})
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

// listen takes the demo's words, one a line: "ack" and the number of a write,
// or "stop". Without a demo there is nothing to work for.
func (w *worker) listen(r io.Reader, stop func()) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if number, ack := strings.CutPrefix(lines.Text(), "ack "); ack {
			if n, err := strconv.Atoi(number); err == nil {
				w.answers <- n
			}
			continue
		}
		stop()
	}
	os.Exit(exitUnavailable)
}

// hold works under the lock and gives it back. What it tells is what counts: it
// believed to hold the lock from the first moment after the grant to the
// release, or to the end of the hold's context if that came first.
func (w *worker) hold(h *zksync.Hold) {
	w.tell(report{What: saysHold, Fence: h.Fence()})
	held := h.Context(context.Background())
	ending := watchEnd(held)
	w.work(held, h.Fence())
	end := ending()
	end.Fence = h.Fence()
	if end.What == saysLost {
		end.Text = reason(h.Err())
	}
	w.tell(end)
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	_ = h.Release(ctx) // an error: lost after the work, or deleted in the background
}

// watchEnd returns what tells how and when the work under held has ended: just
// now, or when held ended, if it did.
func watchEnd(held context.Context) func() report {
	lostAt := make(chan int64, 1)
	unwatch := context.AfterFunc(held, func() { lostAt <- clock() })
	return func() report {
		end := report{At: clock(), What: saysRelease}
		unwatched := unwatch()
		if held.Err() != nil {
			end.What = saysLost
			// A context closes Done before it calls anybody, so that we may
			// have been quicker.
			if !unwatched {
				end.At = min(end.At, <-lostAt)
			}
		}
		return end
	}
}

// work is what the lock protects: writes to the store, with the fence, each of
// which has to be answered before the next.
func (w *worker) work(held context.Context, fence int64) {
	for range writesPerHold {
		if held.Err() != nil {
			return
		}
		w.n++
		w.tell(report{What: saysWrite, Fence: fence, N: w.n})
		for answered := 0; answered != w.n; {
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

// tell writes a report, stamped with the time unless it is already.
func (w *worker) tell(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.At == 0 {
		r.At = clock()
	}
	if err := w.out.Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnavailable) // the demo is gone
	}
}

// pause reports whether d went by before ctx ended.
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
