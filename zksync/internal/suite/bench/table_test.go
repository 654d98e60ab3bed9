package bench_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestTable measures the rows of the table on one and on three real servers. With -table
// it writes the table to that page:
//
//	go test ./zksync/internal/suite/bench -run TestTable -table docs/cost.md -timeout 20m
//
// Without it the rounds are short, on an embedded server, and the table goes to the log: a
// test of the test. On real servers zk.Lock's client has stopped for ever now and then.
func TestTable(t *testing.T) {
	if *table == "" {
		suite.Long(t)
	}
	length := *each
	if length == 0 {
		length = 250 * time.Millisecond
		if *table == "" {
			length = 20 * time.Millisecond
		}
	}
	columns := map[int]map[string][]*measure.Result{}
	for _, n := range []int{1, 3} {
		if *table == "" {
			columns[n] = rows(t, suite.Embedded(t).Servers, length)
			break
		}
		columns[n] = rows(t, ensemble.Run(t, n).Addrs(), length)
	}
	if columns[3] == nil {
		columns[3] = columns[1]
	}
	text := markdown(columns[1], columns[3])
	t.Log("\n" + text)
	if *table != "" {
		suite.SetPagePart(t, *table, "ratios", text)
	}
}

// rows measures all workloads.
func rows(t *testing.T, addrs []string, length time.Duration) map[string][]*measure.Result {
	results := make(map[string][]*measure.Result)
	for _, load := range measure.Workloads {
		t.Run(fmt.Sprintf("%d/%s", len(addrs), load.Name), func(t *testing.T) {
			teams := newTeams(t, addrs, load)
			suite.Must(t, teams[0].MakeNode(t.Context(), root))
			plan := measure.Plan{Root: root, Rounds: *least, Detail: detailed(load)}
			plan.Limit.For = length
			r, err := measure.Compare(t.Context(), load, teams, plan)
			if err != nil {
				t.Fatal(err)
			}
			results[load.Name] = r
		})
	}
	if t.Failed() {
		t.FailNow()
	}
	return results
}

// markdown returns the table. What is counted is the same on one server and on three,
// so the columns of counts are those of one.
func markdown(one, three map[string][]*measure.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| cycle, zk.Lock = 1.00 | 1 server | 3 servers | floor | from Unlock to the next session's grant "+
		"| requests | events | goroutine runs | allocations | time |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, load := range measure.Workloads {
		r, r3 := one[load.Name], three[load.Name]
		floor, pass := "", ""
		if len(r) > 2 {
			floor = fmt.Sprintf("%.2f (%.2f)", r[2].Ratio(r[1]), r3[2].Ratio(r3[1]))
		}
		if p := passRatio(r); p > 0 {
			pass = fmt.Sprintf("%.2f (%.2f)", p, passRatio(r3))
		}
		fmt.Fprintf(&b, "| %s | **%s** | **%s** | %s | %s | %s | %s | %s | %s | %s |\n", load.Title,
			ratio(r[0].Ratio(r[1])), ratio(r3[0].Ratio(r3[1])), floor, pass,
			both(r, requests), both(r, events),
			both(r, func(r *measure.Round) float64 { return r.Runs }),
			both(r, func(r *measure.Round) float64 { return r.Allocs }), times(r))
	}
	fmt.Fprintf(&b, "\nMedians of %d rounds by turns, ZooKeeper on loopback, %s, %d processors for all of it. In brackets: 3 servers. "+
		"Counts and times: those of the library / of zk.Lock, 1 server.\n", *least, runtime.Version(), runtime.NumCPU())
	return b.String()
}

// ratio prints three digits at the most.
func ratio(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// both returns a count per cycle of the library and of zk.Lock.
func both(r []*measure.Result, count func(*measure.Round) float64) string {
	return fmt.Sprintf("%.1f / %.1f", r[0].PerCycle(count), r[1].PerCycle(count))
}

func times(r []*measure.Result) string {
	of := func(r *measure.Result) time.Duration {
		d := time.Duration(1e9 / r.Rate())
		if d < 100*time.Microsecond {
			return d.Round(10 * time.Nanosecond)
		}
		return d.Round(time.Microsecond)
	}
	return fmt.Sprintf("%v / %v", of(r[0]), of(r[1]))
}
