package lessons_test

import (
	"fmt"
	"log"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A thousand sessions in one process.
func TestManySessions(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		n := suite.Runs(1000)
		if race.Enabled {
			n = 50 // the race detector keeps books on every byte
		}
		ctx, path := suite.Context(t), z.Path(t)
		sessions := make([]*zksync.Session, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		suite.Together(t, n, func(i int) (err error) {
			sessions[i], err = zksync.Dial(ctx, z.Servers, zksync.WithSessionTimeout(suite.SecondsTimeout))
			return err
		})
		if t.Failed() {
			return
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		t.Logf("%d sessions: %d KiB of heap each", n, (int64(after.HeapAlloc)-int64(before.HeapAlloc))/int64(n)>>10)
		suite.Together(t, n, func(i int) error {
			m := zksync.NewMutex(sessions[i], fmt.Sprint(path, "-", i%20))
			if err := m.LockContext(ctx); err != nil {
				return err
			}
			return m.UnlockContext(ctx)
		})
		suite.CloseAll(t, sessions)
	})
}

// Nothing is written to the program's log unasked.
func TestQuietByDefault(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		var text suite.Notes
		out, flags := log.Writer(), log.Flags()
		log.SetOutput(&text) // slog.Default writes there, too
		defer func() { log.SetOutput(out); log.SetFlags(flags) }()
		ctx, path := suite.Context(t), z.Path(t)
		p := z.Proxied(t)
		s, err := zksync.Dial(ctx, []string{p.Addr()}, zksync.WithSessionTimeout(suite.SessionTimeout))
		suite.Must(t, err)
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		suite.CutOffUntilKnown(t, p, s)
		suite.SleepReal(100 * time.Millisecond)
		p.Heal()
		suite.Must(t, s.Ping(ctx))
		suite.Must(t, z.Expire(s.ID()))
		suite.Receive(t, h.Context(ctx).Done())
		suite.LockAndUnlock(t, m)
		suite.Must(t, s.Close())
		if text.String() != "" {
			t.Errorf("logged:\n%s", &text)
		}
	})
}

// With the servers down Close is bounded, and nobody dials any more; nor does
// the client that the session had, whatever it is asked.
func TestCloseWithServersDown(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, fault := range map[string]func(*ensemble.Proxy){
			"Refused": suite.CutOff,
			"Silent":  func(p *ensemble.Proxy) { p.Blackhole(); p.DisconnectAll() },
			"Stuck":   func(p *ensemble.Proxy) { p.Blackhole() },
		} {
			t.Run(name, func(t *testing.T) {
				var w suite.Wires
				p := z.Proxied(t)
				s, err := zksync.Dial(suite.Context(t), []string{p.Addr()},
					zksync.WithSessionTimeout(suite.SessionTimeout), suite.WithDialer(w.Dial))
				suite.Must(t, err)
				c := s.Conn()
				fault(p)
				suite.Within(t, 5*time.Second, func() { suite.Must(t, s.Close()) })
				p.Heal()
				n := w.Count()
				asked := suite.Async(func() error {
					_, err := c.Create("/late", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
					return err
				})
				if err := suite.Receive(t, asked); err == nil {
					t.Error("a closed session's client carried out a request")
				}
				suite.SleepReal(suite.Overrun)
				if late := w.Count() - n; late != 0 {
					t.Errorf("%d dials after Close", late)
				}
				if m := zksync.NewMutex(s, z.Path(t)); m.TryLock() {
					t.Error("TryLock on a closed session")
				}
			})
		}
	})
}

// A client that has locked up is replaced: its holds are lost first, the calls
// that wait go on, and it never dials again.
func TestLockedUpClientIsReplaced(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, path := suite.Context(t), z.Path(t)
		var w suite.Wires
		p, s := z.Behind(t, zksync.WithSessionTimeout(time.Second), suite.WithDialer(w.Dial))
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, zksync.NewMutex(s, path+"-plain").LockContext(ctx))
		held := h.Context(ctx)
		old := s.Conn()
		suite.Wedge(t, s, p, &w)
		next := suite.Async(func() suite.Grant {
			h, err := zksync.NewMutex(s, path).Hold(ctx)
			return suite.Grant{Hold: h, Err: err}
		})
		suite.Within(t, s.Timeout()/2, func() { suite.Receive(t, held.Done()) })
		suite.Eventually(t, "the client is replaced", func() bool { return s.Conn() != old })
		g := suite.Receive(t, next)
		suite.Must(t, g.Err)
		if g.Hold.Fence() <= h.Fence() {
			t.Errorf("fence %d came after fence %d", g.Hold.Fence(), h.Fence())
		}
		suite.IsError(t, zksync.NewMutex(s, path+"-plain").UnlockContext(ctx), zksync.ErrLost)

		n := w.Count()
		suite.Async(func() error { // waits for ever in the old client, or fails
			_, err := old.Create(path+"/late", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			return err
		})
		suite.SleepReal(suite.Overrun)
		if late := w.Count() - n; late != 0 {
			t.Errorf("%d dials by the client that was given up", late)
		}
		if there, _, err := z.Raw(t).Exists(path + "/late"); there || err != nil {
			t.Errorf("a request of the client that was given up was carried out (%v)", err)
		}
		suite.Must(t, g.Hold.Release(ctx))
	})
}

// Credentials given with WithAuth survive a write that fails when they are
// repeated.
func TestAuthSurvivesFailedWrites(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, path := suite.Context(t), z.Path(t)
		var w suite.Wires
		p, s := z.Behind(t, suite.WithDialer(w.Dial), zksync.WithAuth("digest", []byte("me:secret")),
			zksync.WithLockDefaults(zksync.WithACL(zk.AuthACL(zk.PermAll)...)))
		m := zksync.NewMutex(s, path)
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		c, last := s.Conn(), w.Count()
		var writes atomic.Int32
		w.OnWrite(func(conn int, _ []byte) error {
			if conn > last && conn <= last+3 && writes.Add(1)%2 == 0 {
				return suite.ErrInjected // the second frame of a connection: the credentials
			}
			return nil
		})
		start, n := time.Now(), s.Stats().Connects
		p.DisconnectAll()
		suite.Eventually(t, "the connection is there again", func() bool { return s.Stats().Connects > n })
		t.Logf("three failed writes cost %v", time.Since(start))
		if got := w.Count() - last; got != 4 {
			t.Errorf("%d connections, want 4", got)
		}
		suite.Must(t, h.Release(ctx)) // refused without the credentials
		suite.LockAndUnlock(t, m)
		if s.Conn() != c {
			t.Error("the client was replaced")
		}
	})
}

// With one address, a reconnection does not wait for the client's second.
func TestReconnectTakesNoSecond(t *testing.T) {
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		p, s := z.Behind(t)
		suite.Must(t, s.Ping(suite.Context(t)))
		for range 5 {
			n := s.Stats().Disconnects
			p.DisconnectAll()
			suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
			suite.Within(t, 0, func() { suite.Must(t, s.Ping(suite.Context(t))) })
		}
	})
}

// Names are resolved at each dial: the dialer gets them as they were given.
func TestNamesAreResolvedAtEachDial(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var w suite.Wires
		p := z.Proxied(t)
		_, port, err := net.SplitHostPort(p.Addr())
		suite.Must(t, err)
		name := "zookeeper.example:" + port // nothing resolves this
		w.Open = func(addr string) (net.Conn, error) { return net.Dial("tcp", p.Addr()) }
		s := suite.DialTo(t, []string{name}, suite.WithDialer(w.Dial))
		p.DisconnectAll()
		suite.Eventually(t, "another dial", func() bool { return w.Count() > 1 })
		suite.Must(t, s.Ping(suite.Context(t)))
		for _, addr := range w.Addrs() {
			if addr != name {
				t.Errorf("the dialer was asked for %s, want %s", addr, name)
			}
		}
		if _, err := zksync.Dial(suite.BrieflyFor(t, suite.Overrun), []string{"nowhere.invalid:1"}); err == nil ||
			!strings.Contains(err.Error(), "nowhere.invalid") {
			t.Errorf("dial to a name that does not exist: %v", err)
		}
	})
}
