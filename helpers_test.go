package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// onSessions runs a test on every kind of server, with both ways to make a
// session: by Dial, and on a client that the program has.
func onSessions(t *testing.T, f func(t *testing.T, z *site)) {
	onServers(t, func(t *testing.T, z *site) {
		t.Run("dial", func(t *testing.T) { f(t, z) })
		own := *z
		own.adapted = true
		t.Run("adapted", func(t *testing.T) { f(t, &own) })
	})
}

// adapt makes a session on a client of the test's own, which outlives it.
func (z *site) adapt(t testing.TB, opts ...zksync.Option) *zksync.Session {
	t.Helper()
	s, err := zksync.NewSession(z.client(t), sessionTimeout, append([]zksync.Option{zksync.WithLogger(testLogger(t))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	if err := s.Ping(short(t)); err != nil { // as after Dial, a session stands
		t.Fatal(err)
	}
	return s
}

// client is a program's own client, with the session timeout of the suite.
func (z *site) client(t testing.TB) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(z.servers, sessionTimeout, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		drain(events)
	})
	return c
}

// drain waits until a client that was closed has ended. One that is closed with
// requests under way may lock up instead (conn.go:523 of the client).
func drain(events <-chan zk.Event) {
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	for {
		select {
		case _, more := <-events:
			if !more {
				return
			}
		case <-limit.C:
			return
		}
	}
}

// patience bounds what should come at once, on a machine that is busy.
const patience = 20 * time.Second

// async runs f in a goroutine of its own.
func async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

// get waits for what a goroutine sends.
func get[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// ok ends the test on an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isError checks that err is an *Error and Is each of the targets.
func isError(t testing.TB, err error, targets ...error) *zksync.Error {
	t.Helper()
	var e *zksync.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *Error", err, err)
	}
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%q is not %q", err, target)
		}
	}
	return e
}

// panicOf returns what f panics with, nil if it does not.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// panics checks the text that f panics with.
func panics(t testing.TB, want string, f func()) {
	t.Helper()
	if got := fmt.Sprint(panicOf(f)); got != want {
		t.Errorf("panic with %q, want %q", got, want)
	}
}

// panicsWith checks that f panics with an *Error that Is the targets.
func panicsWith(t testing.TB, f func(), targets ...error) *zksync.Error {
	t.Helper()
	err, isErr := panicOf(f).(error)
	if !isErr {
		t.Fatalf("no panic with an error: %v", err)
	}
	return isError(t, err, targets...)
}

// waiting waits until n calls of the session wait for a lock.
func waiting(t testing.TB, s *zksync.Session, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d calls wait", n), func() bool { return s.Stats().Waiting == n })
}

// inLine waits until n nodes are below p.
func lineOf(t testing.TB, c *zk.Conn, p string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d nodes below %s", n, p), func() bool { return len(children(t, c, p)) == n })
}

// atRest waits until nothing of the session's is on its way.
func atRest(t testing.TB, s *zksync.Session) {
	t.Helper()
	eventually(t, "the session is at rest", func() bool {
		st := s.Stats()
		return st.CleanupPending == 0 && st.Held == 0 && st.Waiting == 0
	})
}

// lockable is what every lock is, and permits are with a little help.
type lockable interface {
	sync.Locker
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context) error
}

// free checks that the lock can be had, and leaves it free.
func free(t testing.TB, l lockable) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.LockContext(ctx); err != nil {
		t.Fatalf("the next lock: %v", err)
	}
	if err := l.UnlockContext(ctx); err != nil {
		t.Fatalf("the next unlock: %v", err)
	}
}

// watchCount is the number of watches on the server.
func (z *site) watchCount(t testing.TB) int {
	t.Helper()
	n, err := z.watches()
	ok(t, err)
	return n
}

var errCause = errors.New("the cause given by hand")

// done is a context that has ended, for the cause given by hand.
func done() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCause)
	return ctx
}

// calls are the ways to take a lock that have an error. Each gives the lock
// back if it gets it.
var calls = []struct {
	name string
	hold bool
	try  bool
	take func(ctx context.Context, l zksync.Locker) (release func(context.Context) error, err error)
}{
	{name: "LockContext", take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		return l.UnlockContext, l.LockContext(ctx)
	}},
	{name: "TryLockContext", try: true, take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		got, err := l.TryLockContext(ctx)
		if !got && err == nil {
			err = errRefused
		}
		return l.UnlockContext, err
	}},
	{name: "Hold", hold: true, take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		h, err := l.Hold(ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}},
	{name: "TryHold", hold: true, try: true, take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		h, err := l.TryHold(ctx)
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}},
	{name: "Do", hold: true, take: func(ctx context.Context, l zksync.Locker) (func(context.Context) error, error) {
		in, out, res := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			res <- l.Do(ctx, func(context.Context, *zksync.Hold) error { close(in); <-out; return nil })
		}()
		select {
		case err := <-res:
			return nil, err
		case <-in:
			return func(context.Context) error { close(out); return <-res }, nil
		}
	}},
}

// errRefused stands for false without an error.
var errRefused = errors.New("refused")
