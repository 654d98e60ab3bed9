package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// A nightly job that every instance starts, and one runs.
func ExampleMutex_TryDo() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	nightly := zksync.NewMutex(s, "/locks/nightly")
	ran, err := nightly.TryDo(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		again, err := zksync.NewMutex(s, "/locks/nightly").TryDo(context.Background(), nil) // another instance
		fmt.Println("the other one ran:", again, err)
		return nil
	})
	fmt.Println("this one ran:", ran, err)
	// Output:
	// the other one ran: false <nil>
	// this one ran: true <nil>
}

// A call that did not get the lock in time tells who had it.
func ExampleError_peer() {
	ctx := context.Background()
	billing, err := zksync.Dial(ctx, exampleServers(), zksync.WithIdentity("billing-7d9c5b9c6f-abcde"))
	if err != nil {
		log.Fatal(err)
	}
	defer billing.Close()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	h, err := zksync.NewMutex(billing, "/locks/invoices").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Release(ctx)

	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	err = zksync.NewMutex(s, "/locks/invoices").LockContext(ctx)
	if e := (*zksync.Error)(nil); errors.As(err, &e) && e.Peer != nil { // e.Error() names it, too
		fmt.Println(e.Err)
		fmt.Println("place", e.Position, "behind", e.Peer.Identity)
		fmt.Println("since some seconds:", time.Since(e.Peer.Since) < time.Minute)
	}
	// Output:
	// context deadline exceeded
	// place 1 behind billing-7d9c5b9c6f-abcde
	// since some seconds: true
}

// Data in ZooKeeper that only the holder of a lock may write: the write and the proof that
// the lock is held are one transaction, so that the write of a late holder changes nothing.
func ExampleHold_Check() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Conn().Create("/primary", []byte("nobody"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		log.Fatal(err)
	}
	write := func(h *zksync.Hold, text string) error {
		checks := h.Check()
		res, err := s.Conn().Multi(append(checks, &zk.SetDataRequest{Path: "/primary", Data: []byte(text), Version: -1})...)
		for i := range min(len(checks), len(res)) {
			if errors.Is(res[i].Error, zk.ErrNoNode) { // a check has failed, and not the write
				return fmt.Errorf("not written: %w", zksync.ErrLost)
			}
		}
		return err // of the connection: the write may have been made
	}

	h, err := zksync.NewMutex(s, "/locks/primary").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(write(h, "web-1"))
	if err := s.Break(ctx, h.Node()); err != nil { // an operator takes the lock away
		log.Fatal(err)
	}
	fmt.Println(write(h, "web-1, again"))
	data, _, err := s.Conn().Get("/primary")
	fmt.Println(string(data), err)
	// Output:
	// <nil>
	// not written: zksync: lock lost
	// web-1 <nil>
}

// The usual way to use a handle: the work's context ends with the lock, and may be used
// for the release, too.
func ExampleHold_Release() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	work := func(ctx context.Context) (err error) {
		h, err := zksync.NewMutex(s, "/locks/release").Hold(ctx)
		if err != nil {
			return err
		}
		ctx = h.Context(ctx)
		defer func() { err = errors.Join(err, h.Release(ctx)) }() // tells of a loss
		return ctx.Err()                                          // the work
	}
	fmt.Println(work(ctx))
	// Output: <nil>
}

// A list of the locks that are in use, however many there are.
func ExampleSession_Queues() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	for _, name := range []string{"anvil", "rope"} {
		zksync.NewMutex(s, zksync.Path("/warehouse", name)).Lock()
	}
	for q, err := range s.Queues(ctx, "/warehouse") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(q.Path, len(q.Nodes))
	}
	// Output:
	// /warehouse/anvil 1
	// /warehouse/rope 1
}
