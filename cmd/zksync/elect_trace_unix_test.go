//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// saysParent is a command that prints its parent span and its node, and ends with code 3
// at SIGTERM.
const saysParent = `exec 2>/dev/null; trap 'exit 3' TERM; echo "node $ZKSYNC_NODE"; echo "parent $TRACEPARENT"; ` + proctest.Loop

// named returns the spans of a name, in order.
func named(spans []spanLine, name string) (found []spanLine) {
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// Each leadership has a span for its wait and one for its time, children of the span in the
// environment. The command's parent is the span of the leadership. A leadership that was
// lost is an error. The span of a wait has a link to the span of the leader.
func TestElectTrace(t *testing.T) {
	beside(t)
	lock := lockPath(t)
	start := func(identity string) *proctest.Process {
		p := zksyncElect(t, "--trace", "--identity", identity, lock, "--", "sh", "-c", saysParent)
		p.Env = append(p.Env, "TRACEPARENT=00-"+testTrace+"-"+testParent+"-01")
		return p.Start()
	}
	first := start("first")
	parent := told(t, first, 1, "parent ")
	second := start("second")
	second.Err.Await(t, "waiting for "+lock+", held by first ")

	if err := client(t).Delete(told(t, first, 1, "node "), -1); err != nil {
		t.Fatal(err)
	}
	told(t, second, 1, "parent ")
	first.Err.Await(t, "waiting for "+lock+", held by second ")
	second.Signal(syscall.SIGTERM)
	second.WantCode(3)
	again := told(t, first, 2, "parent ")
	first.Signal(syscall.SIGTERM)
	first.WantCode(3)

	a, rest := printedAll(t, first.Err.String())
	if !strings.Contains(rest, "stands for "+lock+" again") {
		t.Errorf("also printed: %q", rest)
	}
	waits, terms := named(a, "zksync acquire"), named(a, "zksync hold")
	if len(waits) != 2 || len(terms) != 2 || len(named(a, "zksync release")) != 1 { // a lost one has nothing to release
		t.Fatalf("%d waits and %d leaderships among %d spans", len(waits), len(terms), len(a))
	}
	for _, s := range append(waits, terms...) {
		if s.Parent.TraceID != testTrace || s.Parent.SpanID != testParent {
			t.Errorf("%s is a child of %+v", s.Name, s.Parent)
		}
	}
	for i, got := range []string{parent, again} {
		if want := "00-" + testTrace + "-" + terms[i].SpanContext.SpanID + "-01"; got != want {
			t.Errorf("the command's parent is %q, want %q", got, want)
		}
	}
	for i, want := range [][2]any{{"Error", "node_deleted"}, {"Unset", "unlocked"}} {
		if got := [2]any{terms[i].Status.Code, value(terms[i].Attributes, "zksync.lock.release.reason")}; got != want {
			t.Errorf("leadership %d ended with %v, want %v", i+1, got, want)
		}
	}

	b, _ := printed(t, second.Err.String())
	for _, l := range []struct {
		of     spanLine
		to     spanLine
		holder string
	}{{b["zksync acquire"], waits[0], "first"}, {waits[1], b["zksync acquire"], "second"}} {
		if len(l.of.Links) != 1 || l.of.Links[0].SpanContext != l.to.SpanContext || value(l.of.Links[0].Attributes, "zksync.blocked_by.identity") != l.holder {
			t.Errorf("links %+v, want one to %s's %+v", l.of.Links, l.holder, l.to.SpanContext)
		}
	}
}

// Without --trace nothing is printed, and the command inherits its parent.
func TestElectWithoutTrace(t *testing.T) {
	beside(t)
	p := zksyncElect(t, "-q", lockPath(t), "--", "sh", "-c", "echo $TRACEPARENT")
	p.Env = append(p.Env, "TRACEPARENT=inherited")
	p.Start().WantCode(0)
	if p.Out.String() != "inherited\n" || p.Err.String() != "" {
		t.Errorf("%q, %q", p.Out.String(), p.Err.String())
	}
}
