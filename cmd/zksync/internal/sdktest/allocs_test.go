package sdktest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/zklocker/go-zksync/tracing"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// most is what a lock and its unlock may allocate for a tracer whose SDK samples
// nothing. Without a tracer the memory of a call comes from a pool, which is a few of them.
const most = 11

// unsampled is an adapter with an SDK that samples no span, and has metrics.
func unsampled() *zksync.Tracer {
	spans := sdk.NewTracerProvider(sdk.WithSampler(sdk.NeverSample()))
	meters := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
	return tracing.New(tracing.WithTracerProvider(spans), tracing.WithMeterProvider(meters))
}

func session(t testing.TB, tracer *zksync.Tracer) *zksync.Session {
	t.Helper()
	srv := zktest.Run(t)
	s, err := zksync.Dial(context.Background(), []string{srv.Addr()}, zksync.WithTracer(tracer), zksync.WithLogger(discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// handovers has goroutines pass a lock on, and returns what one of the
// hand-overs allocates and takes.
func handovers(t testing.TB, tracer *zksync.Tracer) (allocs float64, took time.Duration) {
	const workers, each = 16, 300
	s := session(t, tracer)
	m := zksync.NewMutex(s, lockPath, zksync.WithHandoff(workers*each))
	m.Lock()
	done := make(chan bool)
	for range workers {
		go func() {
			for range each {
				m.Lock()
				m.Unlock()
			}
			done <- true
		}()
	}
	for s.Stats().Waiting < workers {
		time.Sleep(time.Millisecond)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	m.Unlock()
	for range workers {
		<-done
	}
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	handed := float64(s.Stats().Handoffs)
	if handed < workers*each*9/10 {
		t.Logf("only %v hand-overs", handed)
	}
	return float64(after.Mallocs-before.Mallocs) / (workers * each), took / (workers * each)
}

// least is the least of some measurements: a lock that a busy machine does not
// pass on within the session costs more.
func least(t testing.TB, tracer func() *zksync.Tracer) (allocs float64, took time.Duration) {
	allocs, took = handovers(t, tracer())
	for range 11 {
		a, d := handovers(t, tracer())
		allocs, took = min(allocs, a), min(took, d)
	}
	return allocs, took
}

// A hand-over within a session, with everything on the way.
func TestAllocationsOfAHandover(t *testing.T) {
	none, noneTook := least(t, func() *zksync.Tracer { return nil })
	empty, emptyTook := least(t, func() *zksync.Tracer { return &zksync.Tracer{} })
	with, withTook := least(t, unsampled)
	t.Logf("no tracer: %.1f allocations, %v; one without functions: %.1f, %v; nothing sampled: %.1f, %v",
		none, noneTook, empty, emptyTook, with, withTook)
	if empty > none+0.5 {
		t.Errorf("a tracer without functions adds %.1f allocations", empty-none)
	}
	if with-none > most+0.5 {
		t.Errorf("an SDK that samples nothing adds %.1f allocations, want at most %d", with-none, most)
	}
}

// A free lock, which is mostly requests.
func TestAllocationsOfAFreeLock(t *testing.T) {
	measure := func(tracer *zksync.Tracer) float64 {
		m := zksync.NewMutex(session(t, tracer), lockPath)
		best := 1e9
		for range 5 {
			best = min(best, testing.AllocsPerRun(200, func() { m.Lock(); m.Unlock() }))
		}
		return best
	}
	none, with := measure(nil), measure(unsampled())
	t.Logf("%v allocations, and %v with a tracer", none, with)
	if with-none > most+1 { // AllocsPerRun rounds down
		t.Errorf("an SDK that samples nothing adds %v allocations, want at most %d", with-none, most)
	}
}

// The functions of the tracer for one call, without the lock: exact.
func TestAllocationsOfTheTracer(t *testing.T) {
	tr, a := unsampled(), zksync.AcquireInfo{Path: lockPath, Mode: zksync.ModeMutex}
	n := testing.AllocsPerRun(1000, func() {
		call := tr.AcquireStart(context.Background(), a)
		tr.Parent(call)
		tr.Blocked(call, zksync.Peer{LockNode: zksync.LockNode{Node: "/n", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, Position: 1})
		hold := tr.HoldStart(call, a)
		tr.AcquireEnd(call, a, zksync.AcquireEndInfo{Node: "/n"})
		tr.HoldEnd(hold, a, zksync.HoldEndInfo{Reason: zksync.EndUnlocked})
		tr.ReleaseEnd(tr.ReleaseStart(hold, a), a, zksync.ReleaseEndInfo{Confirmed: true})
	})
	t.Logf("%v allocations", n)
	if n > 5 {
		t.Errorf("%v allocations, want at most 5", n)
	}
}
