package zksync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// logged runs f with two sessions in a bubble, the second of which logs its long
// waits, and returns the log.
func logged(t *testing.T, threshold time.Duration, f func(t *testing.T, first, second *zksync.Mutex)) string {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		dial := func(opts ...zksync.Option) *zksync.Mutex {
			s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, append(opts, zksync.WithDialer(srv.Dial))...)
			suite.Must(t, err)
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
		suite.Must(t, err)
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
