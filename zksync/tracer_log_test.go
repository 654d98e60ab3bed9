package zksync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// logged runs f with two sessions in a bubble, the second of which logs its long
// waits and holds, and returns the log.
func logged(t *testing.T, limits zksync.LogLimits, f func(t *testing.T, s *zksync.Session, first, second *zksync.Mutex)) string {
	var log bytes.Buffer
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		dial := func(opts ...zksync.DialOption) *zksync.Session {
			s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, append(opts, zksync.WithDialContext(srv.DialContext))...)
			suite.Must(t, err)
			t.Cleanup(func() { s.Close() })
			return s
		}
		handler := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "host" || a.Key == "pid" || a.Key == "node" || a.Key == "since" {
				return slog.Attr{}
			}
			return a
		}})
		first := dial(zksync.WithIdentity("the holder"))
		second := dial(zksync.WithTracer(zksync.LogTracer(slog.New(handler), limits)))
		f(t, first, zksync.NewMutex(first, "/locks/x"), zksync.NewMutex(second, "/locks/x"))
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
		suite.Must(t, err)
		time.AfterFunc(d, func() { h.Release(context.Background()) })
	}
	for _, tt := range []struct {
		name     string
		limit    time.Duration
		held     time.Duration
		deadline time.Duration
		want     string
	}{
		{"short", 10 * time.Second, 9 * time.Second, time.Hour, ""},
		{"long", 10 * time.Second, 15 * time.Second, time.Hour, fmt.Sprintf(longWait+longOver, "10s", "15s")},
		{"very long", 10 * time.Second, 30 * time.Minute, time.Hour, fmt.Sprintf(longWait+longOver, "10s", "30m0s")},
		{"given up", 10 * time.Second, time.Hour, 20 * time.Second, fmt.Sprintf(longWait+longFail, "10s", "20s", "context deadline exceeded")},
		{"given up before", 10 * time.Second, time.Hour, 5 * time.Second, ""},
		{"no limit", 0, 2 * time.Second, time.Hour, ""},
		{"no wait", time.Second, 0, time.Hour, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := logged(t, zksync.LogLimits{Wait: tt.limit}, func(t *testing.T, _ *zksync.Session, first, second *zksync.Mutex) {
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
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext),
			zksync.WithTracer(zksync.LogTracer(slog.New(slog.NewTextHandler(&log, nil)), zksync.LogLimits{Wait: 5 * time.Second})))
		suite.Must(t, err)
		defer s.Close()
		srv.Blackhole()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		suite.IsError(t, zksync.NewMutex(s, "/locks/x").LockContext(ctx), context.DeadlineExceeded)
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
	tr := zksync.LogTracer(nil, zksync.LogLimits{Wait: time.Hour})
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	ctx := tr.AcquireStart(context.Background(), zksync.AcquireInfo{Path: "/x"})
	tr.Blocked(ctx, zksync.Peer{LockNode: zksync.LockNode{Identity: "evil\n\x1b[31m"}})
	tr.AcquireEnd(ctx, zksync.AcquireInfo{}, zksync.AcquireEndInfo{Waited: time.Hour})
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `holder="evil\n\x1b[31m"`) {
		t.Error(text)
	}
	tr.AcquireEnd(context.Background(), zksync.AcquireInfo{}, zksync.AcquireEndInfo{}) // of another tracer: nothing
}

// A hold that exceeds its limit is logged then, and when it is over.
func TestLogTracerHolds(t *testing.T) {
	const (
		long  = `level=WARN msg="zksync: a lock is held for long" lock=/locks/x mode=mutex held=10s owner="order 7"` + "\n"
		over  = `level=INFO msg="zksync: a long hold of a lock is over" lock=/locks/x mode=mutex held=%s owner="order 7" reason=%s` + "\n"
		limit = 10 * time.Second
	)
	for _, tt := range []struct {
		held time.Duration
		lost bool
		want string
	}{
		{held: 9 * time.Second},
		{held: 15 * time.Second, want: long + fmt.Sprintf(over, "15s", "unlocked")},
		{held: 15 * time.Second, lost: true, want: long + fmt.Sprintf(over, "15s", "node_deleted")},
	} {
		got := logged(t, zksync.LogLimits{Hold: limit}, func(t *testing.T, other *zksync.Session, _, m *zksync.Mutex) {
			h, err := m.As(zksync.NewOwner("order 7")).Hold(context.Background())
			suite.Must(t, err)
			time.Sleep(tt.held)
			if tt.lost {
				suite.Must(t, other.Break(context.Background(), h.Node()))
				<-h.Context(context.Background()).Done()
			}
			if err := h.Release(context.Background()); (err != nil) != tt.lost {
				t.Error(err)
			}
		})
		if got != tt.want {
			t.Errorf("held for %v, logged\n%swant\n%s", tt.held, got, tt.want)
		}
	}
}

// However many wait for one lock, the log grows by no more than some lines a second, and
// tells how many it has left out. Other locks have lines of their own.
func TestLogTracerIsBoundedForOneLock(t *testing.T) {
	const waiters = 5000
	got := logged(t, zksync.LogLimits{Wait: 10 * time.Second}, func(t *testing.T, _ *zksync.Session, first, second *zksync.Mutex) {
		first.Lock()
		for range waiters {
			go func() {
				second.Lock()
				second.Unlock()
			}()
		}
		time.Sleep(20 * time.Second)
		first.Unlock()
		time.Sleep(time.Minute)
	})
	lines := strings.Split(strings.TrimSpace(got), "\n")
	left := `level=%s msg="zksync: lines about long waits or holds of a lock were left out" lock=/locks/x left_out=%d`
	want := map[string]int{fmt.Sprintf(left, "WARN", waiters-10): 1, fmt.Sprintf(left, "INFO", waiters-10): 1}
	for _, l := range lines {
		if n, is := want[l]; is {
			want[l] = n - 1
		}
	}
	if len(lines) != 22 {
		t.Errorf("%d lines, want 22:\n%s", len(lines), got)
	}
	for l, n := range want {
		if n != 0 {
			t.Errorf("no line %s in\n%s", l, got)
		}
	}
}

// Each lock has lines of its own.
func TestLogTracerKeepsLocksApart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		log := new(suite.Notes)
		tr := zksync.LogTracer(slog.New(slog.NewTextHandler(log, nil)), zksync.LogLimits{Wait: time.Hour})
		for range 20 {
			for _, p := range []string{"/a", "/b"} {
				ctx := tr.AcquireStart(context.Background(), zksync.AcquireInfo{Path: p})
				tr.AcquireEnd(ctx, zksync.AcquireInfo{}, zksync.AcquireEndInfo{Waited: time.Hour})
			}
		}
		wantLines(t, log, 10, "lock=/a", "is over")
		wantLines(t, log, 10, "lock=/b", "is over")
		time.Sleep(2 * time.Second)
		wantLines(t, log, 1, "lock=/a", "level=INFO", "left_out=10")
		wantLines(t, log, 1, "lock=/b", "level=INFO", "left_out=10")
	})
}
