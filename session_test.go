package zksync_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Shutdown: what waits with a context ends, holders and Lock finish, then the
// session closes.
func TestShutdown(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p)
		ctx := short(t)
		var wg sync.WaitGroup
		in, out := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			err := m.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
				close(in)
				<-out
				// A holder may enter again until it has finished.
				if err := m.LockContext(ctx); err != nil {
					return err
				}
				m.Unlock()
				return h.Err()
			})
			if err != nil {
				t.Error(err)
			}
		})
		get(t, in)
		var waits []<-chan error
		for _, call := range calls {
			if !call.try {
				waits = append(waits, async(func() error { _, err := call.take(ctx, m); return err }))
				waiting(t, s, len(waits))
			}
		}
		locked := make(chan struct{})
		wg.Go(func() {
			m.Lock()
			close(locked)
			m.Unlock()
		})
		waiting(t, s, len(waits)+1)

		soon, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, errCause)
		defer cancel()
		e := isError(t, s.Shutdown(soon), context.DeadlineExceeded, errCause)
		if e.Op != "shutdown" {
			t.Errorf("%#v", e)
		}
		for _, w := range waits {
			isError(t, get(t, w), zksync.ErrClosed)
		}
		for _, call := range calls {
			_, err := call.take(ctx, m)
			isError(t, err, zksync.ErrClosed)
		}
		if m.TryLock() {
			t.Error("TryLock while shutting down")
		}
		down := async(func() error { return s.Shutdown(ctx) })
		close(out)
		get(t, locked) // Lock() has gone its way
		ok(t, get(t, down))
		wg.Wait()
		panicsWith(t, m.Lock, zksync.ErrClosed)
		isError(t, s.Ping(ctx), zksync.ErrClosed)
		ok(t, s.Shutdown(ctx))
		ok(t, s.Close())
		z.empty(t, p)
	})
}

// Close gives everything up: holds are lost, waits end, Lock panics.
func TestClose(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p, p2 := z.dial(t), lockPath(t), lockPath(t)
		m, plain := zksync.NewMutex(s, p), zksync.NewMutex(s, p2)
		ctx := short(t)
		h, err := m.Hold(ctx)
		ok(t, err)
		hctx := h.Context(ctx)
		plain.Lock()
		var waits []<-chan error
		for _, l := range []*zksync.Mutex{m, plain} {
			for _, call := range calls {
				if !call.try {
					waits = append(waits, async(func() error { _, err := call.take(ctx, l); return err }))
				}
			}
			waits = append(waits, async(func() error { e, _ := panicOf(l.Lock).(error); return e }))
		}
		waiting(t, s, len(waits))
		start := time.Now()
		both := async(s.Close)
		ok(t, s.Close())
		ok(t, get(t, both))
		ok(t, s.Close())
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("Close took %v", d)
		}
		z.empty(t, p)
		z.empty(t, p2)
		for _, w := range waits {
			e := isError(t, get(t, w), zksync.ErrClosed)
			if e.ErrorType() != "closed" {
				t.Errorf("%#v", e)
			}
		}
		get(t, hctx.Done())
		for _, err := range []error{context.Cause(hctx), h.Err(), h.Release(ctx)} {
			if !errors.Is(err, zksync.ErrLost) || !errors.Is(err, zksync.ErrClosed) {
				t.Errorf("the hold ended with %v", err)
			}
		}
		isError(t, plain.UnlockContext(ctx), zksync.ErrLost, zksync.ErrClosed)
		for _, call := range calls {
			_, err := call.take(ctx, m)
			isError(t, err, zksync.ErrClosed)
		}
		panicsWith(t, m.Lock, zksync.ErrClosed)
		panicsWith(t, m.As(zksync.NewOwner("")).Lock, zksync.ErrClosed)
		panics(t, "zksync: Unlock of an unlocked lock", plain.Unlock)
		isError(t, s.Ping(ctx), zksync.ErrClosed)
		if st := s.Stats(); st.Held != 0 || st.Waiting != 0 || st.CleanupPending != 0 || st.Losses != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// A deferred Unlock after Close does no harm.
func TestUnlockAfterClose(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		ok(t, s.Close())
		m.Unlock()
		z.empty(t, p)
	})
}

func TestStats(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		other := zksync.NewMutex(z.dial(t), p)
		m := zksync.NewMutex(s, p)
		var want zksync.Stats
		check := func(what string) {
			t.Helper()
			eventually(t, what, func() bool { return s.Stats().CleanupPending == 0 })
			got := s.Stats()
			got.Requests, got.Connects = 0, 0
			if got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		check("at the start")
		m.Lock()
		want.Held, want.Acquired = 1, 1
		check("held")
		second, third := async(func() error { return m.LockContext(short(t)) }), async(func() error { return m.LockContext(short(t)) })
		waiting(t, s, 2)
		want.Waiting = 2
		check("waiting")
		m.Unlock()
		select { // one of them is through
		case err := <-second:
			ok(t, err)
			second = third
		case err := <-third:
			ok(t, err)
		}
		want.Waiting, want.Acquired, want.Handoffs = 1, 2, 1
		waiting(t, s, 1)
		check("handed over")
		m.Unlock()
		ok(t, get(t, second))
		m.Unlock()
		want.Waiting, want.Acquired, want.Handoffs, want.Held = 0, 3, 2, 0
		check("released")
		h, err := m.Hold(short(t))
		ok(t, err)
		want.Held, want.Acquired = 1, 4
		check("a hold")
		if n := s.Stats(); n.Connects < 1 || n.Requests < 6 {
			t.Errorf("%+v", n)
		}
		ok(t, z.raw(t).Delete(h.Node(), -1))
		eventually(t, "the loss is noticed", func() bool { return h.Err() != nil })
		want.Held, want.Losses = 0, 1
		check("lost")
		ok(t, other.LockContext(short(t)))
		if m.TryLock() {
			t.Error("two holders")
		}
		check("refused")
		other.Unlock()
	})
}

func TestPing(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		before := s.Stats().Requests
		ok(t, s.Ping(short(t)))
		if n := s.Stats().Requests - before; n != 1 {
			t.Errorf("%d requests", n)
		}
		e := isError(t, s.Ping(done()), context.Canceled, errCause)
		if e.Op != "ping" {
			t.Errorf("%#v", e)
		}
		if s.ID() == 0 || s.Timeout() != sessionTimeout {
			t.Errorf("session %#x, timeout %v", s.ID(), s.Timeout())
		}
	})
}

// The program's own client stays open and usable.
func TestNewSessionLeavesClient(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.client(t)
		s, err := zksync.NewSession(c, sessionTimeout)
		ok(t, err)
		ok(t, s.Ping(short(t)))
		if s.Conn() != c || s.ID() != c.SessionID() || s.Timeout() != sessionTimeout {
			t.Errorf("session %#x on %#x, timeout %v", s.ID(), c.SessionID(), s.Timeout())
		}
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		m.Lock()
		ok(t, s.Close())
		if len(children(t, c, p)) != 0 {
			t.Error("a node is left on the program's session")
		}
		again, err := zksync.NewSession(c, sessionTimeout)
		ok(t, err)
		free(t, zksync.NewMutex(again, p))
		ok(t, again.Close())
		if c.State() != zk.StateHasSession {
			t.Error(c.State())
		}
	})
}

func TestChroot(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		root := lockPath(t) + "/a/b" // not there yet
		s := z.dial(t, zksync.WithChroot(root))
		m := zksync.NewMutex(s, "/orders/7")
		whole := zksync.NewMutex(z.dial(t, zksync.WithChroot("/")), root+"/orders/7")
		m.Lock()
		if got, err := whole.TryLockContext(short(t)); got || err != nil {
			t.Errorf("not the same lock: %v, %v", got, err)
		}
		if n := children(t, c, root+"/orders/7"); len(n) != 1 || m.Path() != "/orders/7" {
			t.Errorf("nodes %v, path %s", n, m.Path())
		}
		m.Unlock()
		h, err := m.Hold(short(t))
		ok(t, err)
		if path.Dir(h.Node()) != root+"/orders/7" {
			t.Errorf("Node() is not the path in ZooKeeper: %s", h.Node())
		}
		ok(t, h.Release(short(t)))
		if e := isError(t, m.LockContext(done())); e.Path != "/orders/7" {
			t.Errorf("%#v", e)
		}
		z.empty(t, root+"/orders/7")
	})
}

// Payload of a lock node: at most 256 bytes, whatever the texts.
func TestNodeInfo(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		long := strings.Repeat(`"é\`, 200)
		host, _ := os.Hostname()
		for _, tt := range []struct {
			name  string
			opts  []zksync.Option
			owner zksync.Owner
			id    string
		}{
			{"default", nil, zksync.Owner{}, fmt.Sprintf("%s:%d", host, os.Getpid())},
			{"identity", []zksync.Option{zksync.WithIdentity("pod-3")}, zksync.NewOwner("order 7"), "pod-3"},
			{"long", []zksync.Option{zksync.WithIdentity(long)}, zksync.NewOwner(long), ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s, p := z.dial(t, tt.opts...), lockPath(t)
				m := zksync.NewMutex(s, p)
				for _, call := range calls {
					release, err := call.take(zksync.WithOwner(short(t), tt.owner), m)
					ok(t, err)
					names := children(t, z.raw(t), p)
					if len(names) != 1 {
						t.Fatal(names)
					}
					data, _, err := z.raw(t).Get(p + "/" + names[0])
					ok(t, err)
					var info struct {
						V     int
						ID    string
						Host  string
						PID   int
						Owner *struct{ ID, Name string }
					}
					if err := json.Unmarshal(data, &info); err != nil || len(data) > 256 {
						t.Fatalf("%d bytes, %v: %s", len(data), err, data)
					}
					if info.V != 1 || info.PID != os.Getpid() || len(info.ID) > 40 || tt.id != "" && info.ID != cut(tt.id) {
						t.Errorf("%s", data)
					}
					if (info.Owner == nil) != tt.owner.IsZero() {
						t.Errorf("owner: %s", data)
					}
					if tt.name == "identity" && (info.Owner.Name != "order 7" || info.Host != cut(host)) {
						t.Errorf("%s", data)
					}
					ok(t, release(short(t)))
				}
				atRest(t, s)
			})
		}
		t.Run("without", func(t *testing.T) {
			s, p := z.dial(t, zksync.WithIdentity("pod-3"), zksync.WithoutNodeInfo()), lockPath(t)
			h, err := zksync.NewMutex(s, p).As(zksync.NewOwner("o")).Hold(short(t))
			ok(t, err)
			data, _, err := z.raw(t).Get(h.Node())
			if err != nil || len(data) != 0 {
				t.Errorf("%q, %v", data, err)
			}
			ok(t, h.Release(short(t)))
		})
	})
}

// cut is a text as a node holds it, as far as it is plain.
func cut(text string) string { return text[:min(len(text), 40)] }

func TestPath(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s, root := z.dial(t), lockPath(t)
		if got := zksync.Path("/", "a"); got != "/a" {
			t.Error(got)
		}
		seen := make(map[string]string)
		for _, name := range []string{
			"order-7", "", ".", "..", "a/b", "a%2Fb", "%", "a b", "\x00", "\xff\xfe", "é", "𝄞", "/", "//", "zookeeper",
			strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("/", 5000),
		} {
			p := zksync.Path(root, name)
			if before, dup := seen[p]; dup {
				t.Errorf("%q and %q have one path", before, name)
			}
			seen[p] = name
			if path.Dir(p) != root || path.Clean(p) != p {
				t.Errorf("%q gives %q", name, p)
			}
			free(t, zksync.NewMutex(s, p)) // ZooKeeper takes it
		}
	})
}

// A server that grants another timeout than was asked for is believed.
func TestNegotiatedTimeout(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := dialTo(t, z.servers, zksync.WithSessionTimeout(23*time.Hour))
		if got := s.Timeout(); got < time.Second || got > time.Hour {
			t.Errorf("granted %v", got)
		}
		free(t, zksync.NewMutex(s, lockPath(t)))
	})
}
