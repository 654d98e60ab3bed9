package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// The exits of exits_test.go for the rest of the family: readers, writers,
// permits, several locks.

// After every exit nothing is left, and the next call works.
func TestFamilyExits(t *testing.T) {
	countsWatches(t)
	onSessions(t, func(t *testing.T, z *site) {
		c, other := z.raw(t), z.dial(t)
		before := z.watchCount(t)
		for _, k := range kin {
			for i := range k.set(&exit{s: other, path: "/x"}, other) {
				for _, tt := range exits {
					p := lockPath(t)
					rec := new(recorder)
					x := &exit{z: z, c: c, path: p, rec: rec}
					name := func(call taking) string { return k.name + "/" + call.name + "/" + tt.name }
					call := k.set(&exit{s: other, path: "/x"}, other)[i]
					if call.try && !tt.try {
						continue
					}
					slow := strings.HasPrefix(tt.name, "session expired") // the client itself takes seconds to come back
					if z.adapted && (call.try || call.name == "Do" || slow && !(k.name == "permits" && call.name == "Hold")) {
						continue
					}
					t.Run(name(call), func(t *testing.T) {
						x.s = z.dial(t, zksync.WithTracer(rec.tracer()))
						call := k.set(x, other)[i]
						x.take, x.try, x.bare = call.take, call.try, call.bare
						tt.run(t, x)
						nothingLeft(t, x)
					})
				}
			}
			eventually(t, fmt.Sprintf("after %s the server has %d watches, as before", k.name, before), func() bool {
				n, err := z.watches()
				return err == nil && n <= before
			})
		}
	})
}

// A panic in any function of the tracer gives everything back.
func TestFamilyExits_PanicInTracer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		c, other := z.raw(t), z.dial(t)
		for _, k := range kin {
			t.Run(k.name, func(t *testing.T) {
				rec := new(recorder)
				s := z.dial(t, zksync.WithTracer(rec.tracer()))
				x := &exit{z: z, c: c, s: s, path: lockPath(t), rec: rec}
				for _, call := range k.set(x, other) {
					if call.name == "Do" {
						continue // it runs in a goroutine there
					}
					for _, at := range []string{"AcquireStart", "Blocked", "HoldStart", "AcquireEnd", "ReleaseStart", "HoldEnd", "ReleaseEnd", "Parent"} {
						var blocked bool
						switch {
						case at != "Blocked":
						case call.try:
							continue
						default:
							blocked = true
							x.blocker.Lock()
						}
						rec.on(func(name string) {
							if name == at {
								panic("in " + name)
							}
						})
						got := panicOf(func() {
							release, err := call.take(short(t))
							if err != nil {
								t.Errorf("%s: %v", call.name, err)
								return
							}
							release(short(t))
						})
						want := any("in " + at)
						if at == "HoldEnd" || at == "ReleaseEnd" || at == "Parent" {
							want = nil // not in the caller's goroutine: logged
						}
						if got != want {
							t.Errorf("%s: panic with %v, want %v", call.name, got, want)
						}
						atRest(t, s)
						rec.on(nil)
						if blocked {
							x.blocker.Unlock()
						}
						nothingLeft(t, x)
					}
				}
			})
		}
	})
}

// A reader that leaves by a panic takes nobody along with whom it shares a node.
func TestFamilyExits_PanicOfOneReader(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p, raw, rec := lockPath(t), z.raw(t), new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		rw := zksync.NewRWMutex(s, p)
		rw.RLock()
		node := nodeOf(t, raw, p, s)
		for _, at := range []string{"AcquireStart", "AcquireEnd", "Handoff"} {
			rec.on(func(name string) {
				if name == at {
					panic("in " + name)
				}
			})
			panics(t, "in "+at, rw.RLock)
			rec.on(nil)
			if got := nodeOf(t, raw, p, s); got != node {
				t.Errorf("%s: node %s, was %s", at, got, node)
			}
		}
		if zksync.NewRWMutex(z.dial(t), p).TryLock() {
			t.Error("a writer beside the reader that is left")
		}
		rw.RUnlock()
		panics(t, "zksync: RUnlock of a lock that is not locked for reading", rw.RUnlock)
		atRest(t, s)
		rec.balanced(t)
		z.empty(t, p)
	})
}

// Each tenure is told once, whoever shares it or enters it again, in whatever
// order they leave.
func TestFamilyTracer(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		rw := zksync.NewRWMutex(s, lockPath(t))
		o := zksync.NewOwner("o")
		for name, l := range map[string]zksync.Locker{
			"read, shared": rw.RLocker(), "read, by an owner": rw.RLocker().As(o), "write, by an owner": rw.As(o),
		} {
			rec.reset()
			for range 3 {
				l.Lock()
			}
			for range 3 {
				l.Unlock()
			}
			atRest(t, s)
			rec.balanced(t)
			rec.mu.Lock()
			got := strings.Join(rec.log, ", ")
			rec.mu.Unlock()
			if n := strings.Count(got, "hold,"); n != 1 {
				t.Errorf("%s: %d tenures begun: %s", name, n, got)
			}
			if n := strings.Count(got, "hold end"); n != 1 {
				t.Errorf("%s: %d tenures ended: %s", name, n, got)
			}
		}
		// Those who give back need not be those who took.
		sem := zksync.NewSemaphore(s, lockPath(t), 8)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if err := sem.Acquire(short(t), 2); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				sem.Release(1)
				time.Sleep(time.Millisecond)
				sem.Release(1)
			})
		}
		wg.Wait()
		atRest(t, s)
		rec.balanced(t)
		if n := s.Stats().Losses; n != 0 {
			t.Errorf("%d losses", n)
		}
	})
}

// Do gives everything back when a function of the tracer panics, too.
func TestFamilyExits_PanicInDo(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s, p := z.dial(t, zksync.WithTracer(rec.tracer())), lockPath(t)
		rw := zksync.NewRWMutex(s, p)
		multi := zksync.NewMulti(rw.RLocker(), zksync.NewMutex(s, p+"-2"))
		sem := zksync.NewSemaphore(s, p+"-3", 2)
		work := func(context.Context, *zksync.Hold) error { return nil }
		for name, do := range map[string]func() error{
			"write":   func() error { return rw.Do(short(t), work) },
			"read":    func() error { return rw.RLocker().Do(short(t), work) },
			"multi":   func() error { return multi.Do(short(t), work) },
			"permits": func() error { return sem.Do(short(t), 2, work) },
		} {
			for _, at := range []string{"AcquireStart", "HoldStart", "AcquireEnd", "HoldContext", "ReleaseStart"} {
				rec.on(func(name string) {
					if name == at {
						panic("in " + name)
					}
				})
				if got := panicOf(func() { do() }); got != "in "+at {
					t.Errorf("%s: panic with %v, want in %s", name, got, at)
				}
				rec.on(nil)
				atRest(t, s)
				rec.balanced(t)
				ok(t, do())
			}
			panics(t, "work", func() {
				work := func(context.Context, *zksync.Hold) error { panic("work") }
				switch name {
				case "permits":
					sem.Do(short(t), 2, work)
				default:
					map[string]zksync.Locker{"write": rw, "read": rw.RLocker(), "multi": multi}[name].Do(short(t), work)
				}
			})
		}
		atRest(t, s)
		for _, p := range []string{p, p + "-2", p + "-3"} {
			z.empty(t, p)
		}
	})
}
