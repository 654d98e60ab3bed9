package demo

import (
	"strings"
	"testing"
)

// The exit codes of a lock that has failed. The holds are made up, because the
// lock does not fail.
func TestDemoExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		reports []report
		shown   bool
		code    int
		says    string
	}{
		{"all is well", []report{{What: released}, {What: holding, Fence: 6}}, true, 0, "no two holds overlapped"},
		{"overlap", []report{{What: holding, Fence: 6}}, true, 1, "WRONG: worker 1 with fence 5"},
		{"overlap, and not all was shown", []report{{What: holding, Fence: 6}}, false, 1, "WRONG: worker 1 with fence 5"},
		{"the fence does not grow", []report{{What: released}, {What: holding, Fence: 5}}, true, 1, "WRONG: fence 5"},
		{"not all was shown", []report{{What: released}, {What: holding, Fence: 6}}, false, 1, "not everything could be shown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := testDemo()
			for _, r := range append([]report{{What: holding, Fence: 5}}, tt.reports...) {
				r.Who = d.story.workers[0]
				if r.Fence == 6 {
					r.Who = d.story.workers[1]
				}
				if err := d.receive(r); err != nil {
					t.Fatal(err)
				}
			}
			summary, err := d.conclude(tt.shown)
			if code(err) != tt.code || (err != nil) != (tt.code != 0) {
				t.Errorf("ended with %v, want exit code %d", err, tt.code)
			}
			text := ""
			for _, l := range summary {
				text += l.text + "\n"
			}
			if !strings.Contains(text, tt.says) || tt.code != 0 && strings.Contains(text, "no two holds overlapped") {
				t.Errorf("the summary should say %q:\n%s", tt.says, text)
			}
		})
	}
	if summary, err := testDemo().conclude(true); code(err) != 1 {
		t.Errorf("nobody ever held the lock: %v, %v", summary, err)
	}
}
