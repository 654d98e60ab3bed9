//go:build unix

package crowds_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func init() { suite.Roles["chaos"] = chaosWorker }

const (
	chaosTimeout    = 2400 * time.Millisecond // of the sessions; six ticks
	chaosTick       = 400 * time.Millisecond
	chaosGoroutines = 16
)

// chaosResult is what a worker process has seen.
type chaosResult struct {
	acked       atomic.Int64 // increments that the ledger has confirmed
	late        atomic.Int64 // writes and reads that it refused
	unaware     atomic.Int64 // of these, by a hold that did not know of its loss yet
	lost        atomic.Int64 // holds that ended with ErrLost
	unconfirmed atomic.Int64 // releases without an answer in time
	expired     atomic.Int64 // sessions that ended
	failed      atomic.Int64 // what must not happen
}

func (f *chaosResult) fail(format string, args ...any) {
	f.failed.Add(1)
	fmt.Fprintf(os.Stderr, "worker %d: %s\n", os.Getpid(), fmt.Sprintf(format, args...))
}

// chaosWorker increments the ledger's counter under the lock, from many
// goroutines of one session, until the ledger says stop. It never asks whether
// it still holds before it writes: that is for the fence.
func chaosWorker() int {
	var (
		f       chaosResult
		process int
		wg      sync.WaitGroup
	)
	fmt.Sscan(os.Getenv("ZKSYNC_TEST_PROCESS"), &process)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	s, err := zksync.Dial(ctx, strings.Split(os.Getenv("ZKSYNC_TEST_SERVERS"), ","),
		zksync.WithSessionTimeout(chaosTimeout), zksync.WithLogger(slog.New(slog.DiscardHandler)),
		zksync.WithTracer(&zksync.Tracer{Session: func(e zksync.SessionEvent) {
			if e.State == zksync.StateExpired {
				f.expired.Add(1)
			}
		}}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	m := zksync.NewMutex(s, os.Getenv("ZKSYNC_TEST_PATH"))
	for range chaosGoroutines {
		c, err := net.Dial("tcp", os.Getenv("ZKSYNC_TEST_LEDGER"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		wg.Go(func() {
			defer c.Close()
			for l := (&ledgerClient{c, bufio.NewReader(c)}); f.once(ctx, s, m, l, process); {
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		f.fail("closing: %v", err)
	}
	fmt.Println("done", f.acked.Load(), f.late.Load(), f.unaware.Load(), f.lost.Load(), f.unconfirmed.Load(),
		f.expired.Load(), f.failed.Load())
	return 0
}

type ledgerClient struct {
	c net.Conn
	r *bufio.Reader
}

func (l *ledgerClient) ask(format string, args ...any) (word string, value, blind int) {
	fmt.Fprintf(l.c, format+"\n", args...)
	line, err := l.r.ReadString('\n')
	if err != nil {
		return err.Error(), 0, 0
	}
	fmt.Sscan(line, &word, &value, &blind)
	return word, value, blind
}

// once is one hold and one increment. It reports whether to go on.
func (f *chaosResult) once(ctx context.Context, s *zksync.Session, m *zksync.Mutex, l *ledgerClient, process int) bool {
	h, err := m.Hold(ctx)
	if err != nil {
		f.fail("hold: %v", err)
		return false
	}
	word, value, blind := l.ask("read %d %d %d", process, h.Fence(), s.ID())
	late := word == "late"
	if word == "ok" {
		if rand.N(8) == 0 {
			time.Sleep(rand.N(40 * time.Millisecond)) // some work
		}
		knew := h.Err() != nil
		switch word, _, _ := l.ask("write %d %d %d", h.Fence(), value+1, blind+1); word {
		case "ok":
			f.acked.Add(1)
		case "late":
			late = true
			if !knew {
				f.unaware.Add(1)
			}
		default:
			f.fail("the ledger says %q", word)
		}
	} else if !late && word != "stop" {
		f.fail("the ledger says %q", word)
	}
	rctx, cancel := context.WithTimeout(ctx, 2*chaosTimeout)
	defer cancel()
	err = h.Release(rctx)
	switch {
	case errors.Is(err, zksync.ErrLost):
		f.lost.Add(1)
	case errors.Is(err, context.DeadlineExceeded):
		f.unconfirmed.Add(1)
	case err != nil:
		f.fail("release: %v", err)
	case late:
		f.fail("the lock of fence %d was never lost, and another one held it meanwhile", h.Fence())
	}
	if late {
		f.late.Add(1)
	}
	return word != "stop" && f.failed.Load() == 0
}
