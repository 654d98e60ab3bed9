package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/zklocker/go-zksync/zksync"
)

// The same lock as a sync.Locker for one owner, which enters it again.
func ExampleMutex_As() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/as")
	job := mu.As(zksync.NewOwner("job 9"))
	job.Lock()
	job.Lock()
	fmt.Println(mu.TryLock()) // nobody's call
	job.Unlock()
	job.Unlock()
	fmt.Println(mu.TryLock())
	mu.Unlock()
	// Output:
	// false
	// true
}

// One request may enter a lock again; another request waits.
func ExampleNewOwner() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mu := zksync.NewMutex(s, "/locks/owner")

	request := func(name string) context.Context {
		return zksync.WithOwner(context.Background(), zksync.NewOwner(name))
	}
	first, second := request("request 1"), request("request 1") // two, whatever the names
	fmt.Println(mu.TryLockContext(first))
	fmt.Println(mu.TryLockContext(first))
	fmt.Println(mu.TryLockContext(second))
	fmt.Println(mu.UnlockContext(first), mu.UnlockContext(first))
	fmt.Println(mu.TryLockContext(second))
	fmt.Println(mu.UnlockContext(second))
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
	// <nil> <nil>
	// true <nil>
	// <nil>
}

// Work under Do that needs the lock again, in a function that takes it itself.
func ExampleWithOwner() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mu := zksync.NewMutex(s, "/locks/ledger")

	book := func(ctx context.Context) error {
		return mu.Do(ctx, func(context.Context, *zksync.Hold) error { return nil })
	}
	transfer := func(ctx context.Context) error {
		return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return book(ctx) })
	}
	ctx := context.Background()
	fmt.Println(errors.Is(transfer(ctx), zksync.ErrDeadlock)) // it would wait for itself
	fmt.Println(transfer(zksync.WithOwner(ctx, zksync.NewOwner("transfer 5"))))
	// Output:
	// true
	// <nil>
}

// A function that needs an owner takes the caller's, or makes one.
func ExampleOwnerFrom() {
	start := func(ctx context.Context) context.Context {
		o, _ := zksync.OwnerFrom(ctx)
		if o.IsZero() {
			o = zksync.NewOwner("job without a name")
		}
		fmt.Println(o.Name())
		return zksync.WithOwner(ctx, o)
	}
	ctx := start(context.Background())
	start(ctx) // the same owner
	start(zksync.WithOwner(ctx, zksync.NewOwner("order 7")))
	// Output:
	// job without a name
	// job without a name
	// order 7
}

// A name for those who wait, with no other effect.
func ExampleWithLabel() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	err = zksync.NewMutex(s, "/locks/label").Do(zksync.WithLabel(ctx, "import of 2026-11-20"),
		func(ctx context.Context, _ *zksync.Hold) error {
			q, err := s.Inspect(ctx, "/locks/label")
			if err == nil {
				fmt.Println(q.Nodes[0].OwnerName)
			}
			return err
		})
	fmt.Println(err)
	// Output:
	// import of 2026-11-20
	// <nil>
}
