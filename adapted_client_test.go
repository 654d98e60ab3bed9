package zksync_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// isClientClosed checks that an error tells that the program has closed its client.
func isClientClosed(t testing.TB, err error) {
	t.Helper()
	if e := isError(t, err, zksync.ErrClosed); e.ErrorType() != "closed" || !strings.Contains(err.Error(), "the program has closed its ZooKeeper client") {
		t.Errorf("%s: %v", e.ErrorType(), err)
	}
}

// When a program closes the client that it gave to NewSession, what waits ends with an
// error that says so, and so does whatever comes after; what is held is lost by the
// clock, if it is not given back before.
func TestProgramClosesItsClient(t *testing.T) {
	run := func(t *testing.T, client *zk.Conn, timeout time.Duration, other *zksync.Session, at string) {
		ctx := short(t)
		s, err := zksync.NewSession(client, timeout, tellsLine())
		ok(t, err)
		ok(t, s.Ping(ctx))
		held, err := zksync.NewMutex(s, at+"-held").Hold(ctx)
		ok(t, err)
		free(t, zksync.NewMutex(other, at))
		blocker, err := zksync.NewMutex(other, at).Hold(ctx)
		ok(t, err)
		m := zksync.NewMutex(s, at)
		wctx, waits := watched(ctx)
		inLine := async(func() error { return m.LockContext(wctx) })
		get(t, waits)
		behind := async(func() any { return panicOf(m.Lock) })

		start := time.Now()
		client.Close()
		isClientClosed(t, get(t, inLine))
		err, _ = get(t, behind).(error)
		isClientClosed(t, err)
		if took := time.Since(start); took > timeout/2+overrun {
			t.Errorf("the waits ended after %v", took)
		}
		for _, call := range calls {
			for _, l := range []zksync.Locker{m, zksync.NewMutex(s, at+"-other"), zksync.NewMulti(m, zksync.NewMutex(s, at+"-other"))} {
				_, err := call.take(ctx, l)
				isClientClosed(t, err)
			}
		}
		isClientClosed(t, s.Ping(ctx))
		_, err = s.Inspect(ctx, at)
		isClientClosed(t, err)
		if m.TryLock() {
			t.Error("TryLock")
		}
		get(t, held.Context(ctx).Done())
		isError(t, held.Release(ctx), zksync.ErrLost)
		ok(t, blocker.Release(ctx))
		s.Close() // what had been held has no answer
		if st := s.Stats(); st.Waiting != 0 || st.Held != 0 {
			t.Errorf("%+v", st)
		}
		free(t, zksync.NewMutex(other, at+"-held")) // the end of the session
	}
	t.Run("VirtualTime", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := zktest.Run(t)
			client, events, err := zk.Connect([]string{"10.0.0.1"}, virtualTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(mute{}), zk.WithLogInfo(false))
			ok(t, err)
			run(t, client, virtualTimeout, via(t, srv.Dial), "/l")
			drain(events)
		})
	})
	t.Run("Network", func(t *testing.T) {
		onServers(t, func(t *testing.T, z *site) { run(t, z.client(t), sessionTimeout, z.dial(t), lockPath(t)) })
	})
	// While it has no connection, and before it has had one.
	for name, before := range map[string]func(srv *zktest.Server){
		"Disconnected":   func(srv *zktest.Server) { time.Sleep(time.Second); srv.Refuse(true); srv.Disconnect(0) },
		"NeverConnected": nil,
		"Silent":         func(srv *zktest.Server) { time.Sleep(time.Second); srv.Blackhole(true, true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := zktest.Run(t)
				srv.Refuse(before == nil)
				client, events, err := zk.Connect([]string{"10.0.0.1"}, virtualTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(mute{}), zk.WithLogInfo(false))
				ok(t, err)
				s, err := zksync.NewSession(client, virtualTimeout)
				ok(t, err)
				if before != nil {
					before(srv)
				}
				waits := async(func() error { return zksync.NewMutex(s, "/l").LockContext(short(t)) })
				time.Sleep(virtualTimeout)
				select {
				case err := <-waits:
					t.Errorf("ended before the client was closed: %v", err)
				default:
				}
				client.Close()
				isClientClosed(t, get(t, waits))
				late, err := zksync.NewSession(client, virtualTimeout)
				ok(t, err)
				isClientClosed(t, zksync.NewMutex(late, "/l").LockContext(short(t)))
				ok(t, late.Close())
				// What the client was asked for may be on its way.
				if err := s.Close(); err != nil && (before == nil || !strings.Contains(err.Error(), "created perhaps")) {
					t.Error(err)
				}
				srv.Heal()
				drain(events)
			})
		})
	}
}

// A session on a program's client that reconnects again and again costs no more of it
// each time, whatever it watches.
func TestReconnectsOfAClientPileUpNothing(t *testing.T) {
	onServersInTurn(t, func(t *testing.T, z *site) {
		const locks, times = 30, 3
		ctx, at, other := short(t), lockPath(t), z.dial(t)
		p := z.proxied(t)
		behind := *z
		behind.servers = []string{p.Addr()}
		s := behind.adapt(t, tellsLine())
		var done []<-chan error
		wctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for i := range locks {
			_, err := zksync.NewMutex(s, fmt.Sprint(at, "-held", i)).Hold(ctx)
			ok(t, err)
			ok(t, zksync.NewMutex(other, fmt.Sprint(at, i)).LockContext(ctx))
			m := zksync.NewMutex(s, fmt.Sprint(at, i))
			done = append(done, async(func() error {
				if err := m.LockContext(wctx); err != nil {
					return err
				}
				return m.UnlockContext(ctx)
			}))
		}
		waiting(t, s, locks)
		atRestNow := func() int {
			pass(sessionTimeout / 4) // all is watched again, and looked at once more
			return runtime.NumGoroutine()
		}
		atFirst := atRestNow()
		for range times {
			n := s.Stats().Connects
			p.Cut()
			eventually(t, "connected again", func() bool { return s.Stats().Connects > n })
		}
		if n := atRestNow(); n > atFirst+10 {
			t.Errorf("%d goroutines after %d reconnects, %d before", n, times, atFirst)
		}
		for i := range locks { // the watches tell
			ok(t, zksync.NewMutex(other, fmt.Sprint(at, i)).UnlockContext(ctx))
		}
		within(t, soon, func() {
			for _, d := range done {
				ok(t, get(t, d))
			}
		})
	})
}
