package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// embedded is a server in this process, which the examples and tests share.
var embedded = sync.OnceValue(func() *zktest.Server {
	return zktest.New(zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))
})

func exampleServers() []string { return []string{embedded().Addr()} }

// Work under a lock, with a context that ends when the lock is lost, and a fence
// that keeps late writes out.
func Example() {
	ctx := context.Background()
	dialing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	s, err := zksync.Dial(dialing, exampleServers())
	if err != nil {
		log.Fatal(err) // says how each server failed
	}
	defer s.Close()

	balance, fence := 1000, int64(0) // a row of some database
	withdraw := func(ctx context.Context, amount int, f int64) error {
		// UPDATE account SET balance = balance - $1, fence = $2 WHERE id = 42 AND fence <= $2
		if f < fence || ctx.Err() != nil {
			return errors.New("too late")
		}
		balance, fence = balance-amount, f
		return nil
	}

	mu := zksync.NewMutex(s, "/locks/account-42")
	err = mu.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
		return withdraw(ctx, 100, h.Fence()) // ctx ends when the lock is lost
	})
	fmt.Println(balance, err)
	// Output: 900 <nil>
}

// Where no server can be reached, the error says how each one failed.
func Example_wrongAddress() {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	_, err := zksync.Dial(ctx, []string{"127.0.0.1:1"})
	fmt.Println(err)
	// Output:
	// zksync: dial: no session with any server: context deadline exceeded; 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused
}

// A lock that is used as a sync.Mutex is.
func Example_lock() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/orders")
	mu.Lock() // waits for whoever has it, here or on another machine
	fmt.Println("it is ours")
	mu.Unlock()
	// Output: it is ours
}

// A wait that has an end. The error says where in line the call stood, and
// nothing of it is left behind.
func Example_deadline() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	mu := zksync.NewMutex(s, "/locks/report")
	mu.Lock() // somebody has it
	defer mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	err = mu.LockContext(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	if e := (*zksync.Error)(nil); errors.As(err, &e) {
		fmt.Println("place in line:", e.Position)
	}
	// Output:
	// true
	// place in line: 1
}

// What a loss looks like, and what keeps it harmless: the one who lost the lock
// may notice late, but the store has seen a newer fence.
func Example_lossAndFence() {
	ctx := context.Background()
	here, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer here.Close()
	there, err := zksync.Dial(ctx, exampleServers()) // another program
	if err != nil {
		log.Fatal(err)
	}
	defer there.Close()

	var newest int64 // what the store has seen
	write := func(text string, fence int64) {
		if fence < newest {
			fmt.Println("refused:", text)
			return
		}
		newest = fence
		fmt.Println("stored:", text)
	}

	old, err := zksync.NewMutex(here, "/locks/ledger").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := old.Context(ctx)
	write("the first holder's entry", old.Fence())

	// An operator takes the node away. An expired session does the same.
	if err := there.Conn().Delete(old.Node(), -1); err != nil {
		log.Fatal(err)
	}
	<-work.Done()
	fmt.Println(context.Cause(work))

	next, err := zksync.NewMutex(there, "/locks/ledger").Hold(ctx)
	if err != nil {
		log.Fatal(err)
	}
	write("the next holder's entry", next.Fence())
	write("the first holder's late entry", old.Fence())

	fmt.Println(errors.Is(old.Release(ctx), zksync.ErrLost), next.Release(ctx))
	// Output:
	// stored: the first holder's entry
	// zksync: hold /locks/ledger: lock lost: the lock's node was deleted
	// stored: the next holder's entry
	// refused: the first holder's late entry
	// true <nil>
}

// A function that takes a lock its caller may hold already. The owner says that
// both are one line of work.
func Example_reentrancy() {
	s, err := zksync.Dial(context.Background(), exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	mu := zksync.NewMutex(s, "/locks/stock")

	reserve := func(ctx context.Context, n int) error {
		if err := mu.LockContext(ctx); err != nil {
			return err
		}
		defer mu.UnlockContext(ctx)
		fmt.Println("reserved", n)
		return nil
	}

	ctx := zksync.WithOwner(context.Background(), zksync.NewOwner("order 17"))
	if err := mu.LockContext(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reserve(ctx, 2), reserve(ctx, 3)) // enter the same lock again
	fmt.Println(mu.UnlockContext(ctx))

	// Without the owner it is another's lock.
	mu.Lock()
	ok, err := mu.TryLockContext(ctx)
	fmt.Println(ok, err)
	mu.Unlock()
	// Output:
	// reserved 2
	// reserved 3
	// <nil> <nil>
	// <nil>
	// false <nil>
}

// A job that every instance starts and only one is to run.
func Example_runUnlessAnotherDoes() {
	ctx := context.Background()
	instance := func(name string) (*zksync.Session, error) {
		return zksync.Dial(ctx, exampleServers(), zksync.WithIdentity(name))
	}
	a, err := instance("a")
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := instance("b")
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	nightly := func(s *zksync.Session, work func(ctx context.Context, h *zksync.Hold) error) {
		ran, err := zksync.NewMutex(s, "/locks/nightly").TryDo(ctx, work)
		switch {
		case errors.Is(err, zksync.ErrLost):
			fmt.Println("stopped: another instance may be at it by now")
		case err != nil:
			fmt.Println("failed:", err)
		case ran:
			fmt.Println("done")
		default:
			fmt.Println("another instance is at it")
		}
	}
	nightly(a, func(ctx context.Context, _ *zksync.Hold) error {
		nightly(b, nil)
		return ctx.Err() // the work, which ends with its ctx
	})
	nightly(b, func(ctx context.Context, h *zksync.Hold) error {
		if err := a.Break(ctx, h.Node()); err != nil { // an operator takes the lock away
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	// Output:
	// another instance is at it
	// done
	// stopped: another instance may be at it by now
}

// Spans and metrics by OpenTelemetry, and a line in the log for each wait that is
// long.
func Example_tracing() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers(), zksync.WithTracer(zksync.JoinTracers(
		tracing.New(), // by the global providers
		zksync.LogTracer(slog.Default(), zksync.LogLimits{Wait: 30 * time.Second, Hold: 10 * time.Minute}),
	)))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	err = zksync.NewMutex(s, "/locks/report").Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
		return ctx.Err() // spans that begin with ctx nest in that of the hold
	})
	fmt.Println(err)
	// Output: <nil>
}
