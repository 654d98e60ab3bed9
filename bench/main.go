// Command bench compares the locks of package zksync on ZooKeeper with etcd's
// concurrency.Mutex and with redsync's mutex on Redis, each on a server of its own on
// loopback:
//
//	cd bench && GOWORK=off go run .
//
// README.md says what the figures mean, and what they do not.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"github.com/zklocker/go-zksync/internal/measure"
)

// workloads are what is compared. The kinds are not used: all locks run.
var workloads = []measure.Workload{
	{Name: "free", Title: "a free lock, one goroutine", Sessions: 1, Goroutines: 1, Paths: measure.Own},
	{Name: "many", Title: "64 free locks at once, one session", Sessions: 1, Goroutines: 64, Paths: measure.Own},
	{Name: "sessions", Title: "8 sessions on one lock", Sessions: 8, Goroutines: 1},
	{Name: "goroutines", Title: "64 goroutines of one process on one lock", Sessions: 1, Goroutines: 64},
}

func main() {
	if os.Getenv(envRole) == roleEtcd {
		serveEtcd()
		return
	}
	rounds := flag.Int("rounds", 9, "rounds of each lock in each workload")
	each := flag.Duration("each", 250*time.Millisecond, "length of a round")
	only := flag.String("run", "", "only workloads whose name matches this `expression`")
	fsync := flag.Bool("fsync", false, "have Redis write each lock to its disk before it answers, as the others do")
	flag.Parse()
	if err := run(os.Stdout, *rounds, *each, *only, *fsync); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, rounds int, each time.Duration, only string, fsync bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "zksync-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	servers, err := start(dir, fsync)
	defer servers.stop()
	if err != nil {
		return err
	}
	teams := servers.teams()
	for _, t := range teams {
		defer t.Close()
	}
	fmt.Fprintf(out, "%s\n%s, %d processors for all of it; medians of %d rounds of %v by turns\n", servers.about, runtime.Version(),
		runtime.NumCPU(), rounds, each)
	if err := teams[0].MakeNode(ctx, "/bench"); err != nil {
		return err
	}
	for _, load := range workloads {
		if !match.MatchString(load.Name) {
			continue
		}
		plan := measure.Plan{Root: "/bench", Rounds: rounds, Limit: measure.Limit{For: each}, Detail: true}
		results, err := measure.Compare(ctx, load, teams, plan)
		if err != nil {
			return err
		}
		print(out, load, results)
	}
	return nil
}

// print prints a table in markdown.
func print(out io.Writer, load measure.Workload, results []*measure.Result) {
	fmt.Fprintf(out, "\n%s\n\n| lock | cycles/s | ratio | p50 | p99 | longest | fairness |\n|---|---|---|---|---|---|---|\n", load.Title)
	for _, r := range results {
		waits, fair := r.Waits(), ""
		if load.Sessions > 1 {
			fair = fmt.Sprintf("%.3f", r.Fairness())
		}
		fmt.Fprintf(out, "| %s | %.0f | %.2f | %v | %v | %v | %s |\n", r.Kind, r.Rate(), r.Ratio(results[0]),
			short(waits.Quantile(0.5)), short(waits.Quantile(0.99)), short(waits.Max()), fair)
	}
}

func short(d time.Duration) time.Duration {
	if d < 100*time.Microsecond {
		return d.Round(10 * time.Nanosecond)
	}
	return d.Round(10 * time.Microsecond)
}
