package zksync_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// isClientClosed checks that an error says that the program has closed its client.
func isClientClosed(t testing.TB, err error) {
	t.Helper()
	if e := suite.IsError(t, err, zksync.ErrClosed); e.ErrorType() != "closed" || !strings.Contains(err.Error(), "the program has closed its ZooKeeper client") {
		t.Errorf("%s: %v", e.ErrorType(), err)
	}
}

// When a program closes the client that it gave to NewSession, what waits ends with an
// error that says so, and so does whatever comes after; what is held is lost by the
// clock, if it is not given back before.
func TestProgramClosesItsClient(t *testing.T) {
	suite.Beside(t)
	run := func(t *testing.T, client *zk.Conn, timeout time.Duration, other *zksync.Session, at string) {
		ctx := suite.Context(t)
		s, err := zksync.NewSession(client, timeout, suite.TellsLine())
		suite.Must(t, err)
		suite.Must(t, s.Ping(ctx))
		held, err := zksync.NewMutex(s, at+"-held").Hold(ctx)
		suite.Must(t, err)
		suite.LockAndUnlock(t, zksync.NewMutex(other, at))
		blocker, err := zksync.NewMutex(other, at).Hold(ctx)
		suite.Must(t, err)
		m := zksync.NewMutex(s, at)
		wctx, waits := suite.Watched(ctx)
		inLine := suite.Async(func() error { return m.LockContext(wctx) })
		suite.Receive(t, waits)
		behind := suite.Async(func() any { return suite.PanicOf(m.Lock) })

		suite.Within(t, timeout/2, func() {
			client.Close()
			isClientClosed(t, suite.Receive(t, inLine))
			err, _ = suite.Receive(t, behind).(error)
			isClientClosed(t, err)
		})
		for _, call := range suite.Calls {
			for _, l := range []zksync.Locker{m, zksync.NewMutex(s, at+"-other"), zksync.NewMulti(m, zksync.NewMutex(s, at+"-other"))} {
				_, err := call.Take(ctx, l)
				isClientClosed(t, err)
			}
		}
		isClientClosed(t, s.Ping(ctx))
		_, err = s.Inspect(ctx, at)
		isClientClosed(t, err)
		if m.TryLock() {
			t.Error("TryLock")
		}
		suite.Receive(t, held.Context(ctx).Done())
		suite.IsError(t, held.Release(ctx), zksync.ErrLost)
		suite.Must(t, blocker.Release(ctx))
		s.Close() // what had been held has no answer
		if st := s.Stats(); st.Waiting != 0 || st.Held != 0 {
			t.Errorf("%+v", st)
		}
		suite.LockAndUnlock(t, zksync.NewMutex(other, at+"-held")) // the end of the session
	}
	t.Run("VirtualTime", func(t *testing.T) {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			srv := z.Server
			client, events, err := zk.Connect([]string{"10.0.0.1"}, suite.VirtualTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(suite.Mute{}), zk.WithLogInfo(false))
			suite.Must(t, err)
			run(t, client, suite.VirtualTimeout, z.Via(t, srv.Dial), "/l")
			suite.Drain(events)
		})
	})
	t.Run("Network", func(t *testing.T) {
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			run(t, z.Client(t), suite.SessionTimeout, z.Dial(t), z.Path(t))
		})
	})
	// While it has no connection, and before it has had one.
	for name, before := range map[string]func(srv *zktest.Server){
		"Disconnected":   func(srv *zktest.Server) { time.Sleep(time.Second); srv.Refuse(); srv.DisconnectAll() },
		"NeverConnected": nil,
		"Silent":         func(srv *zktest.Server) { time.Sleep(time.Second); srv.Blackhole() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				srv := zktest.Run(t)
				if before == nil {
					srv.Refuse()
				}
				client, events, err := zk.Connect([]string{"10.0.0.1"}, suite.VirtualTimeout, zk.WithDialer(srv.Dial), zk.WithLogger(suite.Mute{}), zk.WithLogInfo(false))
				suite.Must(t, err)
				s, err := zksync.NewSession(client, suite.VirtualTimeout)
				suite.Must(t, err)
				if before != nil {
					before(srv)
				}
				waits := suite.Async(func() error { return zksync.NewMutex(s, "/l").LockContext(suite.Context(t)) })
				time.Sleep(suite.VirtualTimeout)
				select {
				case err := <-waits:
					t.Errorf("ended before the client was closed: %v", err)
				default:
				}
				client.Close()
				isClientClosed(t, suite.Receive(t, waits))
				late, err := zksync.NewSession(client, suite.VirtualTimeout)
				suite.Must(t, err)
				isClientClosed(t, zksync.NewMutex(late, "/l").LockContext(suite.Context(t)))
				suite.Must(t, late.Close())
				// What the client was asked for may be on its way.
				if err := s.Close(); err != nil && (before == nil || !strings.Contains(err.Error(), "created perhaps")) {
					t.Error(err)
				}
				srv.Heal()
				suite.Drain(events)
			})
		})
	}
}

// A session on a program's client that reconnects again and again costs no more of it
// each time, whatever it watches.
func TestReconnectsOfAClientPileUpNothing(t *testing.T) {
	suite.Long(t)
	if race.Enabled {
		t.Skip("the client races with itself when it sets its watches again, here without the race detector only")
	}
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		const locks, times = 30, 3
		ctx, at, other := suite.Context(t), z.Path(t), z.Dial(t)
		p := z.Proxied(t)
		behind := *z
		behind.Servers = []string{p.Addr()}
		s := behind.Adapt(t, suite.TellsLine())
		var done []<-chan error
		wctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for i := range locks {
			_, err := zksync.NewMutex(s, fmt.Sprint(at, "-held", i)).Hold(ctx)
			suite.Must(t, err)
			suite.Must(t, zksync.NewMutex(other, fmt.Sprint(at, i)).LockContext(ctx))
			m := zksync.NewMutex(s, fmt.Sprint(at, i))
			done = append(done, suite.Async(func() error {
				if err := m.LockContext(wctx); err != nil {
					return err
				}
				return m.UnlockContext(ctx)
			}))
		}
		suite.AwaitWaiting(t, s, locks)
		atRestNow := func() int {
			suite.SleepReal(suite.SessionTimeout / 4) // all is watched again, and looked at once more
			return runtime.NumGoroutine()
		}
		atFirst := atRestNow()
		for range times {
			n := s.Stats().Connects
			p.DisconnectAll()
			suite.Eventually(t, "connected again", func() bool { return s.Stats().Connects > n })
		}
		if n := atRestNow(); n > atFirst+10 {
			t.Errorf("%d goroutines after %d reconnects, %d before", n, times, atFirst)
		}
		for i := range locks { // the watches report it
			suite.Must(t, zksync.NewMutex(other, fmt.Sprint(at, i)).UnlockContext(ctx))
		}
		suite.Within(t, suite.Soon, func() {
			for _, d := range done {
				suite.Must(t, suite.Receive(t, d))
			}
		})
	})
}
