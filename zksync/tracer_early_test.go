package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Calls that have their result before they ask ZooKeeper are reported to the tracer
// as all others are.

// told is a tracer that records calls: each begins and ends once.
type told struct {
	mu    sync.Mutex
	open  map[int]zksync.AcquireInfo
	next  int
	calls []toldCall
	holds int
	wrong []string
}

type toldCall struct {
	zksync.AcquireInfo
	zksync.AcquireEndInfo
}

type toldKey struct{}

func (o *told) tracer() *zksync.Tracer {
	return &zksync.Tracer{
		AcquireStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.open == nil {
				o.open = make(map[int]zksync.AcquireInfo)
			}
			o.next++
			o.open[o.next] = a
			return context.WithValue(ctx, toldKey{}, o.next)
		},
		Blocked: func(context.Context, zksync.Peer) {},
		AcquireEnd: func(ctx context.Context, a zksync.AcquireInfo, r zksync.AcquireEndInfo) {
			o.mu.Lock()
			defer o.mu.Unlock()
			id, _ := ctx.Value(toldKey{}).(int)
			if begun, ok := o.open[id]; !ok || !reflect.DeepEqual(begun, a) {
				o.wrong = append(o.wrong, fmt.Sprintf("the end of %+v, which began as %+v", a, begun))
			}
			delete(o.open, id)
			o.calls = append(o.calls, toldCall{a, r})
		},
		HoldStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.holds++
			return ctx
		},
	}
}

// everyCall is each way to take a lock, with those that have no error.
func everyCall(ctx context.Context, l zksync.Locker) map[string]func() error {
	all := map[string]func() error{
		"Lock": func() error { err, _ := suite.PanicOf(l.Lock).(error); return err },
		"TryLock": func() error {
			if l.TryLock() {
				return nil
			}
			return suite.ErrRefused
		},
	}
	for _, call := range suite.Calls {
		all[call.Name] = func() error { _, err := call.Take(ctx, l); return err }
	}
	return all
}

// fails makes every call, and checks what the tracer sees of it. target is the
// error, or a part of its text.
func (o *told) fails(t *testing.T, what string, l zksync.Locker, want zksync.AcquireInfo, target any) {
	t.Helper()
	for name, call := range everyCall(suite.Context(t), l) {
		want.Try = strings.HasPrefix(name, "Try")
		o.one(t, what+": "+name, call, want, target)
	}
}

// one makes a call and checks what the tracer sees of it. target is the error,
// or a part of its text, or nil.
func (o *told) one(t *testing.T, what string, call func() error, want zksync.AcquireInfo, target any) {
	t.Helper()
	err := call()
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() { o.calls, o.holds = nil, 0 }()
	if len(o.calls) != 1 || len(o.open) != 0 || o.holds != 0 || len(o.wrong) != 0 {
		t.Fatalf("%s: told of %d calls and %d holds, and %d calls have not ended; %v", what, len(o.calls), o.holds, len(o.open), o.wrong)
	}
	c := o.calls[0]
	if want.Mode == zksync.ModeMulti {
		want.Paths = strings.Split(want.Path, ",")
	}
	if !reflect.DeepEqual(c.AcquireInfo, want) {
		t.Errorf("%s: told of %+v, want %+v", what, c.AcquireInfo, want)
	}
	is := (err == nil) == (target == nil)
	switch target := target.(type) {
	case error:
		is = is && errors.Is(c.Err, target)
	case string:
		is = is && strings.Contains(c.Err.Error(), target)
	default:
		is = is && c.Err == nil
	}
	if !is || c.Node != "" || c.Position != 0 || c.Fence != 0 || c.Handoff || c.Contended || c.Server == "" {
		t.Errorf("%s: told of %+v, want the error %v; the call's is %v", what, c.AcquireEndInfo, target, err)
	}
}

// forget is for calls that are no part of the test.
func (o *told) forget(call func()) {
	call()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls, o.holds = nil, 0
}

func TestCallsThatFailAtOnceAreTold(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		var told told
		s := z.Dial(t, zksync.WithTracer(told.tracer()))
		a, b, rw := zksync.NewMutex(s, p+"/a"), zksync.NewMutex(s, p+"/b"), zksync.NewRWMutex(s, "no/path")
		both, o := zksync.NewMulti(a, b), zksync.NewOwner("o")
		type acquire = zksync.AcquireInfo

		bad := zksync.ErrInvalidPath
		told.fails(t, "invalid path", zksync.NewMutex(s, "/"), acquire{Path: "/", Mode: zksync.ModeMutex}, bad)
		told.fails(t, "of an owner", zksync.NewMutex(s, "/").As(o), acquire{Path: "/", Mode: zksync.ModeMutex, Owner: o}, bad)
		told.fails(t, "to write", rw, acquire{Path: "no/path", Mode: zksync.ModeWrite}, bad)
		told.fails(t, "to read", rw.RLocker(), acquire{Path: "no/path", Mode: zksync.ModeRead}, bad)
		told.fails(t, "in a Multi", zksync.NewMulti(a, rw), acquire{Path: p + "/a,no/path", Mode: zksync.ModeMulti}, bad)
		told.fails(t, "option", zksync.NewMutex(s, p, zksync.WithHandoff(-1)), acquire{Path: p, Mode: zksync.ModeMutex}, "WithHandoff(-1)")
		told.fails(t, "in a Multi", zksync.NewMulti(a, zksync.NewMutex(s, p+"/b", zksync.WithHandoff(-1))),
			acquire{Path: p + "/a," + p + "/b", Mode: zksync.ModeMulti}, "WithHandoff(-1)")

		deadlock := zksync.ErrDeadlock
		told.forget(a.As(o).Lock)
		told.fails(t, "a Multi of what is held", both.As(o), acquire{Path: both.Path(), Mode: zksync.ModeMulti, Owner: o}, deadlock)
		told.forget(a.As(o).Unlock)
		told.forget(both.As(o).Lock)
		told.fails(t, "a part of what is held", b.As(o), acquire{Path: p + "/b", Mode: zksync.ModeMutex, Owner: o}, deadlock)
		told.forget(both.As(o).Unlock)
		told.forget(func() {
			suite.Must(t, both.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error {
				told.forget(func() {})
				told.one(t, "within Do", func() error { return a.LockContext(ctx) }, acquire{Path: p + "/a", Mode: zksync.ModeMutex}, deadlock)
				return nil
			}))
		})

		sem := zksync.NewSemaphore(s, p+"/n", 3)
		permits := func(n int64, try bool) acquire {
			return acquire{Path: p + "/n", Mode: zksync.ModePermit, Weight: n, Try: try}
		}
		hold := func(_ *zksync.Hold, err error) error { return err }
		got := func(got bool) error {
			if !got {
				return suite.ErrRefused
			}
			return nil
		}
		told.one(t, "no permits", func() error { return sem.Acquire(ctx, 0) }, permits(0, false), nil)
		told.one(t, "no permits", func() error { return got(sem.TryAcquire(0)) }, permits(0, true), nil)
		told.one(t, "no permits", func() error { return sem.Acquire(suite.DoneContext(), 0) }, permits(0, false), context.Canceled)
		told.one(t, "a hold of none", func() error { return hold(sem.Hold(ctx, 0)) }, permits(0, false), "a hold of no permits")
		told.one(t, "a hold of none", func() error { return hold(sem.TryHold(ctx, 0)) }, permits(0, true), "a hold of no permits")
		told.one(t, "a hold of none", func() error { return sem.Do(ctx, 0, nil) }, permits(0, false), "a hold of no permits")
		told.one(t, "too many", func() error { return got(sem.TryAcquire(4)) }, permits(4, true), zksync.ErrBusy)
		told.one(t, "too many", func() error { return hold(sem.TryHold(ctx, 4)) }, permits(4, true), zksync.ErrBusy)
		told.one(t, "too many", func() error { return sem.Acquire(suite.DoneContext(), 4) }, permits(4, false), context.Canceled)
		soon, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		told.one(t, "too many", func() error { return hold(sem.Hold(soon, 4)) }, permits(4, false), context.DeadlineExceeded)
		told.one(t, "invalid path", func() error { return zksync.NewSemaphore(s, "", 1).Acquire(ctx, 1) },
			acquire{Mode: zksync.ModePermit, Weight: 1}, bad)

		suite.Must(t, s.Close())
		closed := zksync.ErrClosed
		told.fails(t, "closed", a, acquire{Path: p + "/a", Mode: zksync.ModeMutex}, closed)
		told.fails(t, "closed", both.As(o), acquire{Path: both.Path(), Mode: zksync.ModeMulti, Owner: o}, closed)
		told.one(t, "closed", func() error { return sem.Acquire(ctx, 1) }, permits(1, false), closed)
		told.one(t, "closed", func() error { return sem.Acquire(ctx, 4) }, permits(4, false), closed)
		told.one(t, "closed", func() error { return sem.Acquire(ctx, 0) }, permits(0, false), closed)
		told.one(t, "closed", func() error { return got(sem.TryAcquire(1)) }, permits(1, true), closed)
	})
}

// A TryLock that is false since there is no connection is a call, too.
func TestTryWithoutContactIsTold(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var told told
		p := z.Path(t)
		proxy, s := z.Behind(t, zksync.WithTracer(told.tracer()))
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, p, 1)
		suite.CutOffUntilKnown(t, proxy, s)
		for name, try := range map[string]func() bool{
			"mutex": m.TryLock, "multi": zksync.NewMulti(m).TryLock, "permit": func() bool { return sem.TryAcquire(1) },
		} {
			want := zksync.AcquireInfo{Path: p, Mode: zksync.Mode(name), Try: true}
			if name == "permit" {
				want.Weight = 1
			}
			told.one(t, name, func() error {
				if try() {
					t.Error("locked")
				}
				return suite.ErrRefused
			}, want, zk.ErrNoServer)
		}
		proxy.Heal()
	})
}

// A function of the tracer that panics in such a call leaves nothing behind.
func TestPanicInACallThatFailsAtOnce(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		var r suite.Recorder
		s := z.Dial(t, zksync.WithTracer(r.Tracer()))
		m, sem := zksync.NewMutex(s, p), zksync.NewSemaphore(s, p, 1)
		for _, hook := range []string{"AcquireStart", "AcquireEnd"} {
			r.On(func(name string) {
				if name == hook {
					panic(hook)
				}
			})
			suite.Panics(t, hook, func() { _ = zksync.NewMutex(s, "/").LockContext(ctx) })
			suite.Panics(t, hook, func() { _ = sem.Acquire(ctx, 0) })
			suite.Panics(t, hook, func() { _ = sem.Acquire(suite.DoneContext(), 2) })
			suite.Panics(t, hook, func() { _ = m.LockContext(ctx) })
			r.On(nil)
			r.Balanced(t)
			suite.AtRest(t, s)
		}
		suite.LockAndUnlock(t, m)
		suite.LockAndUnlock(t, suite.Permits{Semaphore: sem, N: 1})
		z.Empty(t, p)
		suite.Must(t, s.Shutdown(ctx)) // nobody is counted in any more
	})
}
