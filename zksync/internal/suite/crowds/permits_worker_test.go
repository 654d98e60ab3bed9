//go:build unix

package crowds_test

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func init() { suite.Roles["permits"] = permitsRole }

// permitWorker takes permits and gives them back, and writes down when.
type permitWorker struct {
	crew
	hang atomic.Pointer[string] // whose next hold is to last until it is lost
}

// permitsRole is such a worker as a process of its own, with one session. Its
// input is the server, the path, and its name; then "hang", to be killed, or
// "stop".
func permitsRole() int {
	w := new(permitWorker)
	if w.openChild() != nil {
		return 1
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	words := strings.Fields(lines.Text())
	ctx, cancel := context.WithTimeout(w.ctx, workerPatience)
	defer cancel()
	s, err := zksync.Dial(ctx, words[:1], zksync.WithSessionTimeout(permitLife), zksync.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		w.say("failed", err)
		return 1
	}
	w.crowd(s, words[1], words[2], permitOthers)
	w.say("works")
	for lines.Scan() && lines.Text() == "hang" {
		w.hang.Store(&words[2])
	}
	w.end()
	if err := s.Close(); err != nil {
		w.say("failed", err)
		return 1
	}
	w.say("done", w.held.Load())
	return 0
}

func (w *permitWorker) end() {
	w.stop()
	w.wg.Wait()
	w.file.Close()
}

// crowd has a number of calls at a time wait for permits until the end.
func (w *permitWorker) crowd(s *zksync.Session, path, who string, calls int) {
	sem := zksync.NewSemaphore(s, path, permitLimit)
	for range calls {
		w.wg.Go(func() {
			for w.ctx.Err() == nil {
				if err := w.once(s, sem, who); err != nil {
					w.failed(who, err)
				}
			}
		})
	}
}

func (w *permitWorker) once(s *zksync.Session, sem *zksync.Semaphore, who string) error {
	weight := 1 + rand.Int64N(permitLarge)
	ctx, cancel := context.WithTimeout(w.ctx, workerPatience)
	defer cancel()
	switch rand.IntN(10) {
	case 0: // gives up soon
		ctx, cancel = context.WithTimeout(w.ctx, rand.N(100*time.Millisecond))
		defer cancel()
	case 1:
		if h, err := sem.TryHold(ctx, weight); err == nil {
			return w.inside(s, h, weight, who)
		}
	}
	h, err := sem.Hold(ctx, weight)
	switch {
	case err == nil:
		return w.inside(s, h, weight, who)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// inside holds permits for a while.
func (w *permitWorker) inside(s *zksync.Session, h *zksync.Hold, weight int64, who string) error {
	at := time.Now().UnixNano()
	session := s.ID()
	if h.Err() == nil { // at this time, so that the session is the hold's
		w.write("begin", at, session, weight, who, h.Node())
		if name := w.hang.Load(); name != nil && *name == who && w.hang.CompareAndSwap(name, nil) {
			w.say("hangs")
			<-h.Context(context.Background()).Done()
		}
		time.Sleep(permitWork/2 + rand.N(permitWork))
		at := time.Now().UnixNano()
		if h.Err() == nil {
			w.write("end", at, session, weight, who, h.Node())
		} else {
			w.write("lost", at, session, weight, who, h.Node())
		}
		w.held.Add(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), workerPatience)
	defer cancel()
	if err := h.Release(ctx); err != nil && !errors.Is(err, zksync.ErrLost) {
		return err
	}
	return nil
}
