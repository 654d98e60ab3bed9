package zksync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// scribe is one of several tracers: what it is told goes to a common log, with
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
		AcquireStart: func(ctx context.Context, _ zksync.Acquire) context.Context { return s.start(ctx, "Acquire") },
		Blocked:      func(context.Context, zksync.Peer) { s.note("Blocked") },
		AcquireEnd:   func(ctx context.Context, _ zksync.Acquire, _ zksync.Result) { s.end(ctx, "Acquire") },
		HoldStart:    func(ctx context.Context, _ zksync.Acquire) context.Context { return s.start(ctx, "Hold") },
		HoldContext: func(parent, hold context.Context) context.Context {
			s.note("HoldContext")
			return context.WithValue(parent, scribeKey{s.name, "work"}, hold.Value(scribeKey{s.name, "Hold"}))
		},
		HoldEnd:      func(ctx context.Context, _ zksync.Acquire, _ zksync.Ending) { s.end(ctx, "Hold") },
		ReleaseStart: func(ctx context.Context, _ zksync.Acquire) context.Context { return s.start(ctx, "Release") },
		ReleaseEnd:   func(ctx context.Context, _ zksync.Acquire, _ error) { s.end(ctx, "Release") },
		Handoff:      func(context.Context, zksync.Acquire) { s.note("Handoff") },
		Session:      func(zksync.SessionEvent) { s.note("Session") },
		Cleanup:      func(int) { s.note("Cleanup") },
		Parent:       func(context.Context) string { s.note("Parent"); return "" },
	}
}

// through tells a tracer of all there is, as a lock does: what began without a
// panic ends.
func through(t *zksync.Tracer) {
	a := zksync.Acquire{}
	begin := func(f func(context.Context, zksync.Acquire) context.Context, ctx context.Context) (next context.Context, began bool) {
		next = ctx
		began = panicOf(func() { next = f(ctx, a) }) == nil
		return next, began
	}
	if call, began := begin(t.AcquireStart, context.Background()); began {
		panicOf(func() { t.Parent(call) })
		panicOf(func() { t.Blocked(call, zksync.Peer{}) })
		panicOf(func() { t.Handoff(call, a) })
		hold, held := begin(t.HoldStart, call)
		panicOf(func() { t.AcquireEnd(call, a, zksync.Result{}) })
		if held {
			panicOf(func() { t.HoldContext(context.Background(), hold) })
			panicOf(func() { t.HoldEnd(hold, a, zksync.Ending{}) })
		}
		if rel, began := begin(t.ReleaseStart, hold); began {
			panicOf(func() { t.ReleaseEnd(rel, a, nil) })
		}
	}
	panicOf(func() { t.Session(zksync.SessionEvent{}) })
	panicOf(func() { t.Cleanup(1) })
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
	one := &zksync.Tracer{Cleanup: func(int) {}}
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

// Whichever function of whichever tracer panics, each that was told of a Start
// is told of the End, and nobody misses what others are told.
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

// Both are told of a lock, and the work has what both put in its context.
func TestJoinTracersOnALock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec, log := new(recorder), []string{}
		other := &zksync.Tracer{
			HoldStart: func(ctx context.Context, a zksync.Acquire) context.Context {
				return context.WithValue(ctx, keyed{}, a.Path)
			},
			HoldContext: func(parent, hold context.Context) context.Context {
				return context.WithValue(parent, keyed{}, hold.Value(keyed{}))
			},
			HoldEnd: func(ctx context.Context, _ zksync.Acquire, _ zksync.Ending) {
				log = append(log, fmt.Sprint(ctx.Value(keyed{})))
			},
		}
		p := lockPath(t)
		m := zksync.NewMutex(z.dial(t, zksync.WithTracer(zksync.JoinTracers(rec.tracer(), other))), p)
		ok(t, m.Do(short(t), func(ctx context.Context, _ *zksync.Hold) error {
			if ctx.Value(keyed{}) != p || ctx.Value(spanKey("Hold")) == nil {
				t.Error("the work does not have both contexts")
			}
			return nil
		}))
		rec.balanced(t)
		if !slices.Equal(log, []string{p}) {
			t.Error(log)
		}
	})
}

// logged runs f with two sessions in a bubble, the second of which logs its long
// waits, and returns the log.
func logged(t *testing.T, threshold time.Duration, f func(t *testing.T, first, second *zksync.Mutex)) string {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		dial := func(opts ...zksync.Option) *zksync.Mutex {
			s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, append(opts, zksync.WithDialer(srv.Dial))...)
			ok(t, err)
			t.Cleanup(func() { s.Close() })
			return zksync.NewMutex(s, "/locks/x")
		}
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "host" || a.Key == "pid" || a.Key == "node" || a.Key == "since" {
				return slog.Attr{}
			}
			return a
		}})
		f(t, dial(zksync.WithIdentity("the holder")), dial(zksync.WithTracer(zksync.LogTracer(slog.New(handler), threshold))))
	})
	return log.String()
}

const (
	longWait = `level=WARN msg="zksync: long wait for a lock" lock=/locks/x mode=mutex waited=%s place=1 holder="the holder" owner="order 7"` + "\n"
	longOver = `level=INFO msg="zksync: long wait for a lock is over" lock=/locks/x mode=mutex waited=%s place=1 holder="the holder" owner="order 7"` + "\n"
	longFail = `level=WARN msg="zksync: long wait for a lock ended without it" lock=/locks/x mode=mutex waited=%s error="%s" place=1 holder="the holder" owner="order 7"` + "\n"
)

func TestLogTracer(t *testing.T) {
	hold := func(t *testing.T, m *zksync.Mutex, d time.Duration) {
		h, err := m.As(zksync.NewOwner("order 7")).Hold(context.Background())
		ok(t, err)
		time.AfterFunc(d, func() { h.Release(context.Background()) })
	}
	for _, tt := range []struct {
		name      string
		threshold time.Duration
		held      time.Duration
		deadline  time.Duration
		want      string
	}{
		{"short", 10 * time.Second, 9 * time.Second, time.Hour, ""},
		{"long", 10 * time.Second, 15 * time.Second, time.Hour, fmt.Sprintf(longWait+longOver, "10s", "15s")},
		{"very long", 10 * time.Second, 30 * time.Minute, time.Hour, fmt.Sprintf(longWait+longOver, "10s", "30m0s")},
		{"given up", 10 * time.Second, time.Hour, 20 * time.Second, fmt.Sprintf(longWait+longFail, "10s", "20s", "context deadline exceeded")},
		{"given up before", 10 * time.Second, time.Hour, 5 * time.Second, ""},
		{"every wait", 0, 2 * time.Second, time.Hour, fmt.Sprintf(longWait+longOver, "0s", "2s")},
		{"no wait", 0, 0, time.Hour, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := logged(t, tt.threshold, func(t *testing.T, first, second *zksync.Mutex) {
				if tt.held > 0 {
					hold(t, first, tt.held)
				}
				ctx, cancel := context.WithTimeout(context.Background(), tt.deadline)
				defer cancel()
				if err := second.LockContext(ctx); err == nil {
					second.Unlock()
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				time.Sleep(time.Hour)
			})
			if got != tt.want {
				t.Errorf("logged\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// A wait for ZooKeeper itself is long as well, and nobody is ahead.
func TestLogTracerWithoutContact(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialer(srv.Dial),
			zksync.WithTracer(zksync.LogTracer(slog.New(slog.NewTextHandler(&log, nil)), 5*time.Second)))
		ok(t, err)
		defer s.Close()
		srv.Blackhole(true, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		isError(t, zksync.NewMutex(s, "/locks/x").LockContext(ctx), context.DeadlineExceeded)
		srv.Heal()
	})
	if text := log.String(); strings.Count(text, "\n") != 2 || strings.Contains(text, "holder") || !strings.Contains(text, "waited=5s") {
		t.Error(text)
	}
}

// Without a logger of its own it is slog's default, as it is at that time.
func TestLogTracerDefault(t *testing.T) {
	var log bytes.Buffer
	was := slog.Default()
	defer slog.SetDefault(was)
	tr := zksync.LogTracer(nil, 0)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	ctx := tr.AcquireStart(context.Background(), zksync.Acquire{Path: "/x"})
	tr.Blocked(ctx, zksync.Peer{Identity: "evil\n\x1b[31m"})
	tr.AcquireEnd(ctx, zksync.Acquire{}, zksync.Result{Waited: time.Second})
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `holder="evil\n\x1b[31m"`) {
		t.Error(text)
	}
	tr.AcquireEnd(context.Background(), zksync.Acquire{}, zksync.Result{}) // of another tracer: nothing
}

// Those who wait behind another of their own session are told of the same one
// ahead, once, with their own place.
func TestBlockedTellsThoseBehind(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		holder := zksync.NewMutex(z.dial(t), p)
		holder.Lock()
		rec := new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		m := zksync.NewMutex(s, p)
		done := make(chan bool)
		for i := range 3 {
			go func() { m.Lock(); m.Unlock(); done <- true }()
			waiting(t, s, i+1)
		}
		rec.tells(t, "all are told", func() bool { return len(rec.peers) == 3 })
		holder.Unlock()
		for range 3 {
			get(t, done)
		}
		rec.balanced(t)
		var places []int
		for _, peer := range rec.peers {
			places = append(places, peer.Position)
			if peer.Node != rec.peers[0].Node || peer.Session == s.ID() {
				t.Errorf("blocked by %+v", peer)
			}
		}
		slices.Sort(places)
		if !slices.Equal(places, []int{1, 2, 3}) {
			t.Errorf("places %v", places)
		}
		for _, r := range rec.result {
			if !r.Contended || r.Server == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// One that keeps a permit from its turn is named as whoever has a lock is.
func TestBlockedTellsWhoHasThePermit(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		holder := z.dial(t, zksync.WithIdentity("the holder"))
		h, err := zksync.NewSemaphore(holder, p, 2).Hold(short(t), 2)
		ok(t, err)
		rec := new(recorder)
		sem := zksync.NewSemaphore(z.dial(t, zksync.WithTracer(rec.tracer())), p, 2)
		got := async(func() error { return sem.Acquire(short(t), 1) })
		rec.tells(t, "Blocked was called", func() bool { return len(rec.peers) > 0 })
		rec.mu.Lock()
		peer := rec.peers[0]
		rec.mu.Unlock()
		if peer.Identity != "the holder" || peer.Node != h.Node() || peer.Session != holder.ID() || peer.Since.IsZero() || peer.Local {
			t.Errorf("%+v", peer)
		}
		ok(t, h.Release(short(t)))
		ok(t, get(t, got))
		sem.Release(1)
		rec.balanced(t)
	})
}

// Each event says what was told before.
func TestSessionEventsAreAChain(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		rec := new(recorder)
		s := z.dial(t, zksync.WithTracer(rec.tracer()))
		first := s.ID()
		ok(t, z.expire(first))
		eventually(t, "another session stands", func() bool { return s.Stats().Connects > 1 && s.ID() != first })
		ok(t, s.Close())
		rec.mu.Lock()
		defer rec.mu.Unlock()
		before := zksync.SessionState("")
		for _, e := range rec.events {
			if e.Before != before {
				t.Errorf("%+v after %q", e, before)
			}
			before = e.State
		}
		if before != zksync.StateClosed {
			t.Errorf("the last is %q", before)
		}
	})
}

// The changes that Cleanup tells of come to nothing in the end.
func TestCleanupAddsUp(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		sum, most := make(chan int, 1), 0
		sum <- 0
		tr := &zksync.Tracer{Cleanup: func(change int) {
			n := <-sum + change
			most = max(most, n)
			sum <- n
		}}
		s, p := z.dial(t, zksync.WithTracer(tr)), lockPath(t)
		for i := range 5 {
			free(t, zksync.NewMutex(s, fmt.Sprint(p, i)))
		}
		sem := zksync.NewSemaphore(s, p, 3)
		ok(t, sem.Acquire(short(t), 3))
		sem.Release(1) // of three
		sem.Release(2)
		atRest(t, s)
		eventually(t, "nothing is left to be told", func() bool {
			n := <-sum
			defer func() { sum <- n }()
			return n == 0 && most > 0
		})
	})
}

// What a loss was for is in its error.
func TestLossReason(t *testing.T) {
	if r := zksync.LossReason(nil); r != "" {
		t.Errorf("%q of no error", r)
	}
	if r := zksync.LossReason(zksync.ErrBusy); r != "" {
		t.Errorf("%q of ErrBusy", r)
	}
	onServers(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		h, err := zksync.NewMutex(s, p).Hold(short(t))
		ok(t, err)
		ok(t, z.raw(t).Delete(h.Node(), -1))
		if r := zksync.LossReason(h.Release(short(t))); r != zksync.EndNodeDeleted {
			t.Errorf("%q", r)
		}
	})
}
