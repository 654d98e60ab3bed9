package zksync_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// What every lock promises, and the main job, on the embedded server and on real
// ZooKeeper. All other tests are beside the code.

const tick, timeout = 500 * time.Millisecond, 2 * time.Second // of the servers, of a session that is lost

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // most of the tests wait
	code := m.Run()
	embedded().Close()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestPromises(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s := zktest.Run(t, zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))
		promises(t, s.Addr(), func(id int64) error { s.Expire(id); return nil })
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		e := ensemble.Run(t, 1, ensemble.WithTick(tick))
		promises(t, e.Addrs()[0], e.Expire)
	})
}

// promises checks each promise on a server, and that no node is left.
func promises(t *testing.T, server string, expire func(session int64) error) {
	for name, f := range map[string]func(g ground){
		"the main job": mainJob, "exclusion": exclusion, "loss is an event": loss, "the fence grows": fence,
		"order, without a herd": order, "no orphan": noOrphan, "no stuck waiter": noStuckWaiter, "close is honest": closed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			g := ground{t, ctx, zksync.Path("/", name), server, expire}
			f(g)
			s := g.dial()
			g.until(func() bool { return len(g.nodes(s)) == 0 })
		})
	}
}

// ground is what a test runs on: a server, and a path that nobody else uses.
type ground struct {
	*testing.T
	ctx          context.Context
	path, server string
	expire       func(session int64) error
}

// ok ends the goroutine that meets an error.
func (g ground) ok(err error) {
	g.Helper()
	if err != nil {
		g.Error(err)
		g.FailNow()
	}
}

// dial opens a session until the end of the test. On a busy machine a second without an
// answer is no outage, so only sessions that are to be lost have a short timeout.
func (g ground) dial(opts ...zksync.DialOption) *zksync.Session {
	g.Helper()
	s, err := zksync.Dial(g.ctx, []string{g.server}, append([]zksync.DialOption{
		zksync.WithSessionTimeout(10 * time.Second), zksync.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	g.ok(err)
	g.Cleanup(func() { s.Close() })
	return s
}

// proxied is the same ground, which is reached through a proxy only.
func (g ground) proxied() (*ensemble.Proxy, ground) {
	g.Helper()
	p, err := ensemble.NewProxy(g.server)
	g.ok(err)
	g.Cleanup(p.Close)
	g.server = p.Addr()
	return p, g
}

// until polls what the test can't wait for.
func (g ground) until(f func() bool) {
	g.Helper()
	for ; !f(); time.Sleep(5 * time.Millisecond) {
		g.ok(g.ctx.Err())
	}
}

// nodes lists the line, once the server has seen all that was done.
func (g ground) nodes(s *zksync.Session) []string {
	g.Helper()
	_, err := s.Conn().Sync("/")
	g.ok(err)
	names, _, err := s.Conn().Children(g.path)
	if !errors.Is(err, zk.ErrNoNode) {
		g.ok(err)
	}
	return names
}

// The main job: goroutines of several sessions change what nothing but the lock
// protects, and a resource sees fences that only grow.
func mainJob(g ground) {
	const sessions, goroutines = 3, 40
	count, fence := 0, int64(0)
	var all sync.WaitGroup
	for range sessions {
		mu := zksync.NewMutex(g.dial(), g.path)
		for range goroutines {
			all.Go(func() {
				mu.Lock()
				count++
				mu.Unlock()
				g.ok(mu.Do(g.ctx, func(_ context.Context, h *zksync.Hold) error {
					if h.Fence() <= fence {
						g.Errorf("fence %d after %d", h.Fence(), fence)
					}
					fence = h.Fence()
					count++
					return nil
				}))
			})
		}
	}
	all.Wait()
	if want := 2 * sessions * goroutines; count != want {
		g.Errorf("counted to %d, want %d", count, want)
	}
}

// 1. Exclusion: while one holds, nobody else does, in whatever session.
func exclusion(g ground) {
	a, b := g.dial(), g.dial()
	first := zksync.NewMutex(a, g.path)
	first.Lock()
	if zksync.NewMutex(a, g.path).TryLock() || zksync.NewMutex(b, g.path).TryLock() {
		g.Error("a second holder")
	}
	first.Unlock()
}

// 2. Loss is an event: the holder hears that its session is over, and one that
// is cut off hears of its loss before anybody else holds.
func loss(g ground) {
	for _, cut := range []bool{false, true} {
		proxy, far := g.proxied()
		s := far.dial(zksync.WithSessionTimeout(timeout))
		h, err := zksync.NewMutex(s, g.path).Hold(g.ctx)
		g.ok(err)
		held := h.Context(g.ctx)
		if cut {
			proxy.Blackhole()
		} else {
			g.ok(g.expire(s.ID()))
		}
		next, err := zksync.NewMutex(g.dial(), g.path).Hold(g.ctx)
		g.ok(err)
		if cut && held.Err() == nil {
			g.Error("two holders")
		}
		g.until(func() bool { return held.Err() != nil })
		if err := context.Cause(held); !errors.Is(err, zksync.ErrLost) || !errors.Is(h.Err(), zksync.ErrLost) {
			g.Errorf("%v, %v", err, h.Err())
		}
		proxy.Heal()
		g.ok(next.Release(g.ctx))
	}
}

// 3. The fence grows from hold to hold, also when the path is made anew.
func fence(g ground) {
	s, last := g.dial(), int64(0)
	for range 3 {
		h, err := zksync.NewMutex(s, g.path).Hold(g.ctx)
		g.ok(err)
		if h.Fence() <= last {
			g.Errorf("fence %d after %d", h.Fence(), last)
		}
		last = h.Fence()
		g.ok(h.Release(g.ctx))
		g.ok(s.Conn().Delete(g.path, -1))
	}
}

// 4. Order: sessions come in the order in which they got in line.
// 7. No herd: a release wakes one of them, and the others make no request.
func order(g ground) {
	const n = 4
	first, held, next := g.dial(), make(chan int), make(chan int)
	last, mu := first, zksync.NewMutex(first, g.path)
	mu.Lock()
	for i := range n {
		s := g.dial(zksync.WithSessionTimeout(time.Minute)) // no request but those for the lock
		go func() {
			mu := zksync.NewMutex(s, g.path)
			g.ok(mu.LockContext(g.ctx))
			held <- i
			<-next
			mu.Unlock()
		}()
		g.until(func() bool { return len(g.nodes(first)) == i+2 && s.Stats().Requests >= 4 })
		last = s
	}
	before := last.Stats().Requests
	mu.Unlock()
	for i := range n {
		if got := <-held; got != i {
			g.Errorf("session %d held as number %d", got, i)
		}
		if now := last.Stats().Requests; i < n-1 && now != before {
			g.Errorf("release %d: the last in line made %d requests", i, now-before)
		}
		next <- i
	}
}

// 5. No orphan: a call that ends at its deadline leaves no node, in line or with
// a create whose answer is lost.
func noOrphan(g ground) {
	proxy, far := g.proxied()
	mu := zksync.NewMutex(far.dial(), g.path)
	g.ok(mu.LockContext(g.ctx))
	ends := func(mu *zksync.Mutex) {
		ctx, cancel := context.WithTimeout(g.ctx, 50*time.Millisecond)
		defer cancel()
		if err := mu.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			g.Error(err)
		}
	}
	ends(zksync.NewMutex(g.dial(), g.path))
	g.ok(mu.UnlockContext(g.ctx))
	proxy.Blackhole(ensemble.ToClient)
	ends(mu)
	proxy.DisconnectAll()
	proxy.Heal()
	g.ok(mu.LockContext(g.ctx))
	mu.Unlock()
}

// 6. No stuck waiter: the lock of a holder that died goes to the next one.
func noStuckWaiter(g ground) {
	proxy, far := g.proxied()
	zksync.NewMutex(far.dial(zksync.WithSessionTimeout(timeout)), g.path).Lock()
	next := zksync.NewMutex(g.dial(), g.path)
	proxy.Refuse() // as if its process had been killed
	proxy.DisconnectAll()
	start := time.Now()
	g.ok(next.LockContext(g.ctx))
	if took := time.Since(start); took > 2*timeout+tick { // the server looks once a tick
		g.Errorf("granted after %v", took)
	}
	next.Unlock()
	proxy.Heal()
}

// 8. Close, cut short, is honest: what it could not delete is in its error.
func closed(g ground) {
	p, far := g.proxied()
	client, _, err := zk.Connect([]string{far.server}, 3*timeout, zk.WithLogger(log.New(io.Discard, "", 0)))
	g.ok(err)
	defer client.Close()
	s, err := zksync.NewSession(client, 3*timeout)
	g.ok(err)
	h, err := zksync.NewMutex(s, g.path).Hold(g.ctx)
	g.ok(err)
	p.Blackhole()
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), h.Node()) {
		g.Errorf("Close: %v, want %s in it", err, h.Node())
	}
	p.Heal()
}
