package zksync_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The client's event channel keeps six events and drops the others. We hear of
// all of them: each of many waiters whose turns come at once is woken.
func TestLesson52_NoEventIsDropped(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const n = 60
		ctx, root := short(t), lockPath(t)
		holder, s := z.dial(t), z.dial(t, tellsLine())
		var results []<-chan error
		for i := range n {
			ok(t, zksync.NewMutex(holder, fmt.Sprint(root, i)).LockContext(ctx))
			wctx, waits := watched(ctx)
			results = append(results, async(func() error {
				return zksync.NewMutex(s, fmt.Sprint(root, i)).LockContext(wctx)
			}))
			get(t, waits)
		}
		ok(t, holder.Close()) // all of its nodes at once
		within(t, soon, func() {
			for _, r := range results {
				ok(t, get(t, r))
			}
		})
	})
}

// A thousand sessions in one process.
func TestLesson55_ManySessions(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		n := runs(1000)
		if raceEnabled {
			n = 50 // the race detector keeps books on every byte
		}
		ctx, path := short(t), lockPath(t)
		sessions := make([]*zksync.Session, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		together(t, n, func(i int) (err error) {
			sessions[i], err = zksync.Dial(ctx, z.servers, zksync.WithSessionTimeout(secondsTimeout))
			return err
		})
		if t.Failed() {
			return
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%d sessions: %d KiB of heap each", n, (int64(after.HeapAlloc)-int64(before.HeapAlloc))/int64(n)>>10)
		together(t, n, func(i int) error {
			m := zksync.NewMutex(sessions[i], fmt.Sprint(path, "-", i%20))
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			return m.UnlockContext(ctx)
		})
		closeAll(t, sessions)
	})
}

// Nothing is written to the program's log unasked.
func TestLesson56_QuietByDefault(t *testing.T) {
	onServersInTurn(t, func(t *testing.T, z *site) {
		var text notes
		out, flags := log.Writer(), log.Flags()
		log.SetOutput(&text) // slog.Default writes there, too
		defer func() { log.SetOutput(out); log.SetFlags(flags) }()
		ctx, path := short(t), lockPath(t)
		p := z.proxied(t)
		s, err := zksync.Dial(ctx, []string{p.Addr()}, zksync.WithSessionTimeout(sessionTimeout))
		ok(t, err)
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		ok(t, err)
		offUntilKnown(t, p, s)
		pass(100 * time.Millisecond)
		p.Heal()
		ok(t, s.Ping(ctx))
		ok(t, z.expire(s.ID()))
		get(t, h.Context(ctx).Done())
		free(t, m)
		ok(t, s.Close())
		if text.String() != "" {
			t.Errorf("logged:\n%s", &text)
		}
	})
}

// After a reconnect the program's other watches are set again as of what the
// client had seen when it connected, not of what it has seen since; and however
// many there are.
func TestLesson58_SetWatchesZxid(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		n, changed, queued := 12_000, 600, 16
		if raceEnabled { // the client races with itself here
			n, queued = 1000, 0
		}
		raw, root := z.raw(t), lockPath(t)
		p, s := z.behind(t)
		free(t, zksync.NewMutex(s, root)) // makes the path
		name := func(i int) string { return fmt.Sprintf("%s/%0100d", root, i) }
		inBatches(t, n, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: name(i), Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		var wrong, sets atomic.Int32
		var mu sync.Mutex
		seen := make(map[int64]uint64) // lastZxidSeen of the connect request, by connection
		p.SetHook(func(f zktest.Frame) zktest.Action {
			if f.FromServer {
				return zktest.Pass
			}
			mu.Lock()
			defer mu.Unlock()
			switch f.Op {
			case "connect":
				seen[f.Conn] = binary.BigEndian.Uint64(f.Payload[4:])
			case "setWatches":
				sets.Add(1)
				if z := binary.BigEndian.Uint64(f.Payload[8:]); z == 0 || z != seen[f.Conn] {
					wrong.Add(1)
				}
			}
			return zktest.Pass
		})
		events := make([]<-chan zk.Event, n)
		c := s.Conn()
		together(t, 32, func(k int) error {
			for i := k; i < n; i += 32 {
				_, _, ch, err := c.ChildrenW(name(i))
				if err != nil {
					return err
				}
				events[i] = ch
			}
			return nil
		})
		offUntilKnown(t, p, s)
		inBatches(t, changed, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: name(i) + "/child", Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		// Requests that are waiting are answered before the watches are set.
		var wg sync.WaitGroup
		for range queued {
			wg.Go(func() { c.Exists(root) })
		}
		pass(100 * time.Millisecond)
		p.Heal()
		lost := 0
		for i, all := 0, brieflyFor(t, patience/2); i < changed; i++ {
			select {
			case <-events[i]:
			case <-all.Done():
				if len(events[i]) == 0 {
					lost++
				}
			}
		}
		wg.Wait()
		if lost > 0 || wrong.Load() > 0 || sets.Load() < 2 {
			t.Errorf("%d of %d events lost; %d of %d SetWatches with a wrong zxid", lost, changed, wrong.Load(), sets.Load())
		}
	})
}

// inBatches calls f for 0 to n, a hundred at a time.
func inBatches(t *testing.T, n int, f func(from, to int) error) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		ok(t, f(from, min(from+100, n)))
	}
}

// A list beyond what the client takes by default does not end the connection.
func TestLesson60_LongList(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		const n = 8000 // names of 200 bytes: more than 1.5 MB
		ctx, path, raw := short(t), lockPath(t), z.raw(t)
		s := z.dial(t)
		m := zksync.NewMutex(s, path)
		free(t, m)
		inBatches(t, n, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: fmt.Sprintf("%s/%0200d", path, i), Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		h, err := m.Hold(ctx)
		ok(t, err)
		ok(t, h.Release(ctx))
		if n := s.Stats().Disconnects; n != 0 {
			t.Errorf("%d disconnects", n)
		}
	})
}

// With the servers down Close is bounded, and nobody dials any more; nor does
// the client that the session had, whatever it is asked.
func TestLesson61_CloseWithServersDown(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		for name, fault := range map[string]func(*zktest.Proxy){
			"Refused": off,
			"Silent":  func(p *zktest.Proxy) { p.Blackhole(true, true); p.Cut() },
			"Stuck":   func(p *zktest.Proxy) { p.Blackhole(true, true) },
		} {
			t.Run(name, func(t *testing.T) {
				var w wires
				p := z.proxied(t)
				s, err := zksync.Dial(short(t), []string{p.Addr()},
					zksync.WithSessionTimeout(sessionTimeout), zksync.WithDialer(w.dial))
				ok(t, err)
				c := s.Conn()
				fault(p)
				within(t, 5*time.Second, func() { ok(t, s.Close()) })
				p.Heal()
				n := w.count()
				asked := async(func() error {
					_, err := c.Create("/late", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
					return err
				})
				if err := get(t, asked); err == nil {
					t.Error("a closed session's client carried out a request")
				}
				pass(overrun)
				if late := w.count() - n; late != 0 {
					t.Errorf("%d dials after Close", late)
				}
				if m := zksync.NewMutex(s, lockPath(t)); m.TryLock() {
					t.Error("TryLock on a closed session")
				}
			})
		}
	})
}

// wedge sends credentials by a client's own AddAuth and then makes the write
// that repeats them on the next connection fail, which locks the client up.
func wedge(t *testing.T, s *zksync.Session, p *zktest.Proxy, w *wires) {
	t.Helper()
	ok(t, s.Conn().AddAuth("digest", []byte("somebody:secret")))
	last := w.count()
	var failed atomic.Bool
	w.onWrite(func(conn int, frame []byte) error {
		const auth = 100
		if conn > last && len(frame) >= 12 && binary.BigEndian.Uint32(frame[8:]) == auth && failed.CompareAndSwap(false, true) {
			return errInjected
		}
		return nil
	})
	p.Cut()
	eventually(t, "the client has failed to repeat the credentials", failed.Load)
}

// A client that has locked up is replaced: its holds are lost first, the calls
// that wait go on, and it never dials again.
func TestLesson62_LockedUpClientIsReplaced(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		ctx, path := short(t), lockPath(t)
		var w wires
		p, s := z.behind(t, zksync.WithSessionTimeout(time.Second), zksync.WithDialer(w.dial))
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		ok(t, err)
		ok(t, zksync.NewMutex(s, path+"-plain").LockContext(ctx))
		held := h.Context(ctx)
		old := s.Conn()
		wedge(t, s, p, &w)
		next := async(func() grant {
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			return grant{hold: h, err: err}
		})
		within(t, s.Timeout()/2, func() { get(t, held.Done()) })
		eventually(t, "the client is replaced", func() bool { return s.Conn() != old })
		g := get(t, next)
		ok(t, g.err)
		if g.hold.Fence() <= h.Fence() {
			t.Errorf("fence %d came after fence %d", g.hold.Fence(), h.Fence())
		}
		isError(t, zksync.NewMutex(s, path+"-plain").UnlockContext(ctx), zksync.ErrLost)

		n := w.count()
		async(func() error { // waits for ever in the old client, or fails
			_, err := old.Create(path+"/late", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			return err
		})
		pass(overrun)
		if late := w.count() - n; late != 0 {
			t.Errorf("%d dials by the client that was given up", late)
		}
		if there, _, err := z.raw(t).Exists(path + "/late"); there || err != nil {
			t.Errorf("a request of the client that was given up was carried out (%v)", err)
		}
		ok(t, g.hold.Release(ctx))
	})
}

// Credentials given with WithAuth survive a write that fails when they are
// repeated.
func TestAuthSurvivesFailedWrites(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, path := short(t), lockPath(t)
		var w wires
		p, s := z.behind(t, zksync.WithDialer(w.dial), zksync.WithAuth("digest", []byte("me:secret")),
			zksync.WithLockDefaults(zksync.WithACL(zk.AuthACL(zk.PermAll)...)))
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		ok(t, err)
		c, last := s.Conn(), w.count()
		var writes atomic.Int32
		w.onWrite(func(conn int, _ []byte) error {
			if conn > last && conn <= last+3 && writes.Add(1)%2 == 0 {
				return errInjected // the second frame of a connection: the credentials
			}
			return nil
		})
		start, n := time.Now(), s.Stats().Connects
		p.Cut()
		eventually(t, "the connection is there again", func() bool { return s.Stats().Connects > n })
		t.Logf("three failed writes cost %v", time.Since(start))
		if got := w.count() - last; got != 4 {
			t.Errorf("%d connections, want 4", got)
		}
		ok(t, h.Release(ctx)) // refused without the credentials
		free(t, m)
		if s.Conn() != c {
			t.Error("the client was replaced")
		}
	})
}

// One address: reconnecting does not cost the client's second of waiting.
func TestReconnectTakesNoSecond(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p, s := z.behind(t)
		ok(t, s.Ping(short(t)))
		for range 5 {
			n := s.Stats().Disconnects
			p.Cut()
			eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
			start := time.Now()
			ok(t, s.Ping(short(t)))
			if took := time.Since(start); took > overrun {
				t.Errorf("an answer took %v after a cut", took)
			}
		}
	})
}

// Names are resolved at each dial: the dialer gets them as they were given.
func TestNamesAreResolvedAtEachDial(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		var w wires
		p := z.proxied(t)
		_, port, err := net.SplitHostPort(p.Addr())
		ok(t, err)
		name := "zookeeper.example:" + port // nothing resolves this
		w.open = func(addr string) (net.Conn, error) { return net.Dial("tcp", p.Addr()) }
		s := dialTo(t, []string{name}, zksync.WithDialer(w.dial))
		p.Cut()
		eventually(t, "another dial", func() bool { return w.count() > 1 })
		ok(t, s.Ping(short(t)))
		for _, addr := range w.addrs() {
			if addr != name {
				t.Errorf("the dialer was asked for %s, want %s", addr, name)
			}
		}
		if _, err := zksync.Dial(brieflyFor(t, overrun), []string{"nowhere.invalid:1"}); err == nil ||
			!strings.Contains(err.Error(), "nowhere.invalid") {
			t.Errorf("dial to a name that does not exist: %v", err)
		}
	})
}

func brieflyFor(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
