package exits_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// exit is the ground on which a call ends in some way.
type exit struct {
	z       *suite.Ground
	c       *zk.Conn
	s       *zksync.Session // the call's
	m       suite.Lockable  // what it takes
	local   suite.Lockable  // what keeps it out within its session
	blocker suite.Lockable  // the same on another session
	path    string
	more    []string // paths, of a Multi
	rec     *suite.Recorder
	take    func(ctx context.Context) (func(context.Context) error, error)
	try     bool
	// bare: permits without a handle, whose errors are x/sync's.
	bare bool
}

// own is the call's node.
func (x *exit) own(t *testing.T) string {
	t.Helper()
	for _, n := range suite.Children(t, x.c, x.path) {
		_, st, err := x.c.Exists(x.path + "/" + n)
		suite.Must(t, err)
		if st.EphemeralOwner == x.s.ID() {
			return x.path + "/" + n
		}
	}
	t.Fatal("the call has no node")
	return ""
}

// wait has the call wait in line behind the blocker.
func (x *exit) wait(t *testing.T, ctx context.Context) (result <-chan error) {
	t.Helper()
	suite.Must(t, x.blocker.LockContext(suite.Context(t)))
	result = suite.Async(func() error {
		release, err := x.take(ctx)
		if err == nil {
			err = release(context.Background())
		}
		return err
	})
	suite.InLine(t, x.c, x.path, 2)
	return result
}

// exits are all the ways in which a call that wants a lock can end.
var exits = []struct {
	name string
	try  bool // also for calls that don't wait
	run  func(t *testing.T, x *exit)
}{
	{"granted", true, func(t *testing.T, x *exit) {
		release, err := x.take(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, release(suite.Context(t)))
	}},
	{"granted after a wait", false, func(t *testing.T, x *exit) {
		result := x.wait(t, suite.Context(t))
		x.blocker.Unlock()
		suite.Must(t, suite.Receive(t, result))
	}},
	{"refused", true, func(t *testing.T, x *exit) {
		if !x.try {
			return
		}
		x.blocker.Lock()
		if _, err := x.take(suite.Context(t)); !errors.Is(err, zksync.ErrBusy) && err != suite.ErrRefused {
			t.Error(err)
		}
		x.blocker.Unlock()
	}},
	{"cancelled", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancelCause(context.Background())
		result := x.wait(t, ctx)
		cancel(suite.ErrCause)
		x.fails(t, suite.Receive(t, result), context.Canceled, suite.ErrCause)
		x.blocker.Unlock()
	}},
	{"cancelled before its turn in the session", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancel(context.Background())
		x.local.Lock()
		result := suite.Async(func() error { _, err := x.take(ctx); return err })
		suite.AwaitWaiting(t, x.s, 1)
		cancel()
		x.fails(t, suite.Receive(t, result), context.Canceled)
		x.local.Unlock()
	}},
	{"deadline", false, func(t *testing.T, x *exit) {
		x.blocker.Lock()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		_, err := x.take(ctx)
		x.fails(t, err, context.DeadlineExceeded)
		if e, is := err.(*zksync.Error); is && !e.Timeout() {
			t.Errorf("%#v", e)
		}
		x.blocker.Unlock()
	}},
	{"node deleted while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, suite.Context(t))
		suite.Must(t, x.c.Delete(x.own(t), -1))
		x.blocker.Unlock()
		suite.Must(t, suite.Receive(t, result)) // it stood in line again
	}},
	{"node deleted while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, x.c.Delete(x.own(t), -1))
		x.fails(t, release(suite.Context(t)), zksync.ErrLost)
	}},
	{"session expired while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, suite.Context(t))
		suite.Must(t, x.z.Expire(x.s.ID()))
		suite.Eventually(t, "another session stands", func() bool { return x.s.Stats().Connects > 1 })
		x.blocker.Unlock()
		suite.Must(t, suite.Receive(t, result))
	}},
	{"session expired while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, x.z.Expire(x.s.ID()))
		x.fails(t, release(suite.Context(t)), zksync.ErrLost)
	}},
	{"closed while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, suite.Context(t))
		suite.Must(t, x.s.Close())
		x.fails(t, suite.Receive(t, result), zksync.ErrClosed)
		x.blocker.Unlock()
	}},
	{"closed while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, x.s.Close())
		x.fails(t, release(suite.Context(t)), zksync.ErrLost, zksync.ErrClosed)
	}},
}

// After every exit of every call nothing is left: no node, no watch, no
// clean-up under way, no span; and the next lock works.
func TestExits(t *testing.T) {
	suite.CountsWatches(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		blocker := z.Dial(t)
		for _, call := range suite.Calls {
			for _, tt := range exits {
				if call.Try && !tt.try {
					continue
				}
				if slow := strings.HasPrefix(tt.name, "session expired"); slow && z.Adapted && (call.Try || call.Name == "Do") {
					continue // the client itself takes seconds to come back
				}
				t.Run(call.Name+"/"+tt.name, func(t *testing.T) {
					before := z.WatchCount(t)
					rec := new(suite.Recorder)
					p := suite.Path(t)
					s := z.Dial(t, zksync.WithTracer(rec.Tracer()))
					m := zksync.NewMutex(s, p)
					x := &exit{
						z: z, c: c, s: s, path: p, rec: rec, try: call.Try,
						m: m, local: m, blocker: zksync.NewMutex(blocker, p),
						take: func(ctx context.Context) (func(context.Context) error, error) { return call.Take(ctx, m) },
					}
					tt.run(t, x)
					nothingLeft(t, x)
					suite.Eventually(t, fmt.Sprintf("the server has %d watches, as before", before), func() bool {
						n, err := z.Watches()
						return err == nil && n <= before
					})
				})
			}
		}
	})
}

func nothingLeft(t *testing.T, x *exit) {
	t.Helper()
	suite.AtRest(t, x.s)
	x.rec.Balanced(t)
	x.rec.Mu.Lock()
	res, ends := x.rec.Results, x.rec.Ends
	x.rec.Mu.Unlock()
	for _, r := range res {
		if r.Err == nil && path.Dir(r.Node) != x.path || r.Waited <= 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, e := range ends {
		if (e.Reason == zksync.EndUnlocked) != (e.Err == nil) || e.Err != nil && !errors.Is(e.Err, zksync.ErrLost) {
			t.Errorf("%+v", e)
		}
	}
	for _, p := range append(x.more, x.path) {
		names, _, err := x.c.Children(p)
		if len(names) != 0 || err != nil && err != zk.ErrNoNode {
			t.Errorf("left: %v, %v", names, err)
		}
	}
	suite.LockAndUnlock(t, x.blocker)
	if x.s.Ping(suite.Context(t)) == nil {
		suite.LockAndUnlock(t, x.m)
		suite.AtRest(t, x.s)
	}
	x.rec.Balanced(t)
}

// The exits of exits_test.go for the rest of the family: readers, writers,
// permits, several locks.

// After every exit nothing is left, and the next call works.
func TestFamilyExits(t *testing.T) {
	suite.CountsWatches(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c, other := z.Raw(t), z.Dial(t)
		before := z.WatchCount(t)
		for _, k := range kinds {
			for i := range k.set(&exit{s: other, path: "/x"}, other) {
				for _, tt := range exits {
					p := suite.Path(t)
					rec := new(suite.Recorder)
					x := &exit{z: z, c: c, path: p, rec: rec}
					name := func(call taking) string { return k.name + "/" + call.name + "/" + tt.name }
					call := k.set(&exit{s: other, path: "/x"}, other)[i]
					if call.try && !tt.try {
						continue
					}
					slow := strings.HasPrefix(tt.name, "session expired") // the client itself takes seconds to come back
					if z.Adapted && (call.try || call.name == "Do" || slow && !(k.name == "permits" && call.name == "Hold")) {
						continue
					}
					t.Run(name(call), func(t *testing.T) {
						x.s = z.Dial(t, zksync.WithTracer(rec.Tracer()))
						call := k.set(x, other)[i]
						x.take, x.try, x.bare = call.take, call.try, call.bare
						tt.run(t, x)
						nothingLeft(t, x)
					})
				}
			}
			suite.Eventually(t, fmt.Sprintf("after %s the server has %d watches, as before", k.name, before), func() bool {
				n, err := z.Watches()
				return err == nil && n <= before
			})
		}
	})
}

// fails checks the error of a call, or of a release.
func (x *exit) fails(t *testing.T, err error, targets ...error) {
	t.Helper()
	switch {
	case !x.bare:
		suite.IsError(t, err, targets...)
	case targets[0] == zksync.ErrLost:
		if err != nil { // Release has none
			t.Error(err)
		}
		suite.Eventually(t, "the loss is noticed", func() bool { return x.s.Stats().Losses == 1 })
	case targets[0] == zksync.ErrClosed:
		suite.IsError(t, err, targets...)
	case err != targets[0]:
		t.Errorf("%v is not ctx.Err()", err)
	}
}

// taking is a call that takes one of the family, ready to be made.
type taking struct {
	name      string
	try, bare bool
	take      func(ctx context.Context) (release func(context.Context) error, err error)
}

// lockTakings are all calls on a lock.
func lockTakings(l zksync.Locker) (all []taking) {
	for _, c := range suite.Calls {
		all = append(all, taking{name: c.Name, try: c.Try, take: func(ctx context.Context) (func(context.Context) error, error) {
			return c.Take(ctx, l)
		}})
	}
	return all
}

// permitTakings are all calls that take n permits.
func permitTakings(sem *zksync.Semaphore, n int64) []taking {
	back := func(context.Context) error { sem.Release(n); return nil }
	handle := func(h *zksync.Hold, err error) (func(context.Context) error, error) {
		if err != nil {
			return nil, err
		}
		return h.Release, nil
	}
	return []taking{
		{name: "Acquire", bare: true, take: func(ctx context.Context) (func(context.Context) error, error) {
			return back, sem.Acquire(ctx, n)
		}},
		{name: "TryAcquire", bare: true, try: true, take: func(context.Context) (func(context.Context) error, error) {
			if !sem.TryAcquire(n) {
				return nil, suite.ErrRefused
			}
			return back, nil
		}},
		{name: "Hold", take: func(ctx context.Context) (func(context.Context) error, error) { return handle(sem.Hold(ctx, n)) }},
		{name: "TryHold", try: true, take: func(ctx context.Context) (func(context.Context) error, error) {
			return handle(sem.TryHold(ctx, n))
		}},
		{name: "Do", take: func(ctx context.Context) (func(context.Context) error, error) {
			in, out, res := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			go func() {
				res <- sem.Do(ctx, n, func(context.Context, *zksync.Hold) error { close(in); <-out; return nil })
			}()
			select {
			case err := <-res:
				return nil, err
			case <-in:
				return func(context.Context) error { close(out); return <-res }, nil
			}
		}},
	}
}

// kinds are the members of the family: each sets up what is taken on the session
// of x, what keeps that out from the same session, and from another one.
var kinds = []struct {
	name string
	set  func(x *exit, other *zksync.Session) []taking
}{
	{"write", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw, rw, zksync.NewRWMutex(other, x.path)
		return lockTakings(rw)[:3] // the rest is a Mutex's
	}},
	{"write behind a reader", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw, rw.RLocker(), zksync.NewRWMutex(other, x.path).RLocker()
		return lockTakings(rw)[:1] // the rest is as above
	}},
	{"read", func(x *exit, other *zksync.Session) []taking {
		rw := zksync.NewRWMutex(x.s, x.path)
		x.m, x.local, x.blocker = rw.RLocker(), rw, zksync.NewRWMutex(other, x.path)
		return lockTakings(rw.RLocker())
	}},
	{"multi", func(x *exit, other *zksync.Session) []taking {
		more := x.path + "-more"
		x.more = []string{more}
		open := func(s *zksync.Session) zksync.Locker {
			return zksync.NewMulti(zksync.NewMutex(s, x.path), zksync.NewRWMutex(s, more).RLocker())
		}
		m := open(x.s)
		x.m, x.local, x.blocker = m, m, open(other)
		return lockTakings(m)
	}},
	{"permits", func(x *exit, other *zksync.Session) []taking {
		sem := zksync.NewSemaphore(x.s, x.path, 3)
		x.m, x.local, x.blocker = suite.Permits{Semaphore: sem, N: 2}, suite.Permits{Semaphore: sem, N: 3}, suite.Permits{Semaphore: zksync.NewSemaphore(other, x.path, 3), N: 2}
		return permitTakings(sem, 2)
	}},
}
