package zksync_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// scribe is one of several tracers: it writes what it sees to a common log, with
// its name, and each End checks that its context is that of its Start.
type scribe struct {
	name string
	log  *[]string
	at   string // this function panics
}

type scribeKey struct{ name, kind string }

func (s scribe) note(what string) {
	*s.log = append(*s.log, s.name+" "+what)
	if what == s.at {
		panic(what)
	}
}

func (s scribe) start(ctx context.Context, kind string) context.Context {
	s.note(kind + "Start")
	return context.WithValue(ctx, scribeKey{s.name, kind}, true)
}

func (s scribe) end(ctx context.Context, kind string) {
	if ctx.Value(scribeKey{s.name, kind}) == nil {
		s.note(kind + "End with another context")
	}
	s.note(kind + "End")
}

func (s scribe) tracer() *zksync.Tracer {
	return &zksync.Tracer{
		AcquireStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { return s.start(ctx, "Acquire") },
		Blocked:      func(context.Context, zksync.Peer) { s.note("Blocked") },
		AcquireEnd:   func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.AcquireEndInfo) { s.end(ctx, "Acquire") },
		HoldStart:    func(ctx context.Context, _ zksync.AcquireInfo) context.Context { return s.start(ctx, "Hold") },
		HoldContext: func(parent, hold context.Context) context.Context {
			s.note("HoldContext")
			return context.WithValue(parent, scribeKey{s.name, "work"}, hold.Value(scribeKey{s.name, "Hold"}))
		},
		HoldEnd:      func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.HoldEndInfo) { s.end(ctx, "Hold") },
		ReleaseStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { return s.start(ctx, "Release") },
		ReleaseEnd:   func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.ReleaseEndInfo) { s.end(ctx, "Release") },
		Handoff:      func(context.Context, zksync.AcquireInfo) { s.note("Handoff") },
		Session:      func(zksync.SessionEvent) { s.note("Session") },
		Cleanup:      func(zksync.CleanupEvent) { s.note("Cleanup") },
		Parent:       func(context.Context) string { s.note("Parent"); return "" },
	}
}

// through calls all functions of a tracer, as a lock does: what began without a
// panic ends.
func through(t *zksync.Tracer) {
	a := zksync.AcquireInfo{}
	begin := func(f func(context.Context, zksync.AcquireInfo) context.Context, ctx context.Context) (next context.Context, began bool) {
		next = ctx
		began = suite.PanicOf(func() { next = f(ctx, a) }) == nil
		return next, began
	}
	if call, began := begin(t.AcquireStart, context.Background()); began {
		suite.PanicOf(func() { t.Parent(call) })
		suite.PanicOf(func() { t.Blocked(call, zksync.Peer{}) })
		suite.PanicOf(func() { t.Handoff(call, a) })
		hold, held := begin(t.HoldStart, call)
		suite.PanicOf(func() { t.AcquireEnd(call, a, zksync.AcquireEndInfo{}) })
		if held {
			suite.PanicOf(func() { t.HoldContext(context.Background(), hold) })
			suite.PanicOf(func() { t.HoldEnd(hold, a, zksync.HoldEndInfo{}) })
		}
		if rel, began := begin(t.ReleaseStart, hold); began {
			suite.PanicOf(func() { t.ReleaseEnd(rel, a, zksync.ReleaseEndInfo{Confirmed: true}) })
		}
	}
	suite.PanicOf(func() { t.Session(zksync.SessionEvent{}) })
	suite.PanicOf(func() { t.Cleanup(zksync.CleanupEvent{Change: 1}) })
}

func TestJoinTracersOrder(t *testing.T) {
	var log []string
	a, b, c := scribe{"a", &log, ""}, scribe{"b", &log, ""}, scribe{"c", &log, ""}
	through(zksync.JoinTracers(nil, a.tracer(), &zksync.Tracer{}, b.tracer(), nil, c.tracer()))
	want := "a AcquireStart, b AcquireStart, c AcquireStart, a Parent, b Parent, c Parent, a Blocked, b Blocked, c Blocked, " +
		"a Handoff, b Handoff, c Handoff, a HoldStart, b HoldStart, c HoldStart, c AcquireEnd, b AcquireEnd, a AcquireEnd, " +
		"a HoldContext, b HoldContext, c HoldContext, c HoldEnd, b HoldEnd, a HoldEnd, " +
		"a ReleaseStart, b ReleaseStart, c ReleaseStart, c ReleaseEnd, b ReleaseEnd, a ReleaseEnd, " +
		"a Session, b Session, c Session, a Cleanup, b Cleanup, c Cleanup"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestJoinTracersLeavesOut(t *testing.T) {
	if zksync.JoinTracers() != nil || zksync.JoinTracers(nil, nil) != nil {
		t.Error("a tracer of none")
	}
	one := &zksync.Tracer{Cleanup: func(zksync.CleanupEvent) {}}
	if zksync.JoinTracers(nil, one) != one {
		t.Error("another tracer than the only one")
	}
	both := zksync.JoinTracers(one, &zksync.Tracer{Session: func(zksync.SessionEvent) {}})
	if both.Blocked != nil || both.AcquireStart != nil || both.Parent != nil || both.Cleanup == nil || both.Session == nil {
		t.Error("functions that nobody has, or not those that somebody has")
	}
}

func TestJoinTracersParent(t *testing.T) {
	parent := func(s string) *zksync.Tracer {
		return &zksync.Tracer{Parent: func(context.Context) string { return s }}
	}
	if got := zksync.JoinTracers(parent(""), parent("x"), parent("y")).Parent(context.Background()); got != "x" {
		t.Errorf("%q", got)
	}
}

// Whichever function of whichever tracer panics, each tracer that saw a Start
// sees the End, and none misses what the others see.
func TestJoinTracersPanic(t *testing.T) {
	var all []string
	names := []string{"a", "b", "c"}
	through(zksync.JoinTracers(scribe{"a", &all, ""}.tracer(), scribe{"b", &all, ""}.tracer()))
	for _, entry := range all {
		at := entry[2:]
		if entry[0] != 'a' {
			continue
		}
		for _, bad := range names {
			var log []string
			var ts []*zksync.Tracer
			for _, name := range names {
				s := scribe{name, &log, ""}
				if name == bad {
					s.at = at
				}
				ts = append(ts, s.tracer())
			}
			joined := zksync.JoinTracers(ts...)
			through(joined)
			count := func(what string) (n int) {
				for _, l := range log {
					if l == what {
						n++
					}
				}
				return n
			}
			for _, name := range names {
				for _, kind := range []string{"Acquire", "Hold", "Release"} {
					starts, ends := count(name+" "+kind+"Start"), count(name+" "+kind+"End")
					if name == bad && at == kind+"Start" {
						starts-- // it began nothing
					}
					if starts != ends {
						t.Errorf("%s of %s panics: %s has %d %sStart and %d %sEnd: %v", at, bad, name, starts, kind, ends, kind, log)
					}
				}
				for _, what := range []string{"Blocked", "Handoff", "Session", "Cleanup"} {
					if at != "AcquireStart" && count(name+" "+what) != 1 {
						t.Errorf("%s of %s panics: %s was not told of %s", at, bad, name, what)
					}
				}
			}
		}
	}
}

// Both tracers see a lock, and the work has what both put in its context.
func TestJoinTracersOnALock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		rec, log := suite.NewRecorder(t), []string{}
		other := &zksync.Tracer{
			HoldStart: func(ctx context.Context, a zksync.AcquireInfo) context.Context {
				return context.WithValue(ctx, keyed{}, a.Path)
			},
			HoldContext: func(parent, hold context.Context) context.Context {
				return context.WithValue(parent, keyed{}, hold.Value(keyed{}))
			},
			HoldEnd: func(ctx context.Context, _ zksync.AcquireInfo, _ zksync.HoldEndInfo) {
				log = append(log, fmt.Sprint(ctx.Value(keyed{})))
			},
		}
		p := z.Path(t)
		m := zksync.NewMutex(z.Dial(t, zksync.WithTracer(zksync.JoinTracers(rec.Tracer(), other))), p)
		suite.Must(t, m.Do(suite.Context(t), func(ctx context.Context, _ *zksync.Hold) error {
			if ctx.Value(keyed{}) != p || ctx.Value(suite.SpanKey("Hold")) == nil {
				t.Error("the work does not have both contexts")
			}
			return nil
		}))
		rec.Balanced(t)
		if !slices.Equal(log, []string{p}) {
			t.Error(log)
		}
	})
}
