package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Many read a price list, one at a time changes it.
func ExampleRWMutex() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	rw := zksync.NewRWMutex(s, "/locks/prices")
	rw.RLock()
	fmt.Println("another reader:", rw.TryRLock(), "a writer:", rw.TryLock())
	rw.RUnlock()
	rw.RUnlock()
	// Output: another reader: true a writer: false
}

// A writer that goes on reading what it has written: no other writer gets in
// between. An owner says that both are the same line of work.
func ExampleRWMutex_RLocker() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	rw := zksync.NewRWMutex(s, "/locks/catalogue")
	o := zksync.NewOwner("importer")
	write, err := rw.As(o).Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	read, err := rw.RLocker().As(o).Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	write.Release(ctx)
	fmt.Println("same fence:", read.Fence() == write.Fence())
	_, err = rw.As(o).Hold(ctx) // the way back would wait for itself
	fmt.Println(errors.Is(err, zksync.ErrDeadlock))
	read.Release(ctx)
	// Output:
	// same fence: true
	// true
}

// A request that reads for as long as it has time, and another one that only reads if it
// need not wait.
func ExampleRWMutex_RLockContext() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	rw := zksync.NewRWMutex(s, "/locks/stock")
	if err := rw.RLockContext(ctx); err != nil {
		log.Fatal(err) // ctx ended, say
	}
	ok, err := rw.TryRLockContext(ctx)
	fmt.Println("another reader:", ok, err)
	fmt.Println(rw.RUnlockContext(ctx), rw.RUnlockContext(ctx)) // tells of a loss, too

	rw.Lock()
	ok, err = rw.TryRLockContext(ctx)
	fmt.Println("beside a writer:", ok, err)
	rw.Unlock()
	// Output:
	// another reader: true <nil>
	// <nil> <nil>
	// beside a writer: false <nil>
}

// At most ten downloads at a time on all machines together; a large one counts
// for three.
func ExampleSemaphore() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	downloads := zksync.NewSemaphore(s, "/limits/downloads", 10)
	if err := downloads.Acquire(ctx, 3); err != nil {
		log.Fatal(err)
	}
	fmt.Println(downloads.TryAcquire(7), downloads.TryAcquire(1))
	downloads.Release(10)
	// Output: true false
}

// Permits whose loss ends the work's context.
func ExampleSemaphore_Do() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	licences := zksync.NewSemaphore(s, "/limits/licences", 2)
	err = licences.Do(context.Background(), 1, func(ctx context.Context, _ *zksync.Hold) error {
		fmt.Println("one of two")
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// one of two
	// <nil>
}

// Two accounts are locked as one: in whatever order others name them, nobody
// waits for ever, and one fence guards both.
func ExampleMulti() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	from := zksync.NewMutex(s, "/accounts/1")
	to := zksync.NewMutex(s, "/accounts/2")
	err = zksync.NewMulti(from, to).Do(context.Background(), func(ctx context.Context, h *zksync.Hold) error {
		fmt.Println("both are ours:", !from.TryLock(), !to.TryLock())
		return ctx.Err()
	})
	fmt.Println(err)
	// Output:
	// both are ours: true true
	// <nil>
}

// The paths of a Multi, for a message, say. A path may contain a comma: only Paths tells
// them apart.
func ExampleMulti_Paths() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	both := zksync.NewMulti(zksync.NewMutex(s, "/files/a,b"), zksync.NewMutex(s, "/files/c"))
	fmt.Println(both.Path())
	fmt.Printf("%q\n", both.Paths())
	// Output:
	// /files/a,b,/files/c
	// ["/files/a,b" "/files/c"]
}

// Who holds a lock, and who waits.
func ExampleSession_Inspect() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("till-3"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(s, "/locks/till").Hold(zksync.WithOwner(ctx, zksync.NewOwner("nightly report")))
	if err != nil {
		log.Fatal(err)
	}
	defer h.Release(ctx)
	q, err := s.Inspect(ctx, "/locks/till")
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range q.Nodes {
		fmt.Println(n.Mode, n.Held, n.Identity, n.OwnerName, n.Fence == h.Fence())
	}
	// Output: mutex true till-3 nightly report true
}

// Two programs, each of which holds what the other one wants.
func ExampleSession_InspectTree() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	paths := []string{"/deadlock/a", "/deadlock/b"}
	done := make(chan error)
	for i, name := range []string{"alice", "bob"} {
		mine := zksync.WithOwner(ctx, zksync.NewOwner(name))
		h, err := zksync.NewMutex(s, paths[i]).Hold(mine)
		if err != nil {
			log.Fatal(err)
		}
		defer h.Release(context.Background())
		go func() {
			_, err := zksync.NewMutex(s, paths[1-i]).Hold(mine)
			done <- err
		}()
	}
	for {
		tree, err := s.InspectTree(ctx, "/deadlock")
		if err != nil {
			log.Fatal(err)
		}
		certain := slices.IndexFunc(tree.Cycles, func(c zksync.Cycle) bool { return c.Certain })
		if certain >= 0 {
			fmt.Println(len(tree.Cycles[certain].Waits), "owners wait for each other")
			break
		}
	}
	cancel()
	<-done
	<-done
	// Output: 2 owners wait for each other
}
