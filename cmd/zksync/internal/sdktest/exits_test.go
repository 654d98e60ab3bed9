package sdktest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
)

// exit is one way in which a call and what it got can end. The blocker holds the
// lock for 10 s, unless free.
type exit struct {
	name string
	free bool
	run  func(t *testing.T, r *rig, s *zksync.Session, take taker)

	// what the spans of the session say
	result, errorType string
	reasons           []zksync.EndReason // any of these; none: never held
	released          bool
}

var unlocked = []zksync.EndReason{zksync.EndUnlocked}

// The end of a session deletes the node, and may be seen by that first.
var exits = []exit{
	{"granted", true, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		release, err := take(context.Background())
		ok(t, err)
		ok(t, release(context.Background()))
	}, "acquired", "", unlocked, true},
	{"granted after a wait", false, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		release, err := take(context.Background())
		ok(t, err)
		ok(t, release(context.Background()))
	}, "acquired", "", unlocked, true},
	{"cancelled", false, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		ctx, cancel := context.WithCancelCause(context.Background())
		after(time.Second, func() { cancel(zksync.ErrLost) }) // of another lock, say
		_, err := take(ctx)
		is(t, err, context.Canceled)
	}, "canceled", "", nil, false},
	{"cancelled before", true, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := take(ctx)
		is(t, err, context.Canceled)
	}, "canceled", "", nil, false},
	{"deadline", false, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := take(ctx)
		is(t, err, context.DeadlineExceeded)
	}, "error", "deadline_exceeded", nil, false},
	{"expired while waiting", false, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		after(time.Second, func() { r.srv.Expire(s.ID()) })
		release, err := take(context.Background())
		ok(t, err)
		ok(t, release(context.Background()))
	}, "acquired", "", unlocked, true},
	{"expired while held", true, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		release, err := take(context.Background())
		ok(t, err)
		r.srv.Expire(s.ID())
		time.Sleep(time.Minute)
		release(context.Background())
	}, "acquired", "", []zksync.EndReason{zksync.EndSessionExpired, zksync.EndNodeDeleted}, false},
	{"out of contact while held", true, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		release, err := take(context.Background())
		ok(t, err)
		r.srv.Blackhole()
		time.Sleep(time.Minute)
		r.srv.Heal()
		time.Sleep(time.Minute)
		release(context.Background())
	}, "acquired", "", []zksync.EndReason{zksync.EndContactLost, zksync.EndSessionExpired}, false},
	{"closed while waiting", false, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		after(time.Second, func() { s.Close() })
		_, err := take(context.Background())
		is(t, err, zksync.ErrClosed)
	}, "error", "closed", nil, false},
	{"closed while held", true, func(t *testing.T, r *rig, s *zksync.Session, take taker) {
		release, err := take(context.Background())
		ok(t, err)
		ok(t, s.Close())
		release(context.Background())
	}, "acquired", "", []zksync.EndReason{zksync.EndClosed}, false},
}

// noLosses is what the counter of losses shows from the first call on: what
// begins at 1 shows no increase.
func noLosses() map[string]float64 {
	list := make(map[string]float64)
	for _, reason := range []string{"session_expired", "contact_lost", "node_deleted", "closed"} {
		list["zksync.lock.release.reason="+reason] = 0
	}
	return list
}

// Every span ends on every exit of every kind of lock, and says how.
func TestEverySpanEnds(t *testing.T) {
	for _, x := range exits {
		for _, k := range kinds {
			t.Run(x.name+"/"+k.name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) { x.check(t, r, k) })
			})
		}
	}
}

func (x exit) check(t *testing.T, r *rig, k kind) {
	if !x.free {
		release, err := k.blocker(r.dial(zksync.WithTracer(nil)))(context.Background())
		ok(t, err)
		after(10*time.Second, func() { release(context.Background()) })
	}
	s := r.dial()
	x.run(t, r, s, k.make(s))
	s.Close()

	a := r.only("zksync acquire")
	wants(t, "acquire", a.Attributes(), map[string]string{
		"zksync.lock.result": x.result, "error.type": x.errorType, "zksync.lock.mode": string(k.mode), "zksync.lock.try": "false",
		"server.address": "127.0.0.1", "server.port": "2181", "zksync.lock.name": "",
	})
	if bad := a.Status().Code == codes.Error; bad != (x.result == "error") {
		t.Errorf("status %v of a result %s", a.Status(), x.result)
	}
	want := 0
	if x.reasons != nil {
		want = 1
		h := r.only("zksync hold")
		reason := attrs(h.Attributes())["zksync.lock.release.reason"]
		lost := reason != string(zksync.EndUnlocked)
		if !slices.Contains(x.reasons, zksync.EndReason(reason)) {
			t.Errorf("the hold ended for %q", reason)
		}
		if (h.Status().Code == codes.Error) != lost || (attrs(h.Attributes())["error.type"] != "") != lost {
			t.Errorf("hold: %v %v", h.Status(), h.Attributes())
		}
		losses := noLosses()
		if lost {
			losses["zksync.lock.release.reason="+reason] = 1
		}
		r.shows(t, "zksync.lock.losses", losses)
	}
	if n := len(r.named("zksync hold")); n != want {
		t.Errorf("%d holds", n)
	}
	if n := len(r.named("zksync release")); (n == 1) != x.released {
		t.Errorf("%d releases", n)
	}
	mode := "zksync.lock.mode=" + string(k.mode)
	r.shows(t, "zksync.lock.waiting", map[string]float64{mode: 0})
	r.shows(t, "zksync.lock.hold.oldest_age", map[string]float64{mode: 0})
	if want > 0 {
		r.shows(t, "zksync.lock.held", map[string]float64{mode: 0})
	}
	r.shows(t, "zksync.cleanup.pending", map[string]float64{"": 0})
	r.shows(t, "zksync.session.connected", map[string]float64{"": 0})
}

// A refused try is no error.
func TestRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(zksync.WithTracer(nil)), lockPath)
		m.Lock()
		_, err := zksync.NewMutex(r.dial(), lockPath).TryHold(context.Background())
		is(t, err, zksync.ErrBusy)
		m.Unlock()
		a := r.only("zksync acquire")
		wants(t, "acquire", a.Attributes(), map[string]string{"zksync.lock.result": "busy", "zksync.lock.try": "true", "error.type": ""})
		if a.Status().Code != codes.Unset {
			t.Error(a.Status())
		}
	})
}

// A lock whose node is deleted is lost when that is noticed, and not when it is
// given back.
func TestNodeDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		h, err := zksync.NewMutex(s, lockPath).Hold(context.Background())
		ok(t, err)
		time.Sleep(7 * time.Second)
		ok(t, s.Conn().Delete(h.Node(), -1))
		time.Sleep(time.Hour)
		is(t, h.Release(context.Background()), zksync.ErrLost)
		hold := r.only("zksync hold")
		wants(t, "hold", hold.Attributes(), map[string]string{"zksync.lock.release.reason": "node_deleted", "error.type": "lost"})
		if d := hold.EndTime().Sub(hold.StartTime()); d != 7*time.Second {
			t.Errorf("held for %v", d)
		}
	})
}

// A plain lock is not watched: that its node was deleted shows at the unlock.
func TestLossFoundByTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		m := zksync.NewMutex(s, lockPath)
		ok(t, m.LockContext(context.Background()))
		ok(t, s.Conn().Delete(lockPath+"/"+r.srv.Children(lockPath)[0], -1))
		time.Sleep(time.Second)
		is(t, m.UnlockContext(context.Background()), zksync.ErrLost)
		time.Sleep(time.Second)
		release := r.only("zksync release")
		wants(t, "release", release.Attributes(), map[string]string{"error.type": "lost"})
		if release.Status().Code != codes.Error {
			t.Error(release.Status())
		}
		losses := noLosses()
		losses["zksync.lock.release.reason=node_deleted"] = 1
		r.shows(t, "zksync.lock.losses", losses)
	})
}

// A lock that is given back after it was asked back says so.
func TestRevoked(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		h, err := zksync.NewMutex(s, lockPath).Hold(context.Background())
		ok(t, err)
		_, err = s.Conn().Set(h.Node(), []byte("__REVOKE__"), -1)
		ok(t, err)
		<-h.Revoked()
		ok(t, h.Release(context.Background()))
		hold := r.only("zksync hold")
		wants(t, "hold", hold.Attributes(), map[string]string{"zksync.lock.release.reason": "revoked", "error.type": ""})
	})
}

// A function of a tracer that is joined with ours panics, on either side of it.
func TestPanicOfAnotherTracer(t *testing.T) {
	boom := errors.New("boom")
	type hooks = zksync.Tracer
	for name, broken := range map[string]*hooks{
		"AcquireStart": {AcquireStart: func(context.Context, zksync.AcquireInfo) context.Context { panic(boom) }},
		"Blocked":      {Blocked: func(context.Context, zksync.Peer) { panic(boom) }},
		"AcquireEnd":   {AcquireEnd: func(context.Context, zksync.AcquireInfo, zksync.AcquireEndInfo) { panic(boom) }},
		"HoldStart":    {HoldStart: func(context.Context, zksync.AcquireInfo) context.Context { panic(boom) }},
		"HoldContext":  {HoldContext: func(_, _ context.Context) context.Context { panic(boom) }},
		"HoldEnd":      {HoldEnd: func(context.Context, zksync.AcquireInfo, zksync.HoldEndInfo) { panic(boom) }},
		"ReleaseStart": {ReleaseStart: func(context.Context, zksync.AcquireInfo) context.Context { panic(boom) }},
		"ReleaseEnd":   {ReleaseEnd: func(context.Context, zksync.AcquireInfo, zksync.ReleaseEndInfo) { panic(boom) }},
		"Handoff":      {Handoff: func(context.Context, zksync.AcquireInfo) { panic(boom) }},
		"Session":      {Session: func(zksync.SessionEvent) { panic(boom) }},
		"Cleanup":      {Cleanup: func(zksync.CleanupEvent) { panic(boom) }},
		"Parent":       {Parent: func(context.Context) string { panic(boom) }},
	} {
		for _, first := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					both := zksync.JoinTracers(r.tracer, broken)
					if first {
						both = zksync.JoinTracers(broken, r.tracer)
					}
					m := zksync.NewMutex(r.dial(zksync.WithTracer(nil)), lockPath)
					m.Lock()
					after(time.Second, m.Unlock)
					ours := zksync.NewMutex(r.dial(zksync.WithTracer(both)), lockPath)
					work := func() {
						defer func() { recover() }()
						ours.Do(context.Background(), func(context.Context, *zksync.Hold) error { return nil })
					}
					work()
					time.Sleep(time.Minute)
					work()
					// And it is free.
					m.Lock()
					m.Unlock()
				})
			})
		}
	}
}

// The program's function may panic, or end its goroutine.
func TestPanicOfTheWork(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		func() {
			defer func() { recover() }()
			m.Do(context.Background(), func(context.Context, *zksync.Hold) error { panic("work") })
		}()
		wants(t, "hold", r.only("zksync hold").Attributes(), map[string]string{"zksync.lock.release.reason": "unlocked"})
	})
}

// A function for names that panics has begun nothing.
func TestPanicOfTheName(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		m := zksync.NewMutex(r.dial(), lockPath)
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
			if n := len(r.spans.Started()); n != 0 {
				t.Errorf("%d spans", n)
			}
		}()
		m.Lock()
	}, tracing.WithLockName(func(zksync.AcquireInfo) string { panic("name") }))
}
