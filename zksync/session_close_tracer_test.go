package zksync_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
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

// A program may close its session when the tracer reports that the connection is lost.
func TestCloseWhenToldOfTheSession(t *testing.T) {
	t.Parallel()
	for _, by := range enders {
		t.Run(by.name, func(t *testing.T) {
			suite.Parallel(t)
			suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
				var s atomic.Pointer[zksync.Session]
				rec, took := suite.NewRecorder(t), make(chan time.Duration, 1)
				tr := rec.Tracer()
				tr.Session = func(e zksync.SessionEvent) {
					rec.Mu.Lock()
					rec.Events = append(rec.Events, e)
					rec.Mu.Unlock()
					if e.State == zksync.StateExpired {
						start := time.Now()
						if err := by.end(s.Load()); err != nil {
							t.Error(err)
						}
						took <- time.Since(start)
					}
				}
				p := z.Path(t)
				s.Store(z.Dial(t, zksync.WithTracer(tr)))
				m := zksync.NewMutex(s.Load(), p)
				_, err := m.Hold(suite.Context(t))
				suite.Must(t, err)
				suite.Must(t, z.Expire(s.Load().ID()))
				if d := suite.Receive(t, took); d > closeLimit {
					t.Errorf("%s took %v", by.name, d)
				}
				suite.IsError(t, s.Load().Ping(suite.Context(t)), zksync.ErrClosed)
				rec.Tells(t, "the end of the session is told", func() bool {
					return rec.Events[len(rec.Events)-1].State == zksync.StateClosed
				})
				rec.Balanced(t)
				z.Empty(t, p)
			}, suite.Timeless)
		})
	}
}

// Any function of the tracer may close the session, except those within a call that wants
// a lock. It returns in time, and so does the call that runs it.
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
			suite.Must(t, zksync.NewMutex(s, "/l").Do(suite.Context(t), func(context.Context, *zksync.Hold) error {
				time.Sleep(time.Second) // until its node is watched
				return nil
			}))
		}},
		{"end of permits", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			sem := zksync.NewSemaphore(s, "/l", 3)
			suite.Must(t, sem.Acquire(suite.Context(t), 1))
			sem.Release(1)
		}},
		{"end of several permits", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			sem := zksync.NewSemaphore(s, "/l", 3)
			suite.Must(t, sem.Acquire(suite.Context(t), 1))
			suite.Must(t, sem.Acquire(suite.Context(t), 1))
			sem.Release(2)
		}},
		{"end of readers", "HoldEnd", func(t *testing.T, _ *zktest.Server, s *zksync.Session) {
			rw := zksync.NewRWMutex(s, "/l")
			rw.RLock()
			rw.RUnlock()
		}},
		{"end by loss", "HoldEnd", func(t *testing.T, srv *zktest.Server, s *zksync.Session) {
			_, err := zksync.NewMutex(s, "/l").Hold(suite.Context(t))
			suite.Must(t, err)
			srv.Expire(s.ID())
		}},
		{"begin of a release", "ReleaseStart", unlock},
		{"end of the deletion", "ReleaseEnd", unlock},
		{"cleanup", "Cleanup", unlock},
	} {
		for _, by := range enders {
			t.Run(tt.name+"/"+by.name, func(t *testing.T) {
				suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
					srv := z.Server
					rec, took := suite.NewRecorder(t), make(chan time.Duration, 1)
					s := z.Via(t, srv.Dial, zksync.WithTracer(rec.Tracer()))
					rec.Tells(t, "the session stands", func() bool { return len(rec.Events) == 1 })
					var first atomic.Bool
					rec.On(func(name string) {
						if name == tt.at && first.CompareAndSwap(false, true) {
							start := time.Now()
							if err := by.end(s); err != nil {
								t.Errorf("%s: %v", by.name, err)
							}
							took <- time.Since(start)
						}
					})
					over := suite.Async(func() bool { tt.run(t, srv, s); return true })
					if d := suite.Receive(t, took); d > closeLimit {
						t.Errorf("%s took %v", by.name, d)
					}
					suite.Receive(t, over)
					rec.Tells(t, "the end of the session is told", func() bool {
						return rec.Events[len(rec.Events)-1].State == zksync.StateClosed
					})
					rec.Balanced(t)
					suite.AtRest(t, s)
					if left := srv.Children("/l"); len(left) != 0 {
						t.Errorf("left: %v", left)
					}
				})
			})
		}
	}
}
