package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers(),
		zksync.WithSessionTimeout(15*time.Second),
		zksync.WithIdentity("billing-7f9c"), // shown to those who wait behind us
		zksync.WithChroot("/billing"))
	if err != nil {
		log.Fatal(err) // the error says how each server failed
	}
	defer s.Close()
	fmt.Println(s.Timeout())
	// Output: 15s
}

// A program that has a ZooKeeper client can put locks on it.
func ExampleNewSession() {
	client, events, err := zk.Connect(exampleServers(), 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	s, err := zksync.NewSession(client, 10*time.Second) // what the servers granted
	if err != nil {
		log.Fatal(err)
	}
	mu := zksync.NewMutex(s, "/locks/adapted")
	mu.Lock()
	fmt.Println("locked")
	mu.Unlock()
	fmt.Println(s.Close()) // leaves the client open

	client.Close()
	for range events { // until the client's goroutines have ended
	}
	// Output:
	// locked
	// <nil>
}

// The end of a program, at SIGTERM for instance.
func ExampleSession_Shutdown() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	mu := zksync.NewMutex(s, "/locks/shutdown")
	ctx := context.Background()
	h, err := mu.Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	waiting := make(chan error)
	go func() { waiting <- mu.LockContext(ctx) }()

	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		err := s.Shutdown(ctx) // waits for the holder
		if err != nil {
			err = s.Close() // no longer: takes its lock away
		}
		done <- err
	}()
	fmt.Println("waiter:", errors.Is(<-waiting, zksync.ErrClosed))
	fmt.Println("holder:", h.Release(ctx))
	fmt.Println("shutdown:", <-done)
	// Output:
	// waiter: true
	// holder: <nil>
	// shutdown: <nil>
}

// A readiness check.
func ExampleSession_Ping() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ready := func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		return s.Ping(ctx) == nil
	}
	fmt.Println(ready())
	// Output: true
}

// A Mutex is a sync.Locker, for goroutines as well as for programs.
func ExampleMutex() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var mu sync.Locker = zksync.NewMutex(s, "/locks/counter")
	var wg sync.WaitGroup
	n := 0
	for range 100 {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			n++
		})
	}
	wg.Wait()
	fmt.Println(n)
	// Output: 100
}

func ExampleMutex_TryLock() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/try")
	fmt.Println(mu.TryLock())
	fmt.Println(mu.TryLock()) // held, if only by ourselves
	mu.Unlock()
	// Output:
	// true
	// false
}

// Work that stops when the lock is lost.
func ExampleHold_Context() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/context").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := h.Context(ctx)
	fmt.Println(work.Err())

	// Somebody deletes the lock's node.
	if err := s.Conn().Delete(h.Node(), -1); err != nil {
		log.Fatal(err)
	}
	<-work.Done()
	fmt.Println(context.Cause(work))
	fmt.Println(errors.Is(context.Cause(work), zksync.ErrLost))
	// Output:
	// <nil>
	// zksync: hold /locks/context: lock lost: the lock's node was deleted
	// true
}

// A holder that gives way when it is asked to.
func ExampleHold_Revoked() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/batch").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// An operator, or Curator's Revoker, asks the lock back.
	if _, err := s.Conn().Set(h.Node(), []byte("__REVOKE__"), -1); err != nil {
		log.Fatal(err)
	}
	<-h.Revoked()
	fmt.Println("still held:", h.Err() == nil)
	fmt.Println("released:", h.Release(ctx))
	// Output:
	// still held: true
	// released: <nil>
}

// A lock for each order, whatever its id looks like.
func ExamplePath() {
	fmt.Println(zksync.Path("/locks/orders", "2026-11-20"))
	fmt.Println(zksync.Path("/locks/orders", "EU/4711 b"))
	fmt.Println(zksync.Path("/locks/orders", ".."))
	// Output:
	// /locks/orders/2026-11-20
	// /locks/orders/EU%2F4711%20b
	// /locks/orders/%2E%2E
}

// Who is it that a call waits for?
func ExampleTracer() {
	ctx := context.Background()
	holder, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("night-job"))
	if err != nil {
		log.Fatal(err)
	}
	defer holder.Close()
	blocked := make(chan zksync.Peer, 1)
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithTracer(&zksync.Tracer{
		Blocked: func(_ context.Context, p zksync.Peer) {
			select {
			case blocked <- p:
			default:
			}
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(holder, "/locks/traced").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	granted := make(chan error)
	go func() {
		granted <- zksync.NewMutex(s, "/locks/traced").Do(ctx, func(context.Context, *zksync.Hold) error { return nil })
	}()
	p := <-blocked
	fmt.Printf("place %d, behind %s\n", p.Position, p.Identity)
	fmt.Println(h.Release(ctx), <-granted)
	// Output:
	// place 1, behind night-job
	// <nil> <nil>
}
