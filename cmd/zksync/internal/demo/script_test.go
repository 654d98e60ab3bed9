package demo

import (
	"errors"
	"os"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

func code(err error) int {
	var e *exit.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// testDemo returns a demo whose workers' processes were killed before they started.
func testDemo() *demo {
	d := &demo{story: newStory(2, MinLength), workers: make(map[string]*workerProcess)}
	for _, name := range d.story.workers {
		d.workers[name] = &workerProcess{name: name, killed: true}
	}
	return d
}

// A hold ends with the first that ends it: a release, a loss, or a kill. The kernel may
// take long to say that a process that was killed is gone.
func TestHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		reports []report
		faults  int
	}{
		"released":  {[]report{{What: released}}, 0},
		"lost":      {[]report{{What: lost}, {What: waiting}}, 0},
		"killed":    {[]report{{What: killed, Text: "5"}}, 0},
		"no end":    {nil, 1},
		"it waits?": {[]report{{What: waiting}}, 1},
	} {
		d := testDemo()
		reports := []report{{Who: "worker 1", What: holding, Fence: 5}}
		for _, r := range tt.reports {
			r.Who = "worker 1"
			reports = append(reports, r)
		}
		for _, r := range append(reports, report{Who: "worker 2", What: holding, Fence: 7}) {
			if err := d.receive(r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if len(d.judge.faults) != tt.faults {
			t.Errorf("%s: faults %q, want %d", name, d.judge.faults, tt.faults)
		}
	}
}

// A worker that ends though nobody has killed it ends the demo, and so does what is no
// report.
func TestReceiveEnds(t *testing.T) {
	d := testDemo()
	d.workers["worker 1"].killed = false
	if err := d.receive(report{Who: "worker 1", What: gone, Text: "exit status 2"}); code(err) != exit.Unavailable {
		t.Errorf("a worker that is gone: %v", err)
	}
	if err := d.receive(report{Text: "hello"}); code(err) != exit.OS {
		t.Errorf("no report: %v", err)
	}
}

// The kill of a worker is in the pipe as soon as it was killed, before its process is gone.
func TestKillIsReported(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := testDemo()
	d.pipe, d.reports, d.victim = to, make(chan report, 1), &report{Who: "worker 1", What: writing, Fence: 5}
	if err := d.kill(); err != nil {
		t.Fatal(err)
	}
	to.Close()
	d.listen(from)
	if r, want := <-d.reports, (report{Who: "worker 1", What: killed, Text: "5"}); r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}
