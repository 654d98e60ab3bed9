package zksync_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// plain is a lock that is taken without a handle and given back without a result.
type plain struct {
	lock, unlock func()
	hold         func(ctx context.Context) (*zksync.Hold, error) // takes it with a handle, or fails at once
	rest         func()                                          // gives back what unlock leaves; nil: nothing
}

// unlockAll gives everything back.
func (l plain) unlockAll() {
	l.unlock()
	l.unlockRest()
}

func (l plain) unlockRest() {
	if l.rest != nil {
		l.rest()
	}
}

// plains are all that can be given back without a result.
var plains = []struct {
	name string
	of   func(s *zksync.Session, p string) plain
}{
	{"Mutex", func(s *zksync.Session, p string) plain { return plainLock(zksync.NewMutex(s, p)) }},
	{"Owner", func(s *zksync.Session, p string) plain {
		return plainLock(zksync.NewMutex(s, p).As(zksync.NewOwner("o")))
	}},
	{"Write", func(s *zksync.Session, p string) plain { return plainLock(zksync.NewRWMutex(s, p)) }},
	{"Read", func(s *zksync.Session, p string) plain {
		rw := zksync.NewRWMutex(s, p)
		return plain{rw.RLock, rw.RUnlock, rw.RLocker().TryHold, nil}
	}},
	{"Permits", func(s *zksync.Session, p string) plain {
		all := suite.Permits{Semaphore: zksync.NewSemaphore(s, p, 3), N: 3}
		return plain{all.Lock, all.Unlock, func(ctx context.Context) (*zksync.Hold, error) { return all.TryHold(ctx, 3) }, nil}
	}},
	{"PartOfPermits", func(s *zksync.Session, p string) plain {
		all := suite.Permits{Semaphore: zksync.NewSemaphore(s, p, 3), N: 3}
		return plain{all.Lock, func() { all.Release(2) }, func(ctx context.Context) (*zksync.Hold, error) { return all.TryHold(ctx, 2) },
			func() { all.Release(1) }}
	}},
	{"Multi", func(s *zksync.Session, p string) plain {
		return plainLock(zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-2")))
	}},
}

func plainLock(l zksync.Locker) plain { return plain{l.Lock, l.Unlock, l.TryHold, nil} }

// eachPlain runs a test for each of plains.
func eachPlain(t *testing.T, f func(t *testing.T, z *suite.Ground, of func(s *zksync.Session, p string) plain), forms ...suite.Form) {
	t.Parallel()
	for _, tt := range plains {
		t.Run(tt.name, func(t *testing.T) {
			suite.Each(t, func(t *testing.T, z *suite.Ground) { f(t, z, tt.of) }, forms...)
		})
	}
}

// took returns how long f takes. In virtual time that is 0 if f waits for nothing.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// Without an answer, an unlock returns before a third of the session timeout has passed,
// and in virtual time at once. The deletion is followed all the same.
func TestUnlockOfASilentServer(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		network, s := z.Through(t)
		p := z.Path(t)
		l := of(s, p)
		l.lock()
		network.Blackhole(zktest.ToClient)
		if d := took(l.unlock); d >= s.Timeout()/3 || z.Virtual() && d > 0 {
			t.Errorf("waited for %v, with a session timeout of %v", d, s.Timeout())
		}
		if n := s.Stats().CleanupPending; n == 0 {
			t.Error("nobody follows the deletion")
		}
		network.Heal()
		l.unlockRest()
		givenBack(t, z, s, p)
	}, suite.Timeless)
}

// givenBack waits until nothing is left of a lock, and checks that no lock was lost.
func givenBack(t *testing.T, z *suite.Ground, s *zksync.Session, p string) {
	t.Helper()
	suite.AtRest(t, s)
	z.Empty(t, p)
	if n := s.Stats().Losses; n != 0 {
		t.Errorf("%d losses", n)
	}
}

// The next call of the same session comes to the server behind the deletion, whatever the
// network does: a call that does not wait gets the lock.
func TestUnlockThenTryLock(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		_, s := z.Through(t)
		l := of(s, z.Path(t))
		for range 20 {
			l.lock()
			l.unlock()
			h, err := l.hold(suite.Context(t))
			suite.Must(t, err)
			suite.Must(t, h.Release(suite.Context(t)))
			l.unlockRest()
		}
		suite.AtRest(t, s)
	}, suite.Timeless, suite.Smoke)
}

// While there is no connection an unlock does not wait. The nodes go once there is one
// again, and no lock was lost.
func TestUnlockWhileDisconnected(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		network, s := z.Through(t)
		p := z.Path(t)
		l := of(s, p)
		l.lock()
		n := s.Stats().Disconnects
		network.Refuse()
		network.DisconnectAll()
		suite.Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
		if d := took(l.unlock); d >= s.Timeout()/3 || z.Virtual() && d > 0 {
			t.Errorf("waited for %v", d)
		}
		network.Heal()
		l.unlockRest()
		givenBack(t, z, s, p)
		l.lock() // by the same session, in the same session of ZooKeeper
		l.unlockAll()
		suite.AtRest(t, s)
	}, suite.Timeless)
}

// A connection that breaks before the answer leaves it open whether the node is gone. That
// is followed until it is.
func TestUnlockWhoseAnswerIsLost(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		for _, direction := range []zktest.Direction{zktest.ToClient, zktest.ToServer} { // done, and not
			network, s := z.Through(t)
			p := z.Path(t)
			l := of(s, p)
			l.lock()
			network.Blackhole(direction)
			l.unlock()
			suite.SleepReal(10 * time.Millisecond)
			network.DisconnectAll()
			network.Heal()
			l.unlockRest()
			givenBack(t, z, s, p)
		}
	}, suite.Timeless)
}

// A session that expires takes the node with it before the deletion has come to a server:
// that is a loss, which is logged when it is known.
func TestUnlockAndExpiry(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		var log suite.Notes
		network, s := z.Through(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		p := z.Path(t)
		l := of(s, p)
		l.lock()
		network.Blackhole()
		l.unlock()
		suite.Must(t, z.Expire(s.ID()))
		network.Heal()
		l.unlockRest()
		suite.AtRest(t, s)
		suite.Eventually(t, "the loss is logged", func() bool { return log.Count("level=ERROR", "had been lost before", p) > 0 })
		l.lock()
		l.unlockAll()
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}

// A node that somebody has deleted is found out by the unlock. The loss is logged and
// counted, once.
func TestUnlockOfALostLock(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		var log suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		p, raw := z.Path(t), z.Raw(t)
		l := of(s, p)
		l.lock()
		suite.Must(t, raw.Delete(suite.NodeOf(t, raw, p, s), -1))
		l.unlockAll()
		suite.AtRest(t, s)
		suite.Eventually(t, "the loss is logged", func() bool { return log.Count("level=ERROR", "had been lost before", p) > 0 })
		if n := s.Stats().Losses; n != 1 {
			t.Errorf("%d losses", n)
		}
		z.Empty(t, p)
		l.lock()
		l.unlockAll()
		suite.AtRest(t, s)
		if n := log.Count("level=ERROR"); n != 1 && l.rest == nil {
			t.Errorf("%d errors logged:\n%s", n, log.String())
		}
	}, suite.Timeless, suite.Smoke)
}

// On a client of the program an unlock returns once the node is gone, and without an
// answer after a third of the session timeout.
func TestUnlockOnAnAdaptedClient(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		if !z.Adapted {
			return
		}
		for _, tt := range plains {
			s, p := z.Dial(t), z.Path(t)
			l := tt.of(s, p)
			l.lock()
			l.unlockAll()
			if n := s.Stats().CleanupPending; n != 0 {
				t.Errorf("%s: %d deletions are not confirmed", tt.name, n)
			}
		}
	}, suite.Timeless)
	t.Run("Silent", func(t *testing.T) {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			z.Adapted = true
			s := z.Dial(t)
			m := zksync.NewMutex(s, "/l")
			m.Lock()
			z.Server.Blackhole(zktest.ToClient)
			if d := took(m.Unlock); d != s.Timeout()/3 {
				t.Errorf("waited for %v, with a session timeout of %v", d, s.Timeout())
			}
			z.Server.Heal()
			suite.AtRest(t, s)
		})
	})
}
