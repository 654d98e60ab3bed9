package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"

	"github.com/zklocker/go-zksync/zksync"
)

// A service that works under locks answers requests. The error of a lock decides the
// answer: some failures are the client's, some pass, and some need an operator.
func ExampleError() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	status := func(err error) int {
		switch {
		case err == nil:
			return http.StatusOK
		case errors.Is(err, zksync.ErrInvalidPath):
			return http.StatusBadRequest
		case errors.Is(err, zksync.ErrBusy):
			return http.StatusConflict
		case errors.Is(err, zksync.ErrLost), errors.Is(err, zksync.ErrRevoked),
			errors.Is(err, zksync.ErrClosed), errors.Is(err, context.DeadlineExceeded):
			return http.StatusServiceUnavailable // the client may try again
		case errors.Is(err, zksync.ErrSequenceExhausted), errors.Is(err, zksync.ErrLimitMismatch),
			errors.Is(err, zksync.ErrNoAuth):
			log.Print("an operator is needed: ", err)
		}
		return http.StatusInternalServerError
	}
	edit := func(path string, work func(*zksync.Hold) error) error {
		h, err := zksync.NewMutex(s, path).TryHold(ctx)
		if err != nil {
			return err
		}
		return errors.Join(work(h), h.Release(ctx))
	}

	err = edit("/pages/home", func(*zksync.Hold) error {
		err := edit("/pages/home", nil) // another request, meanwhile
		fmt.Println(status(err), errors.Is(err, zksync.ErrBusy))
		return nil
	})
	fmt.Println(status(err), err)

	err = edit("/pages//home", nil)
	fmt.Println(status(err))

	err = edit("/pages/home", func(h *zksync.Hold) error { return s.Break(ctx, h.Node()) })
	fmt.Println(status(err), zksync.LossReason(err))
	// Output:
	// 409 true
	// 200 <nil>
	// 400
	// 503 node_deleted
}

// A metric of failures by their kind. The kinds are a closed list, so that the metric has
// few series.
func ExampleError_ErrorType() {
	ctx := context.Background()
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	failures := make(map[string]int)
	count := func(err error) {
		if e := (*zksync.Error)(nil); errors.As(err, &e) {
			failures[e.ErrorType()]++
		}
	}

	done, cancel := context.WithCancel(ctx)
	cancel()
	mu := zksync.NewMutex(s, "/locks/counted")
	count(mu.LockContext(done))
	count(mu.LockContext(done))
	count(zksync.NewMutex(s, "no slash").LockContext(ctx))
	s.Close()
	count(mu.LockContext(ctx))
	fmt.Println(failures)
	// Output: map[canceled:2 closed:1 invalid_path:1]
}

// What a program does after a loss depends on its cause.
func ExampleLossReason() {
	ctx := context.Background()
	next := func(err error) string {
		switch zksync.LossReason(err) {
		case zksync.EndSessionExpired, zksync.EndContactLost:
			return "try again: the network or the servers had a fault"
		case zksync.EndNodeDeleted:
			return "stop: the node was deleted, by an operator perhaps"
		case zksync.EndClosed:
			return "stop: this program ends"
		}
		return "no loss"
	}
	s, err := zksync.Dial(ctx, exampleServers())
	if err != nil {
		log.Fatal(err)
	}
	hold := func() *zksync.Hold {
		h, err := zksync.NewMutex(s, "/locks/reasons").Hold(ctx)
		if err != nil {
			log.Fatal(err)
		}
		return h
	}

	h := hold()
	fmt.Println(next(h.Release(ctx)))
	h = hold()
	if err := s.Break(ctx, h.Node()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(next(h.Release(ctx)))
	h = hold()
	s.Close()
	fmt.Println(next(h.Release(ctx)))
	// Output:
	// no loss
	// stop: the node was deleted, by an operator perhaps
	// stop: this program ends
}
