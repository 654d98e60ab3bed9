package measure

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestMain(m *testing.M) {
	// A client that was closed with requests under way may lock up for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/go-zookeeper/zk.(*Conn).flushRequests"))
}

// teams returns a team of each kind on an embedded server.
func teams(t *testing.T, srv *zktest.Server, kinds []Kind) []*Team {
	t.Helper()
	var all []*Team
	for _, k := range kinds {
		team := NewTeam(k, Target{Servers: []string{srv.Addr()}, Timeout: 5 * time.Second})
		t.Cleanup(func() {
			if err := team.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, team)
	}
	return all
}

func TestCompare(t *testing.T) {
	srv := zktest.Run(t)
	for _, load := range Workloads {
		t.Run(load.Name, func(t *testing.T) {
			all := teams(t, srv, load.Kinds)
			plan := Plan{Root: "/measure", Rounds: 3, Limit: Limit{Cycles: 130}, Longer: 2, Detail: true}
			if err := all[0].MakeNode(t.Context(), plan.Root); err != nil {
				t.Fatal(err)
			}
			results, err := Compare(t.Context(), load, all, plan)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				check(t, load, r, i == 0)
			}
			if ratio := results[0].Ratio(results[0]); ratio != 1 {
				t.Errorf("a team is %v times as fast as itself", ratio)
			}
		})
	}
}

func check(t *testing.T, load Workload, r *Result, first bool) {
	t.Helper()
	want := int64(130)
	if first {
		want *= 2
	}
	if len(r.Rounds) != 3 || r.Rate() <= 0 {
		t.Fatalf("%s: %d rounds, %v cycles a second", r.Kind, len(r.Rounds), r.Rate())
	}
	var waits, passes int64
	for _, x := range r.Rounds {
		var sum int64
		for i, n := range x.Sessions {
			sum += n
			waits += x.Waits[i].Count()
		}
		passes += x.Passes.Count()
		if x.Cycles != want || sum != want {
			t.Errorf("%s: %d cycles, of the sessions %v, want %d", r.Kind, x.Cycles, x.Sessions, want)
		}
	}
	if waits != 3*want {
		t.Errorf("%s: %d waits, want %d", r.Kind, waits, 3*want)
	}
	if load.Sessions > 1 && passes == 0 || load.Sessions == 1 && passes > 0 {
		t.Errorf("%s: the lock went %d times to another session", r.Kind, passes)
	}
	requests := r.PerCycle(func(x *Round) float64 { return float64(x.Requests) })
	switch {
	case r.Kind == Floor && requests != 2, r.Kind == ZkLock && requests < 3, load.Name == "free" && requests < 1:
		t.Errorf("%s: %v requests a cycle", r.Kind, requests)
	}
}

// The servers delete containers that are empty at the moment when they look.
func TestCompareWhileContainersGo(t *testing.T) {
	srv := zktest.Run(t, zktest.WithReapInterval(time.Millisecond))
	for _, load := range Workloads[:2] {
		if _, err := Compare(t.Context(), load, teams(t, srv, load.Kinds), Plan{Rounds: 5, Limit: Limit{For: 20 * time.Millisecond}}); err != nil {
			t.Error(err)
		}
	}
}

// A round ends with its context, and says so.
func TestCompareEndsWithItsContext(t *testing.T) {
	srv := zktest.Run(t)
	all := teams(t, srv, []Kind{Ours, ZkLock})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Compare(ctx, Workloads[5], all, Plan{Rounds: 1000, Limit: Limit{For: time.Hour}}); err == nil {
		t.Error("no error")
	}
}

// So does one whose sessions were closed between two rounds.
func TestCompareEndsBetweenRounds(t *testing.T) {
	srv := zktest.Run(t)
	team := teams(t, srv, []Kind{ZkLock})
	plan := Plan{Rounds: 2, Limit: Limit{Cycles: 1}, Tick: func(Kind) { _ = team[0].Close() }}
	if _, err := Compare(t.Context(), Workloads[0], team, plan); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

// nothing is a session whose locks exclude nobody.
type nothing struct{}

func (nothing) Locker(string) (lock, unlock func() error) {
	return func() error { return nil }, func() error { runtime.Gosched(); return nil }
}

func (nothing) Close() error { return nil }

// A lock that two hold ends the comparison.
func TestCompareNoticesTwoHolders(t *testing.T) {
	none := NewForeign("none", func(context.Context, int) (Session, error) { return nothing{}, nil })
	load := Workload{Name: "crowd", Sessions: 2, Goroutines: 64}
	if _, err := Compare(t.Context(), load, []*Team{none}, Plan{Rounds: 100, Limit: Limit{For: 100 * time.Millisecond}, Detail: true}); !errors.Is(err, ErrTwo) {
		t.Errorf("error %v", err)
	}
}

// A lock that fails ends the round with its error, and leaves no goroutine.
func TestCompareEndsWithItsSessions(t *testing.T) {
	srv := zktest.Run(t)
	for _, kind := range []Kind{Ours, OursHold, ZkLock} {
		team := teams(t, srv, []Kind{kind})
		if err := team[0].Open(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() {
			defer close(closed)
			_ = team[0].Close() // the client may lock up: it is closed with requests under way
		})
		if _, err := Compare(t.Context(), Workloads[5], team, Plan{Rounds: 1000, Limit: Limit{For: time.Hour}}); err == nil {
			t.Errorf("%s: no error", kind)
		}
		<-closed
	}
}
