package zksync_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// An audit log: who got which lock, how the tenure ended, and whether the lock's node is
// known to be gone.
func ExampleTracer_audit() {
	ctx := context.Background()
	audit := &zksync.Tracer{
		AcquireEnd: func(_ context.Context, a zksync.AcquireInfo, r zksync.AcquireEndInfo) {
			what := a.Path
			if a.Mode == zksync.ModeMulti {
				what = strings.Join(a.Paths, " and ")
			}
			if r.Err != nil {
				fmt.Println("not granted:", what)
				return
			}
			fmt.Println("granted:", what, "with a fence:", r.Fence > 0)
		},
		HoldEnd: func(_ context.Context, _ zksync.AcquireInfo, e zksync.HoldEndInfo) {
			switch e.Reason {
			case zksync.EndUnlocked:
				fmt.Println("given back")
			case zksync.EndRevoked:
				fmt.Println("given back on request")
			default: // the other reasons are losses
				fmt.Println("lost:", e.Reason, e.Err)
			}
		},
		ReleaseEnd: func(_ context.Context, _ zksync.AcquireInfo, r zksync.ReleaseEndInfo) {
			fmt.Println("the node is gone:", r.Confirmed)
		},
	}
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithTracer(audit))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	from, to := zksync.NewMutex(s, "/ledger/1"), zksync.NewMutex(s, "/ledger/2")
	err = zksync.NewMulti(from, to).Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		_, err := from.TryLockContext(context.Background()) // somebody else's call
		return err
	})
	fmt.Println(err)
	// Output:
	// granted: /ledger/1 and /ledger/2 with a fence: true
	// not granted: /ledger/1
	// given back
	// the node is gone: true
	// <nil>
}

// A program that follows the state of its connection. After a disconnect the session
// usually goes on, with all its locks; after an expiry they are lost.
func ExampleSessionEvent() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()

	meaning := func(e zksync.SessionEvent) string {
		switch e.State {
		case zksync.StateConnected:
			if e.Before == zksync.StateDisconnected {
				return "the same session goes on"
			}
			return "a new session"
		case zksync.StateDisconnected:
			return "the locks are still held"
		case zksync.StateExpired:
			return "the locks are lost"
		case zksync.StateClosed:
			return "nothing follows"
		}
		return "a state of a later version"
	}
	events := make(chan zksync.SessionEvent, 10) // a function of a Tracer must not block
	s, err := zksync.Dial(ctx, []string{srv.Addr()}, zksync.WithTracer(&zksync.Tracer{
		Session: func(e zksync.SessionEvent) { events <- e },
	}))
	if err != nil {
		log.Fatal(err)
	}
	until := func(state zksync.SessionState) {
		for e := range events {
			fmt.Printf("%s: %s\n", e.State, meaning(e))
			if e.State == state {
				return
			}
		}
	}

	until(zksync.StateConnected)
	srv.DisconnectAll() // a server restarts, say
	until(zksync.StateConnected)
	srv.Expire(s.ID()) // the servers have heard nothing for the session timeout
	until(zksync.StateConnected)
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}
	until(zksync.StateClosed)
	// Output:
	// connected: a new session
	// disconnected: the locks are still held
	// connected: the same session goes on
	// disconnected: the locks are still held
	// expired: the locks are lost
	// connected: a new session
	// closed: nothing follows
}

// A gauge of the nodes that the session still has to delete. It goes up and down with each
// release, and stays up while a broken connection delays the deletion.
func ExampleCleanupEvent() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	srv := zktest.New() // a ZooKeeper for tests
	defer srv.Close()

	changes := make(chan int, 10)
	s, err := zksync.Dial(ctx, []string{srv.Addr()}, zksync.WithTracer(&zksync.Tracer{
		Cleanup: func(e zksync.CleanupEvent) { changes <- e.Change },
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/cleanup").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	dropped := false
	srv.DropRequest(func(r zktest.Request) bool { // the connection breaks at the first attempt to delete
		first := r.Op == "delete" && !dropped
		dropped = dropped || first
		return first
	})
	released := make(chan error)
	go func() { released <- h.Release(ctx) }()
	pending := <-changes
	fmt.Println("pending:", pending)
	fmt.Println("released:", <-released)
	pending += <-changes
	fmt.Println("pending:", pending)
	// Output:
	// pending: 1
	// released: <nil>
	// pending: 0
}

// logLines are the lines of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- strings.TrimSpace(string(line))
	return len(line), nil
}

// A line in the log for each wait and each hold that is longer than it should be.
func ExampleLogTracer() {
	ctx := context.Background()
	lines := make(logLines, 10)
	logger := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == "time" || a.Key == "held" { // not the same in each run of the example
				return slog.Attr{}
			}
			return a
		},
	}))
	s, err := zksync.Dial(ctx, exampleServers(),
		zksync.WithTracer(zksync.LogTracer(logger, zksync.LogLimits{Wait: 30 * time.Second, Hold: 5 * time.Millisecond})))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	err = zksync.NewMutex(s, "/locks/import").Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		fmt.Println(<-lines) // the work takes longer than 5 ms
		return ctx.Err()
	})
	fmt.Println(<-lines)
	fmt.Println(err)
	// Output:
	// level=WARN msg="zksync: a lock is held for long" lock=/locks/import mode=mutex owner=""
	// level=INFO msg="zksync: a long hold of a lock is over" lock=/locks/import mode=mutex owner="" reason=unlocked
	// <nil>
}

// A session has one Tracer. JoinTracers makes one of several, and leaves out those that
// are not there.
func ExampleJoinTracers() {
	ctx := context.Background()
	var debug *zksync.Tracer // nil unless the program is to be debugged
	grants := 0
	count := &zksync.Tracer{AcquireEnd: func(_ context.Context, _ zksync.AcquireInfo, r zksync.AcquireEndInfo) {
		if r.Err == nil {
			grants++
		}
	}}
	slow := zksync.LogTracer(slog.Default(), zksync.LogLimits{Wait: time.Minute})

	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithTracer(zksync.JoinTracers(debug, slow, count)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mu := zksync.NewMutex(s, "/locks/joined")
	mu.Lock()
	mu.Unlock()
	fmt.Println(grants)
	// Output: 1
}
