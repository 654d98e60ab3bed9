package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) != "" { // one of the two processes
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// Two processes on a real ZooKeeper: the span of the one that waits has a link
// whose span context is that of the one that holds, and says who that is.
func TestTwoProcesses(t *testing.T) {
	e := ensemble.Run(t, 1, ensemble.WithTick(500*time.Millisecond))
	lines, err := both(e.Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	spans, err := parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]span)
	for _, s := range spans {
		all[s.process()+" "+s.Name] = s
	}
	if len(all) != 10 {
		t.Fatalf("%d spans: %s", len(all), lines)
	}
	first, second := all["first acquire report"], all["second acquire report"]
	if len(first.Links) != 0 || len(second.Links) != 1 {
		t.Fatalf("links %v and %v", first.Links, second.Links)
	}
	link := second.Links[0]
	if link.SpanContext != first.SpanContext || second.SpanContext.TraceID == first.SpanContext.TraceID {
		t.Errorf("link to %v, want %v", link.SpanContext, first.SpanContext)
	}
	for key, want := range map[string]string{
		"zksync.link.relation": "blocked_by", "zksync.blocked_by.identity": "first",
		"zksync.blocked_by.node": value(first.Attributes, "zksync.lock.node"),
	} {
		if got := value(link.Attributes, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if a, b := all["first hold report"], all["second hold report"]; b.StartTime.Before(a.EndTime) {
		t.Errorf("held from %v, and the one before until %v", b.StartTime, a.EndTime)
	}
	for _, p := range []string{"first ", "second "} {
		if all[p+"work"].Parent != all[p+"hold report"].SpanContext || all[p+"hold report"].Parent != all[p+"job"].SpanContext {
			t.Errorf("the work of %sdoes not nest in the hold, or the hold in the job", p)
		}
	}
	picture := draw(spans)
	t.Log("\n" + picture)
	if !strings.Contains(picture, `"acquire report" of second has a link to "acquire report" of first: blocked by first (pid `) {
		t.Error("the link is not told")
	}
}
