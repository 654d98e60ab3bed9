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
	suite.Subject
	suite.Taking
	z   *suite.Ground
	c   *zk.Conn
	s   *zksync.Session // the call's
	rec *suite.Recorder
}

// newExit makes a subject of a kind, on a session of its own.
func newExit(t *testing.T, z *suite.Ground, kind suite.Kind, call suite.Taking, opts ...zksync.DialOption) *exit {
	t.Helper()
	rec := suite.NewRecorder(t)
	x := &exit{z: z, rec: rec, Taking: call, c: z.Raw(t), s: z.Dial(t, append(opts, zksync.WithTracer(rec.Tracer()))...)}
	x.Subject = kind.New(x.s, z.Dial(t), z.Path(t))
	return x
}

// take makes the call.
func (x *exit) take(ctx context.Context) (release func(context.Context) error, err error) {
	return x.Take(ctx, x.Subject)
}

// own is the call's node.
func (x *exit) own(t *testing.T) string {
	t.Helper()
	for _, n := range suite.Children(t, x.c, x.Paths[0]) {
		_, st, err := x.c.Exists(x.Paths[0] + "/" + n)
		suite.Must(t, err)
		if st.EphemeralOwner == x.s.ID() {
			return x.Paths[0] + "/" + n
		}
	}
	t.Fatal("the call has no node")
	return ""
}

// wait has the call wait in line behind the blocker.
func (x *exit) wait(t *testing.T, ctx context.Context) (result <-chan error) {
	t.Helper()
	suite.Must(t, x.Blocker.LockContext(suite.Context(t)))
	result = suite.Async(func() error {
		release, err := x.take(ctx)
		if err == nil {
			err = release(context.Background())
		}
		return err
	})
	suite.InLine(t, x.c, x.Paths[0], 2)
	return result
}

// unblock gives back what keeps the call out, and waits until that is confirmed.
func (x *exit) unblock(t *testing.T) {
	t.Helper()
	suite.Must(t, x.Blocker.UnlockContext(suite.Context(t)))
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
		x.unblock(t)
		suite.Must(t, suite.Receive(t, result))
	}},
	{"refused", true, func(t *testing.T, x *exit) {
		if !x.Try {
			return
		}
		x.Blocker.Lock()
		if _, err := x.take(suite.Context(t)); !errors.Is(err, zksync.ErrBusy) && err != suite.ErrRefused {
			t.Error(err)
		}
		x.unblock(t)
	}},
	{"cancelled", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancelCause(context.Background())
		result := x.wait(t, ctx)
		cancel(suite.ErrCause)
		x.fails(t, suite.Receive(t, result), context.Canceled, suite.ErrCause)
		x.unblock(t)
	}},
	{"cancelled before its turn in the session", false, func(t *testing.T, x *exit) {
		ctx, cancel := context.WithCancel(context.Background())
		x.Local.Lock()
		result := suite.Async(func() error { _, err := x.take(ctx); return err })
		suite.AwaitWaiting(t, x.s, 1)
		time.Sleep(time.Millisecond) // no request does that: in a bubble the wait would have no length
		cancel()
		x.fails(t, suite.Receive(t, result), context.Canceled)
		x.Local.Unlock()
	}},
	{"deadline", false, func(t *testing.T, x *exit) {
		x.Blocker.Lock()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		_, err := x.take(ctx)
		x.fails(t, err, context.DeadlineExceeded)
		if e, is := err.(*zksync.Error); is && !e.Timeout() {
			t.Errorf("%#v", e)
		}
		x.unblock(t)
	}},
	{"node deleted while waiting", false, func(t *testing.T, x *exit) {
		result := x.wait(t, suite.Context(t))
		suite.Must(t, x.c.Delete(x.own(t), -1))
		x.unblock(t)
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
		x.unblock(t)
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
		x.unblock(t)
	}},
	{"closed while held", true, func(t *testing.T, x *exit) {
		release, err := x.take(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, x.s.Close())
		x.fails(t, release(suite.Context(t)), zksync.ErrLost, zksync.ErrClosed)
	}},
}

// After every exit of every call on everything that can be taken nothing is left:
// no node, no watch, no clean-up under way, no span; and the next call works.
func TestExits(t *testing.T) {
	suite.CountsWatches(t)
	for _, kind := range suite.Kinds {
		for _, call := range kind.Takings {
			for _, tt := range exits {
				if call.Try && !tt.try {
					continue
				}
				t.Run(kind.Name+"/"+call.Name+"/"+tt.name, func(t *testing.T) {
					suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
						if z.Adapted && isSlow(kind, call, tt.name) {
							return
						}
						before := z.WatchCount(t)
						x := newExit(t, z, kind, call)
						tt.run(t, x)
						nothingLeft(t, x)
						suite.Eventually(t, fmt.Sprintf("the server has %d watches, as before", before), func() bool {
							n, err := z.Watches()
							return err == nil && n <= before
						})
					}, suite.Timeless)
				})
			}
		}
	}
}

// isSlow reports which exits take seconds in real time on a client of the program's,
// because the client itself takes them to come back. One of each sort is tried.
func isSlow(kind suite.Kind, call suite.Taking, exit string) bool {
	expires := strings.HasPrefix(exit, "session expired")
	switch {
	case kind.Name == "mutex":
		return expires && (call.Try || call.Name == "Do")
	case call.Try || call.Name == "Do":
		return true
	default:
		return expires && !(kind.Name == "permits" && call.Name == "Hold")
	}
}

// nothingLeft checks that a call has left nothing, and that the next one works.
func nothingLeft(t *testing.T, x *exit) {
	t.Helper()
	suite.AtRest(t, x.s)
	x.rec.Balanced(t)
	x.rec.Mu.Lock()
	res, ends := x.rec.Results, x.rec.Ends
	x.rec.Mu.Unlock()
	for _, r := range res {
		if r.Err == nil && path.Dir(r.Node) != x.Paths[0] || r.Waited <= 0 {
			t.Errorf("%+v", r)
		}
	}
	for _, e := range ends {
		if (e.Reason == zksync.EndUnlocked) != (e.Err == nil) || e.Err != nil && !errors.Is(e.Err, zksync.ErrLost) {
			t.Errorf("%+v", e)
		}
	}
	for _, p := range x.Paths {
		names, _, err := x.c.Children(p)
		if len(names) != 0 || err != nil && err != zk.ErrNoNode {
			t.Errorf("left: %v, %v", names, err)
		}
	}
	suite.LockAndUnlock(t, x.Blocker)
	if x.s.Ping(suite.Context(t)) == nil {
		suite.LockAndUnlock(t, x.Lock)
		suite.AtRest(t, x.s)
	}
	x.rec.Balanced(t)
}

// fails checks the error of a call, or of a release.
func (x *exit) fails(t *testing.T, err error, targets ...error) {
	t.Helper()
	switch {
	case !x.Bare:
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
