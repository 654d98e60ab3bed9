package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Who holds what below a path, in words for an operator.
func ExampleLockNode() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("web-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	describe := func(n zksync.LockNode) string {
		verb := "waits to"
		if n.Held {
			verb = "may"
		}
		switch n.Mode {
		case zksync.ModeMutex, zksync.ModeWrite:
			return fmt.Sprintf("%s %s work alone", n.Identity, verb)
		case zksync.ModeRead:
			return fmt.Sprintf("%s %s read", n.Identity, verb)
		case zksync.ModePermit:
			return fmt.Sprintf("%s %s use %d of %d", n.Identity, verb, n.Weight, n.Limit)
		}
		return fmt.Sprintf("%s %s hold a lock of mode %s", n.Identity, verb, n.Mode)
	}

	zksync.NewMutex(s, "/shop/orders").Lock()
	zksync.NewRWMutex(s, "/shop/prices").RLock()
	if err := zksync.NewSemaphore(s, "/shop/printers", 5).Acquire(ctx, 2); err != nil {
		log.Fatal(err)
	}
	for q, err := range s.Queues(ctx, "/shop") {
		if err != nil {
			log.Fatal(err)
		}
		for _, n := range q.Nodes {
			fmt.Println(q.Path, describe(n))
		}
	}
	// Output:
	// /shop/orders web-1 may work alone
	// /shop/prices web-1 may read
	// /shop/printers web-1 may use 2 of 5
}

// Programs with other libraries may stand in the same line. The form of a node's name
// says which library made it, and so whether its holder can be asked for the lock.
func ExampleForm() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	advice := func(n zksync.LockNode) string {
		switch n.Form {
		case zksync.FormZKSync, zksync.FormCurator:
			return "ask with Revoke"
		case zksync.FormKazoo, zksync.FormZKLock, zksync.FormOther:
			return "knows no requests: stop its program"
		}
		return "a form of a later version"
	}

	const path = "/locks/shared"
	theirs := zk.NewLock(s.Conn(), path, zk.WorldACL(zk.PermAll)) // a program with go-zookeeper's lock
	if err := theirs.Lock(); err != nil {
		log.Fatal(err)
	}
	waiting := make(chan error)
	ctx, cancel := context.WithCancel(ctx)
	behind := make(chan zksync.Peer, 10)
	ours, err := zksync.Dial(ctx, exampleServers(), zksync.WithTracer(&zksync.Tracer{
		Blocked: func(_ context.Context, p zksync.Peer) { behind <- p },
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer ours.Close()
	go func() { waiting <- zksync.NewMutex(ours, path).LockContext(ctx) }()
	p := <-behind
	fmt.Println("behind:", p.Form)

	q, err := s.Inspect(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range q.Nodes {
		fmt.Printf("%s: %s\n", n.Form, advice(n))
	}
	cancel()
	fmt.Println(errors.Is(<-waiting, context.Canceled), theirs.Unlock())
	// Output:
	// behind: zk.Lock
	// zk.Lock: knows no requests: stop its program
	// zksync: ask with Revoke
	// true <nil>
}

// An operator takes a lock away from a holder that does not answer.
func ExampleSession_Break() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	h, err := zksync.NewMutex(s, "/locks/stuck").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}

	operator, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer operator.Close()
	q, err := operator.Inspect(ctx, "/locks/stuck")
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range q.Nodes {
		if n.Held {
			fmt.Println("broken:", operator.Break(ctx, n.Node))
		}
	}
	// The next in line has the lock now. The holder learns of it, too, if it lives.
	<-h.Context(ctx).Done()
	fmt.Println(zksync.LossReason(h.Err()))
	// Output:
	// broken: <nil>
	// node_deleted
}

// A long job whose context ends when somebody asks for its lock.
func ExampleSession_Revoke() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	job := zksync.NewMutex(s, "/locks/rebuild", zksync.WithCancelOnRevoke())
	err = job.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
		// An operator, or a job that is more urgent, asks for the lock.
		if err := s.Revoke(context.Background(), h.Node()); err != nil {
			return err
		}
		<-ctx.Done() // the work stops
		return context.Cause(ctx)
	})
	fmt.Println("asked for:", errors.Is(err, zksync.ErrRevoked))
	fmt.Println("lost:", errors.Is(err, zksync.ErrLost)) // it was held to the end
	// Output:
	// asked for: true
	// lost: false
}
