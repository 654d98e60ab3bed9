package exits_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A panic in any function of the tracer gives everything back.
func TestPanicInTracer(t *testing.T) {
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		for _, tt := range []struct {
			name   string
			logged bool // not in the caller's goroutine: logged
			held   bool // by the time it comes the call has succeeded
		}{
			{name: "AcquireStart"}, {name: "Blocked"}, {name: "Handoff"}, {name: "HoldStart"}, {name: "AcquireEnd"},
			{name: "HoldContext", held: true}, {name: "ReleaseStart", held: true},
			{name: "HoldEnd", logged: true}, {name: "ReleaseEnd", logged: true}, {name: "Cleanup", logged: true},
			{name: "Parent", logged: true}, {name: "Session", logged: true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				x := newExit(t, z, suite.Kinds[0], suite.Taking{})
				s, m, rec := x.s, x.Lock.(*zksync.Mutex), x.rec
				for _, call := range suite.Calls[:4] { // Do runs in a goroutine there
					suite.AtRest(t, s)
					tripped := make(chan struct{}, 100)
					if tt.name == "Blocked" || tt.name == "Handoff" {
						if call.Try || call.Hold && tt.name == "Handoff" {
							continue
						}
						m.Lock() // so that the call has somebody to wait for
						if tt.name == "Handoff" {
							go func() {
								for s.Stats().Waiting == 0 {
									time.Sleep(time.Millisecond)
								}
								m.Unlock()
							}()
						}
					}
					rec.On(func(name string) {
						if name == tt.name {
							tripped <- struct{}{}
							panic("in " + name)
						}
					})
					got := suite.PanicOf(func() {
						release, err := call.Take(suite.Context(t), m)
						if err != nil {
							t.Errorf("%s: %v", call.Name, err)
							return
						}
						release(suite.Context(t))
					})
					if tt.name == "Cleanup" { // called beside the deletion, not before it
						suite.Eventually(t, "Cleanup was called", func() bool { return len(tripped) > 0 })
					}
					rec.On(nil)
					want := any("in " + tt.name)
					if tt.logged || tt.name == "HoldContext" {
						want = nil
					}
					if got != want {
						t.Errorf("%s: panic with %v, want %v", call.Name, got, want)
					}
					if len(tripped) == 0 && tt.name != "HoldContext" && tt.name != "Session" {
						t.Errorf("%s: %s was not called", call.Name, tt.name)
					}
					if tt.name == "Blocked" {
						m.Unlock()
					}
				}
				nothingLeft(t, x)
			})
		}
	})
}

// Do gives the lock back when a function of the tracer panics, too.
func TestPanicInTracerInDo(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		p := z.Path(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		m := zksync.NewMutex(s, p)
		for _, name := range []string{"AcquireStart", "HoldStart", "AcquireEnd", "HoldContext", "ReleaseStart"} {
			rec.On(func(at string) {
				if at == name {
					panic("in " + name)
				}
			})
			suite.Panics(t, "in "+name, func() {
				m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { return nil })
			})
			rec.On(nil)
			suite.AtRest(t, s)
			rec.Balanced(t)
			suite.LockAndUnlock(t, m)
		}
		z.Empty(t, p)
	})
}

// A panic in any function of the tracer gives everything back.
func TestPanicInTracerOfEachKind(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, kind := range suite.Kinds[1:] {
			t.Run(kind.Name, func(t *testing.T) {
				x := newExit(t, z, kind, suite.Taking{})
				s, rec := x.s, x.rec
				for _, call := range kind.Takings {
					if call.Name == "Do" || call.Name == "TryDo" {
						continue // they run in a goroutine there
					}
					for _, at := range []string{"AcquireStart", "Blocked", "HoldStart", "AcquireEnd", "ReleaseStart", "HoldEnd", "ReleaseEnd", "Parent"} {
						var blocked bool
						switch {
						case at != "Blocked":
						case call.Try:
							continue
						default:
							blocked = true
							x.Blocker.Lock()
						}
						rec.On(func(name string) {
							if name == at {
								panic("in " + name)
							}
						})
						got := suite.PanicOf(func() {
							release, err := call.Take(suite.Context(t), x.Subject)
							if err != nil {
								t.Errorf("%s: %v", call.Name, err)
								return
							}
							release(suite.Context(t))
						})
						want := any("in " + at)
						if at == "HoldEnd" || at == "ReleaseEnd" || at == "Parent" {
							want = nil // not in the caller's goroutine: logged
						}
						if got != want {
							t.Errorf("%s: panic with %v, want %v", call.Name, got, want)
						}
						suite.AtRest(t, s)
						rec.On(nil)
						if blocked {
							x.unblock(t)
						}
						nothingLeft(t, x)
					}
				}
			})
		}
	})
}

// A reader that leaves by a panic takes nobody along with whom it shares a node.
func TestPanicOfOneReader(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, raw, rec := z.Path(t), z.Raw(t), suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		rw := zksync.NewRWMutex(s, p)
		rw.RLock()
		node := suite.NodeOf(t, raw, p, s)
		for _, at := range []string{"AcquireStart", "AcquireEnd", "Handoff"} {
			rec.On(func(name string) {
				if name == at {
					panic("in " + name)
				}
			})
			suite.Panics(t, "in "+at, rw.RLock)
			rec.On(nil)
			if got := suite.NodeOf(t, raw, p, s); got != node {
				t.Errorf("%s: node %s, was %s", at, got, node)
			}
		}
		if zksync.NewRWMutex(z.Dial(t), p).TryLock() {
			t.Error("a writer beside the reader that is left")
		}
		rw.RUnlock()
		suite.Panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
		suite.AtRest(t, s)
		rec.Balanced(t)
		z.Empty(t, p)
	})
}

// Each hold is reported once, whichever calls share it or enter it again, in whatever
// order they leave.
func TestFamilyTracer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
		rw := zksync.NewRWMutex(s, z.Path(t))
		o := zksync.NewOwner("o")
		for name, l := range map[string]zksync.Locker{
			"read, shared": rw.RLocker(), "read, by an owner": rw.RLocker().As(o), "write, by an owner": rw.As(o),
		} {
			rec.Reset()
			for range 3 {
				l.Lock()
			}
			for range 3 {
				l.Unlock()
			}
			suite.AtRest(t, s)
			rec.Balanced(t)
			rec.Mu.Lock()
			got := strings.Join(rec.Log, ", ")
			rec.Mu.Unlock()
			if n := strings.Count(got, "hold,"); n != 1 {
				t.Errorf("%s: %d tenures begun: %s", name, n, got)
			}
			if n := strings.Count(got, "hold end"); n != 1 {
				t.Errorf("%s: %d tenures ended: %s", name, n, got)
			}
		}
		// Those who give back need not be those who took.
		sem := zksync.NewSemaphore(s, z.Path(t), 8)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if err := sem.Acquire(suite.Context(t), 2); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				sem.Release(1)
				time.Sleep(time.Millisecond)
				sem.Release(1)
			})
		}
		wg.Wait()
		suite.AtRest(t, s)
		rec.Balanced(t)
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
	})
}

// Do gives everything back when a function of the tracer panics, too.
func TestPanicInTracerInDoOfEachKind(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec := suite.NewRecorder(t)
		s, p := z.Dial(t, zksync.WithTracer(rec.Tracer())), z.Path(t)
		rw := zksync.NewRWMutex(s, p)
		multi := zksync.NewMulti(rw.RLocker(), zksync.NewMutex(s, p+"-2"))
		sem := zksync.NewSemaphore(s, p+"-3", 2)
		work := func(context.Context, *zksync.Hold) error { return nil }
		for name, do := range map[string]func() error{
			"write":   func() error { return rw.Do(suite.Context(t), work) },
			"read":    func() error { return rw.RLocker().Do(suite.Context(t), work) },
			"multi":   func() error { return multi.Do(suite.Context(t), work) },
			"permits": func() error { return sem.Do(suite.Context(t), 2, work) },
		} {
			for _, at := range []string{"AcquireStart", "HoldStart", "AcquireEnd", "HoldContext", "ReleaseStart"} {
				rec.On(func(name string) {
					if name == at {
						panic("in " + name)
					}
				})
				if got := suite.PanicOf(func() { do() }); got != "in "+at {
					t.Errorf("%s: panic with %v, want in %s", name, got, at)
				}
				rec.On(nil)
				suite.AtRest(t, s)
				rec.Balanced(t)
				suite.Must(t, do())
			}
			suite.Panics(t, "work", func() {
				work := func(context.Context, *zksync.Hold) error { panic("work") }
				switch name {
				case "permits":
					sem.Do(suite.Context(t), 2, work)
				default:
					map[string]zksync.Locker{"write": rw, "read": rw.RLocker(), "multi": multi}[name].Do(suite.Context(t), work)
				}
			})
		}
		suite.AtRest(t, s)
		for _, p := range []string{p, p + "-2", p + "-3"} {
			z.Empty(t, p)
		}
	})
}
