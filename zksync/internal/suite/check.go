package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Runs is how often each fault is made: all of the times that are promised with
// ZKSYNC_FULL=1, a part of them otherwise.
func Runs(full int) int {
	if os.Getenv("ZKSYNC_FULL") == "1" {
		return full
	}
	return max(1, full/5)
}

// Together runs f for 0 to n-1 at the same time and reports each error.
func Together(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// CloseAll closes sessions at the same time, which the test's own end would do
// one after the other.
func CloseAll(t *testing.T, sessions []*zksync.Session) {
	t.Helper()
	Together(t, len(sessions), func(i int) error { return sessions[i].Close() })
}

// NodeOf checks that one node is below p, and that it is a session's, and
// returns its full path.
func NodeOf(t testing.TB, c *zk.Conn, p string, s *zksync.Session) string {
	t.Helper()
	names := Children(t, c, p)
	if len(names) != 1 {
		t.Fatalf("%d nodes below %s, want one: %v", len(names), p, names)
	}
	node := p + "/" + names[0]
	_, stat, err := c.Exists(node)
	Must(t, err)
	if stat.EphemeralOwner != s.ID() {
		t.Errorf("%s is of session %#x, want %#x", node, stat.EphemeralOwner, s.ID())
	}
	return node
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// IsError checks that err is an *Error and Is each of the targets.
func IsError(t testing.TB, err error, targets ...error) *zksync.Error {
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

// PanicOf returns what f panics with, nil if it does not.
func PanicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// Panics checks the text that f panics with.
func Panics(t testing.TB, want string, f func()) {
	t.Helper()
	if got := fmt.Sprint(PanicOf(f)); got != want {
		t.Errorf("panic with %q, want %q", got, want)
	}
}

// PanicsWith checks that f panics with an *Error that Is the targets.
func PanicsWith(t testing.TB, f func(), targets ...error) *zksync.Error {
	t.Helper()
	err, isErr := PanicOf(f).(error)
	if !isErr {
		t.Fatalf("no panic with an error: %v", err)
	}
	return IsError(t, err, targets...)
}

// Lockable is what every lock is, and permits are with a little help.
type Lockable interface {
	sync.Locker
	LockContext(ctx context.Context) error
	UnlockContext(ctx context.Context) error
}

// LockAndUnlock checks that the lock can be had, and leaves it free.
func LockAndUnlock(t testing.TB, l Lockable) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := l.LockContext(ctx); err != nil {
		t.Fatalf("the next lock: %v", err)
	}
	if err := l.UnlockContext(ctx); err != nil {
		t.Fatalf("the next unlock: %v", err)
	}
}

// WatchCount is the number of watches on the server.
func (z *Ground) WatchCount(t testing.TB) int {
	t.Helper()
	n, err := z.Watches()
	Must(t, err)
	return n
}

// ErrCause is the cause of contexts that a test cancels.
var ErrCause = errors.New("the cause given by hand")

// DoneContext is a context that has ended, for the cause given by hand.
func DoneContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrCause)
	return ctx
}

// ErrRefused stands for false without an error.
var ErrRefused = errors.New("refused")

// MakePath makes a path and its parents.
func MakePath(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			Eventually(t, p[:i]+" is there", func() bool { // a busy server may take a client of its own long to reach
				_, err := c.Create(p[:i], nil, 0, zk.WorldACL(zk.PermAll))
				return err == nil || err == zk.ErrNodeExists
			})
		}
	}
}

// Children lists what is below p: nothing if p is not there.
func Children(t testing.TB, c *zk.Conn, p string) []string {
	t.Helper()
	names, _, err := c.Children(p)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return names
}

// Empty checks that no node is left below p, on a server that is at rest.
func (z *Ground) Empty(t testing.TB, p string) {
	t.Helper()
	c := z.Raw(t)
	if _, err := c.Sync(path.Dir(p)); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "no node is left below "+p, func() bool { return len(Children(t, c, p)) == 0 })
}
