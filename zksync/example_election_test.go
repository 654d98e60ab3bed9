package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// A worker in Kubernetes: of all replicas one runs the jobs. At SIGTERM it resigns, so that
// the next one leads at once, and not only when the session has timed out.
func ExampleElection() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("worker-0")) // of POD_NAME, by the downward API
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close() // within 5 s: less than terminationGracePeriodSeconds

	e := zksync.NewElection(s, "/leaders/worker")
	err = e.Run(ctx, func(ctx context.Context, h *zksync.Hold) error {
		fmt.Println("leads")
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for jobs := 1; ctx.Err() == nil; jobs++ {
			fmt.Println("job", jobs) // send h.Fence() with each write
			if jobs == 2 {
				deletePod(ctx)
			}
			select {
			case <-ctx.Done(): // SIGTERM, or the leadership is lost
			case <-tick.C:
			}
		}
		fmt.Println("stops")
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	fmt.Println("ended")
	// Output:
	// leads
	// job 1
	// job 2
	// stops
	// ended
}

// Run calls its function again after a loss, once the function has returned, and ends when
// the function returns otherwise.
func ExampleElection_Run() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	terms := 0
	err = zksync.NewElection(s, "/leaders/terms").Run(ctx, func(ctx context.Context, h *zksync.Hold) error {
		if terms++; terms > 1 {
			fmt.Println("resigns in term", terms)
			return nil
		}
		if err := s.Break(context.Background(), h.Node()); err != nil { // what an operator may do
			log.Fatal(err)
		}
		<-ctx.Done()
		fmt.Println(errors.Is(context.Cause(ctx), zksync.ErrLost))
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// true
	// resigns in term 2
	// <nil>
}

// Who leads, for a status page, say.
func ExampleElection_Leader() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("worker-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	e := zksync.NewElection(s, "/leaders/status")
	show := func() {
		n, err := e.Leader(ctx)
		switch {
		case errors.Is(err, zksync.ErrNoLeader):
			fmt.Println("nobody leads")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(n.Identity, "leads")
		}
	}
	show()
	if err := e.Run(ctx, func(context.Context, *zksync.Hold) error { show(); return nil }); err != nil {
		log.Fatal(err)
	}
	// Output:
	// nobody leads
	// worker-1 leads
}

// Who leads from now on, for a program that sends its requests to the leader.
func ExampleElection_Observe() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("worker-2"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	e := zksync.NewElection(s, "/leaders/router")
	ended := make(chan error, 1)
	resign := make(chan struct{})
	for n, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case n.Node != "":
			fmt.Println("send to", n.Identity)
			close(resign)
			continue
		}
		fmt.Println("nobody leads")
		select {
		case <-resign:
			fmt.Println(<-ended)
			return
		default:
		}
		go func() {
			ended <- e.Run(ctx, func(context.Context, *zksync.Hold) error { <-resign; return nil })
		}()
	}
	// Output:
	// nobody leads
	// send to worker-2
	// nobody leads
	// <nil>
}

// deletePod does to this process what Kubernetes does to that of a pod that is deleted. It
// returns once the signal has ended ctx, so that the output of the example is the same on
// a busy machine.
func deletePod(ctx context.Context) {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Signal(syscall.SIGTERM)
	}
	if err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
}
