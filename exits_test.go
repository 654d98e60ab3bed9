package zksync_test

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
)

// exit is the ground on which a call ends in some way.
type exit struct {
	z       *site
	c       *zk.Conn
	s       *zksync.Session // the call's
	m       lockable        // what it takes
	local   lockable        // what keeps it out within its session
	blocker lockable        // the same on another session
	path    string
	more    []string // paths, of a Multi
	rec     *recorder
	take    func(ctx context.Context) (func(context.Context) error, error)
	try     bool
	// bare: permits without a handle, whose errors are x/sync's.
	bare bool
}

// own is the call's node.
func (x *exit) own(t *testing.T) string {
	t.Helper()
	for _, n := range children(t, x.c, x.path) {
		_, st, err := x.c.Exists(x.path + "/" + n)
		ok(t, err)
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
	ok(t, x.blocker.LockContext(short(t)))
	result = async(func() error {
		release, err := x.take(ctx)
		if err == nil {
			err = release(context.Background())
		}
		return err
	})
	lineOf(t, x.c, x.path, 2)
	return result
}

// exits are all the ways in which a call that wants a lock can end.
var exits = []struct {
	name string
	try  bool // also for calls that don't wait
	run  func(t *testing.T, x *exit)
}{
	{"granted", true, func(t *testing.T, x *exit) {
		release, err := x.take(short(t))
		ok(t, err)
		ok(t, release(short(t)))
	}},
	{"granted after a wait", false, func(t *testing.T, x *exit) {
		result := x.wait(t, short(t))
		x.blocker.Unlock()
		ok(t, get(t, result))
	}},
	{"refused", true, func(t *testing.T, x *exit) {
		if !x.try {
			return
		}
		x.blocker.Lock()
		if _, err := x.take(short(t)); !errors.Is(err, zksync.ErrBusy) && err != errRefused {
			t.Error(err)
		}
		x.blocker.Unlock()
	}},
	{"cancelled", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancelCause(context.Background())
		result := x.wait(t, ctx)
		cancel(errCause)
		x.fails(t, get(t, result), context.Canceled, errCause)
		x.blocker.Unlock()
	}},
	{"cancelled before its turn in the session", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancel(context.Background())
		x.local.Lock()
		result := async(func() error { _, err := x.take(ctx); return err })
		waiting(t, x.s, 1)
		cancel()
		x.fails(t, get(t, result), context.Canceled)
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
		result := x.wait(t, short(t))
		ok(t, x.c.Delete(x.own(t), -1))
		x.blocker.Unlock()
		ok(t, get(t, result)) // it stood in line again
	}},
	{"node deleted while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(short(t))
		ok(t, err)
		ok(t, x.c.Delete(x.own(t), -1))
		x.fails(t, release(short(t)), zksync.ErrLost)
	}},
	{"session expired while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, short(t))
		ok(t, x.z.expire(x.s.ID()))
		eventually(t, "another session stands", func() bool { return x.s.Stats().Connects > 1 })
		x.blocker.Unlock()
		ok(t, get(t, result))
	}},
	{"session expired while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(short(t))
		ok(t, err)
		ok(t, x.z.expire(x.s.ID()))
		x.fails(t, release(short(t)), zksync.ErrLost)
	}},
	{"closed while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, short(t))
		ok(t, x.s.Close())
		x.fails(t, get(t, result), zksync.ErrClosed)
		x.blocker.Unlock()
	}},
	{"closed while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(short(t))
		ok(t, err)
		ok(t, x.s.Close())
		x.fails(t, release(short(t)), zksync.ErrLost, zksync.ErrClosed)
	}},
}

// After every exit of every call nothing is left: no node, no watch, no
// clean-up under way, no span; and the next lock works.
func TestExits(t *testing.T) {
	countsWatches(t)
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		blocker := z.dial(t)
		for _, call := range calls {
			for _, tt := range exits {
				if call.try && !tt.try {
					continue
				}
				if slow := strings.HasPrefix(tt.name, "session expired"); slow && z.adapted && (call.try || call.name == "Do") {
					continue // the client itself takes seconds to come back
				}
				t.Run(call.name+"/"+tt.name, func(t *testing.T) {
					before := z.watchCount(t)
					rec := new(recorder)
					p := lockPath(t)
					s := z.dial(t, zksync.WithTracer(rec.tracer()))
					m := zksync.NewMutex(s, p)
					x := &exit{
						z: z, c: c, s: s, path: p, rec: rec, try: call.try,
						m: m, local: m, blocker: zksync.NewMutex(blocker, p),
						take: func(ctx context.Context) (func(context.Context) error, error) { return call.take(ctx, m) },
					}
					tt.run(t, x)
					nothingLeft(t, x)
					eventually(t, fmt.Sprintf("the server has %d watches, as before", before), func() bool {
						n, err := z.watches()
						return err == nil && n <= before
					})
				})
			}
		}
	})
}

func nothingLeft(t *testing.T, x *exit) {
	t.Helper()
	atRest(t, x.s)
	x.rec.balanced(t)
	x.rec.mu.Lock()
	res, ends := x.rec.result, x.rec.ends
	x.rec.mu.Unlock()
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
	free(t, x.blocker)
	if x.s.Ping(short(t)) == nil {
		free(t, x.m)
		atRest(t, x.s)
	}
	x.rec.balanced(t)
}

// A panic in any function of the tracer gives everything back.
func TestPanicInTracer(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		blocker := z.dial(t)
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
				rec := new(recorder)
				p := lockPath(t)
				s := z.dial(t, zksync.WithTracer(rec.tracer()))
				m := zksync.NewMutex(s, p)
				x := &exit{z: z, c: c, s: s, path: p, rec: rec, m: m, blocker: zksync.NewMutex(blocker, p)}
				for _, call := range calls[:4] { // Do runs in a goroutine there
					atRest(t, s)
					tripped := make(chan struct{}, 100)
					if tt.name == "Blocked" || tt.name == "Handoff" {
						if call.try || call.hold && tt.name == "Handoff" {
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
					rec.on(func(name string) {
						if name == tt.name {
							tripped <- struct{}{}
							panic("in " + name)
						}
					})
					got := panicOf(func() {
						release, err := call.take(short(t), m)
						if err != nil {
							t.Errorf("%s: %v", call.name, err)
							return
						}
						release(short(t))
					})
					if tt.name == "Cleanup" { // told beside the deletion, not before it
						eventually(t, "Cleanup was called", func() bool { return len(tripped) > 0 })
					}
					rec.on(nil)
					want := any("in " + tt.name)
					if tt.logged || tt.name == "HoldContext" {
						want = nil
					}
					if got != want {
						t.Errorf("%s: panic with %v, want %v", call.name, got, want)
					}
					if len(tripped) == 0 && tt.name != "HoldContext" && tt.name != "Session" {
						t.Errorf("%s: %s was not called", call.name, tt.name)
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
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		p := lockPath(t)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		m := zksync.NewMutex(s, p)
		for _, name := range []string{"AcquireStart", "HoldStart", "AcquireEnd", "HoldContext", "ReleaseStart"} {
			rec.on(func(at string) {
				if at == name {
					panic("in " + name)
				}
			})
			panics(t, "in "+name, func() {
				m.Do(short(t), func(context.Context, *zksync.Hold) error { return nil })
			})
			rec.on(nil)
			atRest(t, s)
			rec.balanced(t)
			free(t, m)
		}
		z.empty(t, p)
	})
}
