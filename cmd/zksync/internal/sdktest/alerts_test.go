package sdktest_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/zklocker/go-zksync/zksync"
)

// prometheus are the metrics and labels that there are, by the names which they
// have there.
func (r *rig) prometheus(t *testing.T) map[string]bool {
	var all metricdata.ResourceMetrics
	ok(t, r.reader.Collect(context.Background(), &all))
	names := make(map[string]bool)
	name := func(s string) string { return strings.ReplaceAll(s, ".", "_") }
	labels := func(set attribute.Set) {
		for _, kv := range set.ToSlice() {
			names[name(string(kv.Key))] = true
		}
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			base := name(m.Name)
			if m.Unit == "s" {
				base += "_seconds"
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				if data.IsMonotonic {
					base += "_total"
				}
				for _, p := range data.DataPoints {
					labels(p.Attributes)
				}
			case metricdata.Histogram[float64]:
				names[base+"_bucket"], names[base+"_count"], names[base+"_sum"] = true, true, true
				for _, p := range data.DataPoints {
					labels(p.Attributes)
				}
			case metricdata.Histogram[int64]:
				names[base+"_bucket"], names[base+"_count"], names[base+"_sum"] = true, true, true
			}
			if m.Description == "" || m.Unit == "" {
				t.Errorf("%s has no description or unit", m.Name)
			}
			names[base] = true
		}
	}
	return names
}

// The alerts, and the README's table, name what there is.
func TestAlertsNameWhatThereIs(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := r.dial()
		m := zksync.NewMutex(s, lockPath)
		m.Lock()
		second := async(func() error { return m.LockContext(context.Background()) })
		waiting(s, 1)
		m.Unlock() // a hand-over
		ok(t, <-second)
		m.Unlock()
		r.srv.Disconnect(s.ID())
		ok(t, s.Ping(context.Background()))
		synctest.Wait() // the session's events are reported beside its calls
		there := r.prometheus(t)
		for _, file := range []string{"tracing/alerts.yml", "tracing/dashboard.json", "README.md"} {
			text, err := os.ReadFile(filepath.Join("../../../..", file))
			ok(t, err)
			for _, name := range regexp.MustCompile(`\bzksync_(lock|session|cleanup)_\w+`).FindAllString(string(text), -1) {
				if !there[name] && name != "zksync_lock_name" {
					t.Errorf("%s: there is no %s", file, name)
				}
			}
		}
		if n := strings.Count(strings.Join(keys(there), " "), "_bucket"); n != 3 {
			t.Errorf("%d histograms: %v", n, keys(there))
		}
	})
}

func keys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// waiting waits until n calls of a session wait.
func waiting(s *zksync.Session, n int) {
	for s.Stats().Waiting != n {
		time.Sleep(time.Millisecond) // virtual
	}
}
