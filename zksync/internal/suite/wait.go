package suite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// SleepReal lets real time go by: how long a fault lasts is a matter of the clock.
func SleepReal(d time.Duration) { <-time.After(d) }

// AnyTime is a random time below d.
func AnyTime(d time.Duration) time.Duration { return rand.N(d) }

// Overrun is what a bounded call may take beyond its bound, on a busy machine.
const Overrun = 500 * time.Millisecond

// Within checks that f takes no longer than a bound and the overrun. On a machine that
// lets goroutines wait for a processor, it adds how long they waited meanwhile.
func Within(t testing.TB, bound time.Duration, f func()) {
	t.Helper()
	start, late := time.Now(), lateness()
	f()
	took, waited := time.Since(start), late()
	if took > bound+Overrun+2*waited {
		t.Errorf("took %v, which is bounded by %v; meanwhile a goroutine that sleeps woke %v late", took, bound, waited)
	}
}

// lateness measures how much later than asked for a goroutine wakes that sleeps again
// and again. The result ends it, and returns the sum.
func lateness() (sum func() time.Duration) {
	const step = 10 * time.Millisecond
	done, total := make(chan struct{}), make(chan time.Duration)
	go func() {
		var late time.Duration
		for {
			start := time.Now()
			select {
			case <-time.After(step):
				late += time.Since(start) - step
			case <-done:
				total <- late
				return
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return <-total
	}
}

// Patience bounds what should come at once, on a machine that is busy.
const Patience = 20 * time.Second

// Async runs f in a goroutine of its own.
func Async[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}

// Receive waits for what a goroutine sends.
func Receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(Patience):
		t.Fatal("nothing came")
		panic("zksync: unreachable")
	}
}

// AwaitWaiting waits until n calls of the session wait for a lock.
func AwaitWaiting(t testing.TB, s *zksync.Session, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d calls wait", n), func() bool { return s.Stats().Waiting == n })
}

// InLine waits until n nodes are below p.
func InLine(t testing.TB, c *zk.Conn, p string, n int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d nodes below %s", n, p), func() bool { return len(Children(t, c, p)) == n })
}

// AtRest waits until nothing of the session's is on its way.
func AtRest(t testing.TB, s *zksync.Session) {
	t.Helper()
	Eventually(t, "the session is at rest", func() bool {
		st := s.Stats()
		return st.CleanupPending == 0 && st.Held == 0 && st.Waiting == 0
	})
}

// Released waits until the servers have confirmed everything that the session has given
// back: Unlock, RUnlock and Release don't wait for that.
func Released(t testing.TB, s *zksync.Session) {
	t.Helper()
	Eventually(t, "what was given back is confirmed", func() bool { return s.Stats().CleanupPending == 0 })
}

// BrieflyFor is a context with a time limit, until the end of the test.
func BrieflyFor(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Soon is far below the time after which a waiter looks by itself, which is T.
const Soon = SessionTimeout / 2

// NotYet checks that a call has not returned.
func NotYet(t *testing.T, got <-chan error) {
	t.Helper()
	select {
	case err := <-got:
		t.Errorf("did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
}

// Context is a context that fails a stuck test long before go test does.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Eventually waits for a condition of a real server, which has to be polled.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
