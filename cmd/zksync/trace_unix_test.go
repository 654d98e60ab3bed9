//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// spanLine is a line that --trace prints.
type spanLine struct {
	Name        string
	SpanContext struct{ TraceID, SpanID string }
	Parent      struct{ TraceID, SpanID string }
	Links       []struct {
		SpanContext struct{ TraceID, SpanID string }
		Attributes  []attr
	}
	Attributes []attr
	Resource   []attr
	Status     struct{ Code string }
}

type attr struct {
	Key   string
	Value struct{ Value any }
}

func value(list []attr, key string) any {
	for _, a := range list {
		if a.Key == key {
			return a.Value.Value
		}
	}
	return nil
}

// printed returns the spans among the lines by their names, and the other lines.
func printed(t *testing.T, text string) (spans map[string]spanLine, rest string) {
	t.Helper()
	all, rest := printedAll(t, text)
	spans = make(map[string]spanLine)
	for _, s := range all {
		spans[s.Name] = s
	}
	return spans, rest
}

// printedAll returns the spans among the lines, in order, and the other lines.
func printedAll(t *testing.T, text string) (spans []spanLine, rest string) {
	t.Helper()
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "{") {
			rest += l
			continue
		}
		var s spanLine
		if err := json.Unmarshal([]byte(l), &s); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		spans = append(spans, s)
	}
	return spans, rest
}

const (
	testTrace  = "0af7651916cd43dd8448eb211c80319c"
	testParent = "b7ad6b7169203331"
)

// The spans are children of the span in the environment, whether that is sampled or
// not. The command's parent is the span of the hold. The span of a wait has a link
// to the span of the holder. The other output is as without --trace.
func TestRunTrace(t *testing.T) {
	lock := lockPath(t)
	first := proctest.Prepare(t, roleCommand, "run", "--trace", "--identity", "first", "--servers", zookeeper(t).addr, lock, "--",
		"sh", "-c", `exec 2>/dev/null; trap 'exit 3' TERM; echo "parent $TRACEPARENT,$TRACESTATE"; `+proctest.Loop)
	first.Env = append(first.Env, "TRACEPARENT=00-"+testTrace+"-"+testParent+"-00", "TRACESTATE=a=b", "OTEL_RESOURCE_ATTRIBUTES=zone=b")
	first.Start()
	parent := first.Out.Await(t, "parent ")

	second := zksyncRun(t, "--trace", lock, "--", "sh", "-c", `echo "parent $TRACEPARENT,$TRACESTATE"`)
	second.Env = append(second.Env, "TRACEPARENT=nonsense", "TRACESTATE=x=y")
	said := "zksync: waiting for " + lock + ", "
	said += second.Start().Err.Await(t, said) + "\n"
	first.Signal(syscall.SIGTERM)
	first.WantCode(3)
	second.WantCode(0)

	a, rest := printed(t, first.Err.String())
	if rest != "" || len(a) != 3 {
		t.Fatalf("%d spans, and %q", len(a), rest)
	}
	acquire, hold, release := a["zksync acquire"], a["zksync hold"], a["zksync release"]
	for _, s := range []spanLine{acquire, hold} {
		if s.Parent.TraceID != testTrace || s.Parent.SpanID != testParent {
			t.Errorf("%s is a child of %+v", s.Name, s.Parent)
		}
	}
	if want := "00-" + testTrace + "-" + hold.SpanContext.SpanID + "-01,a=b"; parent != want || release.Parent.SpanID != hold.SpanContext.SpanID {
		t.Errorf("the command's parent is %q, want %q", parent, want)
	}
	if value(acquire.Resource, "service.name") != "zksync" || value(acquire.Resource, "zone") != "b" {
		t.Errorf("resource %v", acquire.Resource)
	}

	b, rest := printed(t, second.Err.String())
	wait := b["zksync acquire"]
	if rest != said || len(b) != 3 || len(wait.Links) != 1 {
		t.Fatalf("%d spans, %d links, and %q", len(b), len(wait.Links), rest)
	}
	if l := wait.Links[0]; l.SpanContext != acquire.SpanContext || value(l.Attributes, "zksync.blocked_by.identity") != "first" ||
		value(l.Attributes, "zksync.blocked_by.pid") != float64(first.Process.Pid) {
		t.Errorf("link %+v, want one to %+v", l, acquire.SpanContext)
	}
	h := b["zksync hold"].SpanContext
	if got, want := second.Out.String(), "parent 00-"+h.TraceID+"-"+h.SpanID+"-01,\n"; got != want {
		t.Errorf("the command's parent is %q, want %q", got, want)
	}
	if wait.Parent.SpanID != strings.Repeat("0", 16) {
		t.Errorf("a child of %+v", wait.Parent)
	}
}

// Without --trace nothing is printed, and the command inherits its parent.
func TestRunWithoutTrace(t *testing.T) {
	p := zksyncRun(t, lockPath(t), "--", "sh", "-c", "echo $TRACEPARENT")
	p.Env = append(p.Env, "TRACEPARENT=inherited")
	p.Start().WantCode(0)
	if p.Out.String() != "inherited\n" || p.Err.String() != "" {
		t.Errorf("%q, %q", p.Out.String(), p.Err.String())
	}
}

// The span of a wait that is given up says so.
func TestRunTraceConflict(t *testing.T) {
	long(t)
	lock := lockPath(t)
	h := holder(t, lock)
	for flags, want := range map[string][2]any{"-n": {"busy", nil}, "-w 2": {"error", "deadline_exceeded"}} {
		p := zksyncRun(t, append(strings.Fields("--trace -q "+flags), lock, "--", "true")...).Start()
		p.WantCode(1)
		spans, rest := printed(t, p.Err.String())
		s := spans["zksync acquire"]
		if got := [2]any{value(s.Attributes, "zksync.lock.result"), value(s.Attributes, "error.type")}; got != want || len(spans) != 1 || rest != "" {
			t.Errorf("%s: %v, %d spans, and %q", flags, got, len(spans), rest)
		}
	}
	h.Signal(syscall.SIGTERM)
	h.WantCode(0)
}
