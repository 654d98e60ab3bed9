package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// closeLimit is the longest that Close takes.
const closeLimit = 5 * time.Second

// enders are the ways to end a session.
var enders = []struct {
	name string
	end  func(s *zksync.Session) error
}{
	{"Close", (*zksync.Session).Close},
	{"Shutdown", func(s *zksync.Session) error { return s.Shutdown(context.Background()) }},
}

// A program may close its session when it is told that the connection is lost.
func TestCloseWhenToldOfTheSession(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		for _, by := range enders {
			t.Run(by.name, func(t *testing.T) {
				t.Parallel()
				var s atomic.Pointer[zksync.Session]
				rec, took := new(recorder), make(chan time.Duration, 1)
				tr := rec.tracer()
				tr.Session = func(e zksync.SessionEvent) {
					rec.mu.Lock()
					rec.events = append(rec.events, e)
					rec.mu.Unlock()
					if e.State == zksync.StateExpired {
						start := time.Now()
						if err := by.end(s.Load()); err != nil {
							t.Error(err)
						}
						took <- time.Since(start)
					}
				}
				p := lockPath(t)
				s.Store(z.dial(t, zksync.WithTracer(tr)))
				m := zksync.NewMutex(s.Load(), p)
				_, err := m.Hold(short(t))
				ok(t, err)
				ok(t, z.expire(s.Load().ID()))
				if d := get(t, took); d > closeLimit {
					t.Errorf("%s took %v", by.name, d)
				}
				isError(t, s.Load().Ping(short(t)), zksync.ErrClosed)
				rec.tells(t, "the end of the session is told", func() bool {
					return rec.events[len(rec.events)-1].State == zksync.StateClosed
				})
				rec.balanced(t)
				z.empty(t, p)
			})
		}
	})
}

// Whatever function of the tracer closes the session, but those within a call that
// wants a lock, returns in time, and so does what runs it.
func TestCloseWithinTheTracer(t *testing.T) {
	unlock := func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
		m := zksync.NewMutex(s, "/l")
		m.Lock()
		m.Unlock()
	}
	for _, tt := range []struct {
		name, at string
		run      func(t *testing.T, srv *zktest.Server, s *zksync.Session)
	}{
		{"session", "Session", func(_ *testing.T, srv *zktest.Server, s *zksync.Session) { srv.Disconnect(s.ID()) }},
		{"end of an unlock", "HoldEnd", unlock},
		{"end of a release", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			ok(t, zksync.NewMutex(s, "/l").Do(short(t), func(context.Context, *zksync.Hold) error {
				time.Sleep(time.Second) // until its node is watched
				return nil
			}))
		}},
		{"end of permits", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			sem := zksync.NewSemaphore(s, "/l", 3)
			ok(t, sem.Acquire(short(t), 1))
			sem.Release(1)
		}},
		{"end of several permits", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			sem := zksync.NewSemaphore(s, "/l", 3)
			ok(t, sem.Acquire(short(t), 1))
			ok(t, sem.Acquire(short(t), 1))
			sem.Release(2)
		}},
		{"end of readers", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			rw := zksync.NewRWMutex(s, "/l")
			rw.RLock()
			rw.RUnlock()
		}},
		{"end by loss", "HoldEnd", func(t *testing.T, srv *zktest.Server, s *zksync.Session) {
			_, err := zksync.NewMutex(s, "/l").Hold(short(t))
			ok(t, err)
			srv.Expire(s.ID())
		}},
		{"begin of a release", "ReleaseStart", unlock},
		{"end of the deletion", "ReleaseEnd", unlock},
		{"cleanup", "Cleanup", unlock},
	} {
		for _, by := range enders {
			t.Run(tt.name+"/"+by.name, func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
					rec, took := new(recorder), make(chan time.Duration, 1)
					s, err := zksync.Dial(short(t), []string{"10.0.0.1"}, zksync.WithDialer(srv.Dial),
						zksync.WithSessionTimeout(virtualTimeout), zksync.WithTracer(rec.tracer()))
					ok(t, err)
					t.Cleanup(func() { s.Close() })
					rec.tells(t, "the session stands", func() bool { return len(rec.events) == 1 })
					var first atomic.Bool
					rec.on(func(name string) {
						if name == tt.at && first.CompareAndSwap(false, true) {
							start := time.Now()
							if err := by.end(s); err != nil {
								t.Errorf("%s: %v", by.name, err)
							}
							took <- time.Since(start)
						}
					})
					over := async(func() bool { tt.run(t, srv, s); return true })
					if d := get(t, took); d > closeLimit {
						t.Errorf("%s took %v", by.name, d)
					}
					get(t, over)
					rec.tells(t, "the end of the session is told", func() bool {
						return rec.events[len(rec.events)-1].State == zksync.StateClosed
					})
					rec.balanced(t)
					atRest(t, s)
					if left := srv.Children("/l"); len(left) != 0 {
						t.Errorf("left: %v", left)
					}
				})
			})
		}
	}
}
