package zksync_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// runs is how often each fault is made: all of the times that are promised with
// ZKSYNC_FULL=1, a part of them otherwise.
func runs(full int) int {
	if os.Getenv("ZKSYNC_FULL") == "1" {
		return full
	}
	return max(1, full/5)
}

// pass lets real time go by: how long a fault lasts is a matter of the clock.
func pass(d time.Duration) { <-time.After(d) }

// inLine is told when the call whose context carries it waits for somebody.
type inLine struct{}

// watched returns a context for a call on a session that has tellsLine, and a
// channel that is closed once the call stands in line behind somebody.
func watched(ctx context.Context) (context.Context, <-chan struct{}) {
	ch := make(chan struct{})
	var once sync.Once
	return context.WithValue(ctx, inLine{}, func() { once.Do(func() { close(ch) }) }), ch
}

// tellsLine makes watched work on a session.
func tellsLine() zksync.Option {
	return zksync.WithTracer(&zksync.Tracer{Blocked: func(ctx context.Context, _ zksync.Peer) {
		if f, ok := ctx.Value(inLine{}).(func()); ok {
			f()
		}
	}})
}

// duel is a hold that is about to be lost, and a call of another session that
// waits for it.
type duel struct {
	path   string
	first  *zksync.Hold
	ctx    context.Context
	lost   chan time.Time
	second chan grant
	fence  int64 // of the second hold, after end
}

type grant struct {
	hold *zksync.Hold
	at   time.Time
	err  error
}

// begin holds path on one session and waits for it on another, which has
// tellsLine.
func begin(ctx context.Context, first, second *zksync.Session, path string) (*duel, error) {
	h, err := zksync.NewMutex(first, path).Hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("the first hold: %w", err)
	}
	d := &duel{path: path, first: h, ctx: h.Context(ctx), lost: make(chan time.Time, 1), second: make(chan grant, 1)}
	context.AfterFunc(d.ctx, func() { d.lost <- time.Now() })
	wctx, waits := watched(ctx)
	go func() {
		h, err := zksync.NewMutex(second, path).Hold(wctx)
		d.second <- grant{h, time.Now(), err}
	}()
	select {
	case <-waits:
		return d, nil
	case g := <-d.second:
		return nil, fmt.Errorf("granted beside a hold that says %v (%v)", h.Err(), g.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end waits for the second hold and checks that the first one was over by then.
// It returns by how much.
func (d *duel) end(ctx context.Context) (time.Duration, error) {
	var g grant
	select {
	case g = <-d.second:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: the second session waits: %w", d.path, ctx.Err())
	}
	if g.err != nil {
		return 0, fmt.Errorf("the second hold: %w", g.err)
	}
	var lost time.Time
	select {
	case lost = <-d.lost:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s: two holders, and the first was never told", d.path)
	}
	margin := g.at.Sub(lost)
	d.fence = g.hold.Fence()
	var errs []error
	if margin < 0 {
		errs = append(errs, fmt.Errorf("%s: two holders for %v", d.path, -margin))
	}
	if cause := context.Cause(d.ctx); !errors.Is(cause, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("cause of the first hold's end: %v", cause))
	}
	if err := d.first.Err(); !errors.Is(err, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("Err of the first hold: %v", err))
	}
	if f, s := d.first.Fence(), g.hold.Fence(); s <= f {
		errs = append(errs, fmt.Errorf("fence %d came after fence %d", s, f))
	}
	if err := d.first.Release(ctx); !errors.Is(err, zksync.ErrLost) {
		errs = append(errs, fmt.Errorf("Release of the first hold: %v", err))
	}
	if err := g.hold.Release(ctx); err != nil {
		errs = append(errs, fmt.Errorf("Release of the second hold: %w", err))
	}
	return margin, errors.Join(errs...)
}

// together runs f for 0 to n-1 at the same time and reports each error.
func together(t *testing.T, n int, f func(i int) error) {
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

// margins logs how long the first holders were out before the second came in.
func margins(t *testing.T, all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	ms := func(i int) time.Duration { return all[i].Round(time.Millisecond) }
	t.Logf("%d runs: the first holder was out %v (least), %v (median), %v (most) before the second was in",
		len(all), ms(0), ms(len(all)/2), ms(len(all)-1))
}

// anyTime is a random time below d.
func anyTime(d time.Duration) time.Duration { return rand.N(d) }

// proxyTo puts a proxy before a server, until the end of the test.
func proxyTo(t testing.TB, server string) *zktest.Proxy {
	t.Helper()
	p, err := zktest.NewProxy(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// closeAll closes sessions at the same time, which the test's own end would do
// one after the other.
func closeAll(t *testing.T, sessions []*zksync.Session) {
	t.Helper()
	together(t, len(sessions), func(i int) error { return sessions[i].Close() })
}

// wires is a dialer whose connections the test has a hand on.
type wires struct {
	mu    sync.Mutex
	dials []string                            // guarded by mu; addresses asked for
	write func(conn int, frame []byte) error  // guarded by mu; before each write
	open  func(addr string) (net.Conn, error) // guarded by mu; nil: TCP
}

func (w *wires) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, addr)
	n, open := len(w.dials), w.open
	w.mu.Unlock()
	if open == nil {
		open = func(addr string) (net.Conn, error) { return net.DialTimeout(network, addr, timeout) }
	}
	c, err := open(addr)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, w: w, n: n}, nil
}

// count is the number of dials so far.
func (w *wires) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials)
}

func (w *wires) addrs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dials)
}

// onWrite has f called before each write, with the number of the connection,
// counted from 1. An error is the write's.
func (w *wires) onWrite(f func(conn int, frame []byte) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write = f
}

// wire is one connection of wires.
type wire struct {
	net.Conn
	w *wires
	n int
}

func (c *wire) Write(b []byte) (int, error) {
	c.w.mu.Lock()
	f := c.w.write
	c.w.mu.Unlock()
	if f != nil {
		if err := f(c.n, b); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// behind opens a session that reaches the site through a proxy only.
func (z *site) behind(t testing.TB, opts ...zksync.Option) (*zktest.Proxy, *zksync.Session) {
	t.Helper()
	p := z.proxied(t)
	return p, dialTo(t, []string{p.Addr()}, opts...)
}

// creation finds the frames of a proxy that make a lock's node, and their
// answers. The zero value is ready.
type creation struct {
	mu    sync.Mutex
	asked map[[2]int64]bool // guarded by mu; by connection and xid
	sent  int               // guarded by mu
}

// of reports whether f asks for a lock node, or answers that.
func (c *creation) of(f zktest.Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]int64{f.Conn, int64(f.Xid)}
	if f.FromServer {
		return f.Xid > 0 && c.asked[key]
	}
	// A transaction that makes a node has that first, behind the header.
	is := f.Op == "create" || f.Op == "multi" && len(f.Payload) >= 12 && binary.BigEndian.Uint32(f.Payload[8:]) == 1
	if is && bytes.Contains(f.Payload, []byte("_c_")) {
		if c.asked == nil {
			c.asked = make(map[[2]int64]bool)
		}
		c.asked[key] = true
		c.sent++
		return true
	}
	return false
}

// count is how often a lock node was asked for.
func (c *creation) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// off cuts a proxy's clients off from the server, and lets them know.
func off(p *zktest.Proxy) {
	p.Refuse(true)
	p.Cut()
}

// offUntilKnown is off, and waits until the session knows.
func offUntilKnown(t testing.TB, p *zktest.Proxy, s *zksync.Session) {
	t.Helper()
	n := s.Stats().Disconnects
	off(p)
	eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
}

// nodeOf checks that one node is below p, and that it is a session's, and
// returns its full path.
func nodeOf(t testing.TB, c *zk.Conn, p string, s *zksync.Session) string {
	t.Helper()
	names := children(t, c, p)
	if len(names) != 1 {
		t.Fatalf("%d nodes below %s, want one: %v", len(names), p, names)
	}
	node := p + "/" + names[0]
	_, stat, err := c.Exists(node)
	ok(t, err)
	if stat.EphemeralOwner != s.ID() {
		t.Errorf("%s is of session %#x, want %#x", node, stat.EphemeralOwner, s.ID())
	}
	return node
}

// overrun is what a bounded call may take beyond its bound, on a busy machine.
const overrun = 500 * time.Millisecond

// within checks that f takes no longer than a bound and the overrun.
func within(t testing.TB, bound time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > bound+overrun {
		t.Errorf("took %v, which is bounded by %v", took, bound)
	}
}
