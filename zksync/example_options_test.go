package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// A dialer of the program's own: for a proxy, for a source address, or to count, as here.
func ExampleWithDialContext() {
	ctx := context.Background()
	dialer := &net.Dialer{KeepAlive: 30 * time.Second}
	var dials atomic.Int64
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithDialContext(
		func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return dialer.DialContext(ctx, network, addr) // keeps ctx's deadline
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println("connections:", dials.Load(), "session timeout:", s.Timeout() == zksync.DefaultSessionTimeout)
	// Output: connections: 1 session timeout: true
}

// What no call returns goes to the log: here a lock that was lost, and that has no handle
// to tell its holder.
func ExampleWithLogger() {
	ctx := context.Background()
	lines := make(logLines, 100)
	s, err := zksync.Dial(ctx, exampleServers(),
		zksync.WithLogger(slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelError}))))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/logged")
	mu.Lock()
	q, err := s.Inspect(ctx, mu.Path())
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Break(ctx, q.Nodes[0].Node); err != nil { // an operator
		log.Fatal(err)
	}
	mu.Unlock() // has no error to return
	line := <-lines
	fmt.Println(line[strings.Index(line, "level="):strings.Index(line, " node=")])
	// Output: level=ERROR msg="zksync: the lock had been lost before its Unlock" path=/locks/logged
}

// Names of hosts and programs are nobody's business on a ZooKeeper that many share. The
// lock works as before, but nobody sees who holds it.
func ExampleWithoutNodeInfo() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("payroll-1"), zksync.WithoutNodeInfo())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/discreet").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Release(ctx)
	q, err := s.Inspect(ctx, "/locks/discreet")
	if err != nil {
		log.Fatal(err)
	}
	n := q.Nodes[0]
	fmt.Printf("held: %t, identity %q, host %q, pid %d\n", n.Held, n.Identity, n.Host, n.PID)
	// Output: held: true, identity "", host "", pid 0
}

// By default a lock passes between the goroutines of a session without a request, while
// the node of the session stays in line. With WithHandoff(0) each call stands in line by
// itself. Stats shows the difference.
func ExampleWithHandoff() {
	ctx := context.Background()
	run := func(opts ...zksync.LockOption) zksync.Stats {
		s, err := zksync.Dial(ctx, exampleServers())
		if err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		mu := zksync.NewMutex(s, "/locks/handoff", opts...)
		mu.Lock()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				mu.Lock()
				mu.Unlock()
			})
		}
		for s.Stats().Waiting < 3 {
			time.Sleep(time.Millisecond)
		}
		mu.Unlock()
		all.Wait()
		return s.Stats()
	}
	st := run()
	fmt.Printf("%d grants, %d of them without the network\n", st.Acquired, st.Handoffs)
	st = run(zksync.WithHandoff(0))
	fmt.Printf("%d grants, %d of them without the network\n", st.Acquired, st.Handoffs)
	// Output:
	// 4 grants, 3 of them without the network
	// 4 grants, 0 of them without the network
}

// A lock that one process takes over and over: the session keeps the lock's node for a
// while after each Unlock, so that the next Lock needs no request. It gives the node up as
// soon as another process comes for the lock.
func ExampleWithLinger() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	other, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()

	mu := zksync.NewMutex(s, "/locks/lingers", zksync.WithLinger(time.Minute))
	for range 2 { // the first Unlock asks ZooKeeper to report newcomers
		mu.Lock()
		mu.Unlock()
	}
	before := s.Stats().Requests
	for range 1000 {
		mu.Lock()
		mu.Unlock()
	}
	fmt.Println("requests:", s.Stats().Requests-before)
	theirs := zksync.NewMutex(other, "/locks/lingers")
	fmt.Println("the other process has it at once:", theirs.TryLock())
	theirs.Lock() // waits for the node to be deleted
	theirs.Unlock()
	// Output:
	// requests: 0
	// the other process has it at once: false
}

// Two versions of a program use a semaphore with different limits. By default the
// smallest limit in line counts. A strict semaphore refuses instead.
func ExampleWithStrictLimit() {
	ctx := context.Background()
	dial := func() *zksync.Session {
		s, err := zksync.Dial(ctx, exampleServers(), zksync.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			log.Fatal(err)
		}
		return s
	}
	before, after := dial(), dial()
	defer before.Close()
	defer after.Close()

	four := zksync.NewSemaphore(before, "/limits/workers", 4)
	if err := four.Acquire(ctx, 3); err != nil {
		log.Fatal(err)
	}
	ten := zksync.NewSemaphore(after, "/limits/workers", 10)
	fmt.Println("a fourth:", ten.TryAcquire(1), "a fifth:", ten.TryAcquire(1))
	ten.Release(1)

	strict := zksync.NewSemaphore(after, "/limits/workers", 10, zksync.WithStrictLimit())
	fmt.Println("refused:", errors.Is(strict.Acquire(ctx, 1), zksync.ErrLimitMismatch))
	// Output:
	// a fourth: true a fifth: false
	// refused: true
}

// A lock that programs with kazoo share, without an option on their side: each call also
// has a node with kazoo's name.
func ExampleWithKazooName() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/mixed", zksync.WithKazooName()).Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Release(ctx)
	q, err := s.Inspect(ctx, "/locks/mixed")
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range q.Nodes {
		kazoo := strings.Contains(path.Base(n.Node), "__lock__") // what kazoo looks for
		fmt.Println("for kazoo:", kazoo, "of this hold:", n.Node == h.Node() || n.BlockedBy == h.Node())
	}
	// Output:
	// for kazoo: false of this hold: true
	// for kazoo: true of this hold: true
}

// A lock that heeds the nodes of a recipe that another program has written by hand. That
// program has to heed ours as well; see "Sharing a path".
func ExampleWithForeignPrefix() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mu := zksync.NewMutex(s, "/locks/legacy", zksync.WithForeignPrefix(zksync.ModeMutex, "seq-"))
	fmt.Println(mu.TryLockContext(ctx)) // this also makes the path
	fmt.Println(mu.UnlockContext(ctx))

	theirs, err := s.Conn().Create("/locks/legacy/seq-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mu.TryLockContext(ctx))
	if err := s.Conn().Delete(theirs, -1); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mu.TryLockContext(ctx))
	// Output:
	// true <nil>
	// <nil>
	// false <nil>
	// true <nil>
}
