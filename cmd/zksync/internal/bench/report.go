package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zklocker/go-zksync/internal/measure"
)

// Report is what the command prints. The help documents its fields.
type Report struct {
	Version   int        `json:"version"`
	Zksync    string     `json:"zksync"`
	Go        string     `json:"go"`
	Servers   []string   `json:"servers"`
	Path      string     `json:"path"`
	Duration  seconds    `json:"duration_seconds"`
	Rounds    int        `json:"rounds"`
	Workloads []Workload `json:"workloads"`
}

// Workload is what was measured of one workload.
type Workload struct {
	Name       string `json:"name"`
	Title      string `json:"title"`
	Sessions   int    `json:"sessions"`
	Goroutines int    `json:"goroutines"`
	Locks      []Lock `json:"locks"`
}

// Lock is what was measured of one way to lock.
type Lock struct {
	Name     string    `json:"name"`
	Cycles   int64     `json:"cycles"`
	Rate     float64   `json:"cycles_per_second"`
	Ratio    float64   `json:"ratio"`
	Requests float64   `json:"requests_per_cycle"`
	Events   float64   `json:"events_per_cycle"`
	Acquire  *Spread   `json:"acquire_seconds,omitempty"`
	Pass     *Spread   `json:"pass_seconds,omitempty"`
	Fairness *Fairness `json:"fairness,omitempty"`
}

// Spread describes a number of times.
type Spread struct {
	P50 seconds `json:"p50"`
	P99 seconds `json:"p99"`
	Max seconds `json:"max"`
}

// Fairness says how evenly several sessions shared a lock.
type Fairness struct {
	Jain  float64 `json:"jain"`
	Worst float64 `json:"worst_to_median,omitempty"`
}

// seconds is a duration as JSON shows it.
type seconds time.Duration

// MarshalJSON returns the seconds as a number.
func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (b *Bench) newReport() *Report {
	return &Report{Version: 1, Go: runtime.Version(), Servers: b.Target.Servers, Path: b.Root, Rounds: rounds}
}

// add adds the results of a workload.
func (r *Report) add(load measure.Workload, results []*measure.Result) {
	w := Workload{Name: load.Name, Title: load.Title, Sessions: load.Sessions, Goroutines: load.Goroutines}
	base := results[0]
	for _, x := range results {
		if x.Kind == measure.ZkLock {
			base = x
		}
	}
	for _, x := range results {
		l := Lock{
			Name: string(x.Kind), Rate: x.Rate(), Ratio: x.Ratio(base),
			Requests: x.PerCycle(func(r *measure.Round) float64 { return float64(r.Requests) }),
			Events:   x.PerCycle(func(r *measure.Round) float64 { return float64(r.Events) }),
			Acquire:  spread(x.Waits()), Pass: spread(x.Passes()),
		}
		for _, round := range x.Rounds {
			l.Cycles += round.Cycles
		}
		if load.Sessions > 1 {
			l.Fairness = &Fairness{Jain: x.Fairness()}
			// In a very short round one session may have had all turns.
			if turns := x.Turns(); turns.Count() > 0 {
				l.Fairness.Worst = float64(turns.Max()) / float64(max(1, turns.Quantile(0.5)))
			}
		}
		w.Locks = append(w.Locks, l)
	}
	r.Workloads = append(r.Workloads, w)
}

func spread(t *measure.Times) *Spread {
	if t.Count() == 0 {
		return nil
	}
	return &Spread{seconds(t.Quantile(0.5)), seconds(t.Quantile(0.99)), seconds(t.Max())}
}

// WriteJSON writes the report as one object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report for a reader.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, load := range r.Workloads {
		if i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintf(t, "%s\n", load.Title)
		fmt.Fprintln(t, strings.Join([]string{"", "cycles/s", "ratio", "p50", "p99", "max", "pass", "requests", "fair", "worst", ""}, "\t"))
		for _, l := range load.Locks {
			pass, fair, worst := "", "", ""
			if l.Pass != nil {
				pass = short(l.Pass.P50)
			}
			if l.Fairness != nil {
				fair = fmt.Sprintf("%.3f", l.Fairness.Jain)
				if l.Fairness.Worst > 0 {
					worst = fmt.Sprintf("%.1f", l.Fairness.Worst)
				}
			}
			fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t\n", l.Name, l.Rate, l.Ratio,
				short(l.Acquire.P50), short(l.Acquire.P99), short(l.Acquire.Max), pass, l.Requests, fair, worst)
		}
	}
	return t.Flush()
}

// short prints a time with three digits or so.
func short(s seconds) string {
	d := time.Duration(s)
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
