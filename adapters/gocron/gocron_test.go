package zkgocron_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	zkgocron "github.com/zklocker/go-zksync/adapters/gocron"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zksynctest"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// instances returns the sessions of n instances of a program, on one server.
func instances(t *testing.T, n int) ([]*zksync.Session, *zktest.Server) {
	t.Helper()
	s, srv := zksynctest.New(t)
	list := []*zksync.Session{s}
	for len(list) < n {
		s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		list = append(list, s)
	}
	return list, srv
}

// every starts a scheduler that calls work once a minute, skew late.
func every(t *testing.T, skew time.Duration, option gocron.SchedulerOption, work func(context.Context)) {
	t.Helper()
	s, err := gocron.NewScheduler(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	start := gocron.WithStartAt(gocron.WithStartDateTime(time.Now().Truncate(time.Minute).Add(time.Minute + skew)))
	if _, err := s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(work, t.Context()), gocron.WithName("report"), start); err != nil {
		t.Fatal(err)
	}
	s.Start()
}

// Three instances whose clocks differ by 100 ms do each run once in an hour, for a job
// that takes a millisecond as for one that takes 20 s. Without a least time a short job
// runs as often as there are instances.
func TestLocker(t *testing.T) {
	for _, tt := range []struct {
		takes, least time.Duration
		want         int64
	}{
		{time.Millisecond, time.Second, 60},
		{20 * time.Second, 0, 60},
		{20 * time.Second, time.Second, 60},
		{time.Millisecond, 0, 180},
	} {
		t.Run(fmt.Sprintf("%v, held for %v", tt.takes, tt.least), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions, srv := instances(t, 3)
				var runs, now atomic.Int64
				for i, s := range sessions {
					every(t, time.Duration(i)*100*time.Millisecond, gocron.WithDistributedLocker(zkgocron.NewLocker(s, "/cron", tt.least)), func(context.Context) {
						runs.Add(1)
						if now.Add(1) > 1 {
							t.Error("two run at the same time")
						}
						time.Sleep(tt.takes)
						now.Add(-1)
					})
				}
				time.Sleep(time.Hour + 30*time.Second)
				if got := runs.Load(); got < tt.want-1 || got > tt.want+3 {
					t.Errorf("%d runs in an hour, want %d", got, tt.want)
				}
				time.Sleep(15 * time.Second) // after the last run
				if left := srv.Children("/cron/report"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// A loss while the job runs is told, one after it is not, and the next run goes on.
func TestLockerLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, srv := zksynctest.New(t)
		l := zkgocron.NewLocker(s, "/cron", 0)
		var mu sync.Mutex
		var lost []string
		l.OnLost = func(job string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if !errors.Is(err, zksync.ErrLost) {
				t.Errorf("error %v", err)
			}
			lost = append(lost, job)
		}
		held, err := l.Lock(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Lock(t.Context(), "report"); !errors.Is(err, zksync.ErrBusy) {
			t.Errorf("a second lock of the job: %v", err)
		}
		srv.Expire(s.ID())
		time.Sleep(time.Minute)
		if err := held.Unlock(t.Context()); !errors.Is(err, zksync.ErrLost) {
			t.Errorf("unlock after a loss: %v", err)
		}
		held, err = l.Lock(t.Context(), "a/b")
		if err != nil {
			t.Fatal(err)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel() // as when the scheduler is shut down
		if err := held.Unlock(done); err != nil {
			t.Error(err)
		}
		srv.Expire(s.ID())
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(lost) != 1 || lost[0] != "report" {
			t.Errorf("losses %q", lost)
		}
	})
}

// One instance runs the jobs. When its session ends, the next one does, and so when it is
// closed.
func TestElector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sessions, srv := instances(t, 3)
		var electors []*zkgocron.Elector
		runs := make([]atomic.Int64, 3)
		for i, s := range sessions {
			e := zkgocron.NewElector(s, "/leader")
			t.Cleanup(e.Close)
			electors = append(electors, e)
			time.Sleep(time.Second) // so the order is known
			every(t, time.Duration(i)*100*time.Millisecond, gocron.WithDistributedElector(e), func(context.Context) { runs[i].Add(1) })
		}
		want := func(leader int, counts ...int64) {
			t.Helper()
			for i, e := range electors {
				if err := e.IsLeader(t.Context()); (err == nil) != (i == leader) || err != nil && !errors.Is(err, zkgocron.ErrNotLeader) {
					t.Errorf("instance %d: %v", i, err)
				}
				if (e.Hold() != nil) != (i == leader) {
					t.Errorf("instance %d has hold %v", i, e.Hold())
				}
				if got := runs[i].Load(); got != counts[i] {
					t.Errorf("instance %d has run %d times, want %d", i, got, counts[i])
				}
			}
		}
		time.Sleep(10 * time.Minute)
		want(0, 10, 0, 0)
		h := electors[0].Hold()
		fence := h.Fence()
		work := h.Context(t.Context())
		srv.Expire(sessions[0].ID())
		time.Sleep(10 * time.Minute)
		if work.Err() == nil {
			t.Error("the context of the leadership did not end with it")
		}
		want(1, 10, 10, 0)
		if now := electors[1].Hold().Fence(); now <= fence {
			t.Errorf("fence %d after %d", now, fence)
		}
		electors[1].Close()
		electors[1].Close()
		time.Sleep(10 * time.Minute)
		want(2, 10, 10, 10)
		electors[2].Close()
		time.Sleep(10 * time.Minute)
		want(0, 20, 10, 10) // it has stood again
	})
}

// An instance that can't stand says why, and stands when it can.
func TestElectorWithoutPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := zksynctest.New(t)
		bad := zkgocron.NewElector(s, "no-slash")
		defer bad.Close()
		time.Sleep(time.Minute)
		if err := bad.IsLeader(t.Context()); !errors.Is(err, zkgocron.ErrNotLeader) || !errors.Is(err, zksync.ErrInvalidPath) {
			t.Errorf("error %v", err)
		}
		good := zkgocron.NewElector(s, "/leader")
		time.Sleep(time.Minute)
		if err := good.IsLeader(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := good.IsLeader(t.Context()); !errors.Is(err, zkgocron.ErrNotLeader) || !errors.Is(err, zksync.ErrClosed) {
			t.Errorf("error %v", err)
		}
		good.Close()
	})
}
