package bench_test

import (
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// rounds is how many rounds a benchmark has.
const rounds = 9

// BenchmarkLock measures each row of the table in docs/cost.md. An operation is one
// cycle of the library: ns/op, B/op and allocs/op are the library's alone. starts/op is
// how many goroutines were made, runs/op how often one was made to run (the scheduler
// counts one run in eight). On the embedded server these three and the allocations
// contain the server's.
//
//	ratio           the library's rate, with zk.Lock's as 1
//	floor-ratio     the rate of the floor, with zk.Lock's as 1
//	of-floor        the library's rate, with the floor's as 1
//	acquire/create  the time from call to grant, with that of a bare create as 1
//	pass-ratio      the time from Unlock to the grant in another session, with zk.Lock's as 1
func BenchmarkLock(b *testing.B) {
	for _, on := range []struct {
		name    string
		servers func(b *testing.B) []string
	}{
		{"embedded", func(b *testing.B) []string { return []string{zktest.Run(b).Addr()} }},
		{"real", realServers},
	} {
		b.Run(on.name, func(b *testing.B) {
			addrs := on.servers(b)
			for _, load := range measure.Workloads {
				b.Run(load.Name, func(b *testing.B) {
					if err := benchmark(b, addrs, load); err != nil {
						b.Fatal(err)
					}
				})
			}
		})
	}
}

func realServers(b *testing.B) []string {
	return ensemble.Run(b, *servers).Addrs()
}

func benchmark(b *testing.B, addrs []string, load measure.Workload) error {
	teams := newTeams(b, addrs, load)
	if err := teams[0].MakeNode(b.Context(), root); err != nil {
		return err
	}
	plan := measure.Plan{Root: root, Rounds: rounds, Detail: detailed(load)}
	plan.Limit.Cycles = max(1, int64(b.N+rounds-1)/rounds)
	if !plan.Detail {
		plan.Longer = 64 // nothing is sent for most of the cycles
		plan.Limit.Cycles = max(1, plan.Limit.Cycles/plan.Longer)
	}
	b.ResetTimer()
	results, err := measure.Compare(b.Context(), load, teams, plan)
	b.StopTimer()
	if err != nil {
		return err
	}
	report(b, results)
	return nil
}

// detailed reports whether the times of single calls are recorded. That would slow down
// a lock that passes between goroutines in a microsecond.
func detailed(load measure.Workload) bool {
	return load.Paths != measure.Shared || load.Sessions > 1
}

// newTeams returns a team for each kind of lock of a workload.
func newTeams(tb testing.TB, addrs []string, load measure.Workload) []*measure.Team {
	tb.Helper()
	target := measure.Target{Servers: addrs, Timeout: 10 * time.Second,
		Options: []zksync.DialOption{zksync.WithLogger(suite.Logger(tb))}}
	var teams []*measure.Team
	for _, kind := range load.Kinds {
		t := measure.NewTeam(kind, target)
		tb.Cleanup(func() {
			if err := t.Close(); err != nil {
				tb.Error(err)
			}
		})
		teams = append(teams, t)
	}
	return teams
}

// root is the node that the locks of all benchmarks are below.
const root = "/bench"

func report(b *testing.B, results []*measure.Result) {
	ours, zkLock := results[0], results[1]
	b.ReportMetric(1e9/ours.Rate(), "ns/op")
	b.ReportMetric(ours.Ratio(zkLock), "ratio")
	b.ReportMetric(ours.PerCycle(func(r *measure.Round) float64 { return r.Allocs }), "allocs/op")
	b.ReportMetric(ours.PerCycle(func(r *measure.Round) float64 { return r.Bytes }), "B/op")
	for prefix, r := range map[string]*measure.Result{"": ours, "zk.Lock-": zkLock} {
		b.ReportMetric(r.PerCycle(requests), prefix+"requests/op")
		b.ReportMetric(r.PerCycle(events), prefix+"events/op")
		b.ReportMetric(r.PerCycle(func(r *measure.Round) float64 { return r.Started }), prefix+"starts/op")
		b.ReportMetric(r.PerCycle(func(r *measure.Round) float64 { return r.Runs }), prefix+"runs/op")
	}
	if len(results) > 2 {
		b.ReportMetric(results[2].Ratio(zkLock), "floor-ratio")
		b.ReportMetric(ours.Ratio(results[2]), "of-floor")
		b.ReportMetric(acquireToCreate(results), "acquire/create")
	}
	if p := passRatio(results); p > 0 {
		b.ReportMetric(p, "pass-ratio")
	}
}

func requests(r *measure.Round) float64 { return float64(r.Requests) }
func events(r *measure.Round) float64   { return float64(r.Events) }

func acquireToCreate(results []*measure.Result) float64 {
	return float64(results[0].Wait()) / float64(results[2].Wait())
}

// passRatio is 0 if the lock did not go from session to session.
func passRatio(results []*measure.Result) float64 {
	if results[0].Rounds[0].Passes == nil {
		return 0
	}
	zk := results[1].Pass()
	if zk == 0 {
		return 0
	}
	return float64(results[0].Pass()) / float64(zk)
}
