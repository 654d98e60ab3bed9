package zksync_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// notes returns a log at level Info, and the option that has a session write to it.
func notes() (*suite.Notes, zksync.Option) {
	n := new(suite.Notes)
	return n, zksync.WithLogger(slog.New(slog.NewTextHandler(n, nil)))
}

// defaultNotes is the default logger until the end of the test.
func defaultNotes(t *testing.T) *suite.Notes {
	n := new(suite.Notes)
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(n, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	return n
}

// wantLines checks how many lines of the log hold all of the texts.
func wantLines(t *testing.T, log *suite.Notes, n int, texts ...string) {
	t.Helper()
	if got := log.Count(texts...); got != n {
		t.Errorf("%d lines with %q, want %d, in\n%s", got, texts, n, log)
	}
}

// refusing dials in memory, and is refused by the server with the address that it is told.
func refusing(z *suite.Ground, until time.Time) func(string, string, time.Duration) (net.Conn, error) {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		if time.Now().Before(until) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError("connection refused to " + addr)}
		}
		return z.Server.Dial(network, addr, timeout)
	}
}

// While no connection comes there is one warning, after two seconds, with the reason of
// each server.
func TestLogsThatNoConnectionComes(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		log, to := notes()
		done := suite.Async(func() *zksync.Session {
			return z.Via(t, refusing(z, time.Now().Add(20*time.Second)), to)
		})
		time.Sleep(2*time.Second - time.Nanosecond)
		wantLines(t, log, 0, "")
		time.Sleep(time.Second)
		wantLines(t, log, 1, "level=WARN", "no connection to ZooKeeper yet", "after=2s", "10.0.0.1:2181: ", "connection refused")
		time.Sleep(16 * time.Second)
		wantLines(t, log, 1, "level=WARN")
		<-done
		time.Sleep(time.Second)
		wantLines(t, log, 1, "level=INFO", "connected to ZooKeeper", "server=10.0.0.1:2181", "session_timeout=9s")
	})
}

// Without WithLogger the default logger gets the warnings, and no more.
func TestLogsTroubleToTheDefaultLogger(t *testing.T) {
	log := defaultNotes(t)
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s, err := zksync.Dial(t.Context(), []string{"10.0.0.1"}, suite.WithDialer(refusing(z, time.Now().Add(3*time.Second))))
		suite.Must(t, err)
		defer s.Close()
		time.Sleep(time.Second)
		z.Server.Refuse()
		z.Server.DisconnectAll()
		time.Sleep(5 * time.Second)
		z.Server.Heal()
		time.Sleep(5 * time.Second)
		wantLines(t, log, 1, "level=WARN", "no connection to ZooKeeper yet")
		wantLines(t, log, 1, "level=WARN", "the contact with ZooKeeper is lost")
		wantLines(t, log, 2, "")
	})
}

// A third of the session timeout after the contact was lost there is a warning, which says
// how many locks without a handle may be lost, and from when on.
func TestLogsThatTheContactIsLost(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Server){
		"closed":  func(s *zktest.Server) { s.Refuse(); s.DisconnectAll() },
		"stalled": func(s *zktest.Server) { s.Blackhole() },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				log, to := notes()
				s := z.Via(t, z.Server.Dial, to)
				zksync.NewMutex(s, z.Path(t)).Lock()
				zksync.NewRWMutex(s, z.Path(t)).RLock()
				if _, err := zksync.NewMutex(s, z.Path(t)).Hold(t.Context()); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				lose(z.Server)
				time.Sleep(suite.VirtualTimeout/3 - time.Second)
				wantLines(t, log, 0, "level=WARN", "is lost")
				time.Sleep(suite.VirtualTimeout)
				wantLines(t, log, 1, "level=WARN", "the contact with ZooKeeper is lost: locks without a handle may be lost",
					"plain_locks=2", "10.0.0.1:2181: ")
				from := began.Add(suite.VirtualTimeout).Format("lost_from=2006-01-02T15:04:05")
				wantLines(t, log, 1, from)
				time.Sleep(time.Hour)
				z.Server.Heal()
				time.Sleep(time.Minute)
				wantLines(t, log, 1, "level=WARN", "contact")
				wantLines(t, log, 1, "level=INFO", "connected to ZooKeeper again, with a new session")
			})
		})
	}
}

// A connection that is back soon is not worth a line, and one that goes again and again
// fills no log.
func TestLogsOfAFlappingConnection(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		log, to := notes()
		s := z.Via(t, z.Server.Dial, to)
		for range 10 {
			z.Server.DisconnectAll()
			time.Sleep(time.Second)
		}
		wantLines(t, log, 1, "")
		wantLines(t, log, 1, "level=INFO", "connected to ZooKeeper", "session=")
		for range 10 {
			z.Server.Refuse()
			z.Server.DisconnectAll()
			time.Sleep(4 * time.Second)
			z.Server.Heal()
			time.Sleep(2 * time.Second)
		}
		wantLines(t, log, 1, "level=WARN", "contact")
		wantLines(t, log, 1, "level=INFO", "again, with the same session")
		// An outage that goes on is told late rather than never.
		z.Server.Refuse()
		z.Server.DisconnectAll()
		time.Sleep(time.Minute)
		wantLines(t, log, 2, "level=WARN", "contact")
		z.Server.Heal()
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t)))
	})
}

// A session on a client of the program's logs its disconnects, too.
func TestLogsTheContactOfAnAdaptedClient(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		log, to := notes()
		s := z.Adapt(t, to)
		time.Sleep(time.Second)
		wantLines(t, log, 1, "level=INFO", "connected to ZooKeeper", "session=")
		z.Server.Refuse()
		z.Server.DisconnectAll()
		time.Sleep(s.Timeout())
		z.Server.Heal()
		wantLines(t, log, 1, "level=WARN", "the contact with ZooKeeper is lost")
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t)))
	})
}

// A session timeout that the servers have not granted as asked is logged once.
func TestLogsAnotherSessionTimeout(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for ask, lines := range map[time.Duration]int{23 * time.Hour: 1, suite.SessionTimeout: 0} {
			log, to := notes()
			s := suite.DialTo(t, z.Servers, zksync.WithSessionTimeout(ask), to)
			wantLines(t, log, lines, "level=WARN", "another session timeout", "asked=", "granted="+s.Timeout().String())
		}
	})
}

// A logger that blocks delays no lock.
func TestABlockedLoggerDelaysNothing(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		h := blockedHandler{make(chan struct{})}
		defer close(h.c)
		s := z.Via(t, z.Server.Dial, zksync.WithLogger(slog.New(h)))
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t)))
	})
}

type blockedHandler struct{ c chan struct{} }

func (h blockedHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h blockedHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "connected") {
		<-h.c
	}
	return nil
}
func (h blockedHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h blockedHandler) WithGroup(string) slog.Handler      { return h }

// A TryLock that fails says why in the log, once in a while, unless somebody else has the
// lock.
func TestLogsWhyTryLockFails(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		log, to := notes()
		s := z.Via(t, z.Server.Dial, to)
		other, p := z.Dial(t), z.Path(t)
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, z.Path(t), 1)
		held := zksync.NewMutex(other, p)
		held.Lock()
		if m.TryLock() {
			t.Error("TryLock of a held lock")
		}
		held.Unlock()
		time.Sleep(time.Second)
		wantLines(t, log, 0, "level=WARN")
		z.Server.Refuse()
		z.Server.DisconnectAll()
		time.Sleep(time.Second)
		for range 100 {
			if m.TryLock() || sem.TryAcquire(1) || zksync.NewMutex(s, "no-slash").TryLock() {
				t.Error("a lock without a connection")
			}
		}
		wantLines(t, log, 3, "level=WARN", "a lock was not taken")
		wantLines(t, log, 1, "a lock was not taken", "path="+p+" ", "not connected")
		wantLines(t, log, 1, "a lock was not taken", "path="+sem.Path(), "not connected")
		wantLines(t, log, 1, "a lock was not taken", "path=no-slash", "invalid path")
		time.Sleep(time.Minute)
		if m.TryLock() {
			t.Error("a lock without a connection")
		}
		wantLines(t, log, 1, "a lock was not taken", "path="+p+" ", "left_out=99")
		z.Server.Heal()
		suite.LockAndUnlock(t, m)
	})
}

// The contact that is lost and comes back shows in the log on every server.
func TestLogsContactLostAndBack(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		log, to := notes()
		way, s := z.Through(t, to)
		m := zksync.NewMutex(s, z.Path(t))
		m.Lock()
		way.Refuse()
		way.DisconnectAll()
		suite.Eventually(t, "a warning", func() bool {
			return log.Count("level=WARN", "contact with ZooKeeper is lost", "plain_locks=1", "servers=") == 1
		})
		way.Heal()
		suite.Must(t, s.Ping(suite.Context(t)))
		suite.Eventually(t, "it is back", func() bool { return log.Count("level=INFO", "connected to ZooKeeper again") == 1 })
		m.Unlock()
	}, suite.Timeless)
}
