package measure

import (
	"runtime"
	"runtime/metrics"
)

// Process is what the process has done so far, or the difference of two such counts.
type Process struct {
	Allocs  float64
	Bytes   float64 // allocated
	Started float64 // goroutines made; 0 where the runtime does not count them, before Go 1.26
	// Runs is how often a goroutine was made to run, roughly: the scheduler counts one in
	// eight.
	Runs float64
}

func (p Process) minus(q Process) Process {
	return Process{p.Allocs - q.Allocs, p.Bytes - q.Bytes, p.Started - q.Started, p.Runs - q.Runs}
}

// processNow reads the counts. It stops the process for some microseconds.
func processNow() Process {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p := Process{Allocs: float64(m.Mallocs), Bytes: float64(m.TotalAlloc)}
	samples := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(samples)
	if v := samples[0].Value; v.Kind() == metrics.KindUint64 {
		p.Started = float64(v.Uint64())
	}
	if v := samples[1].Value; v.Kind() == metrics.KindFloat64Histogram {
		for _, n := range v.Float64Histogram().Counts {
			p.Runs += 8 * float64(n)
		}
	}
	return p
}
