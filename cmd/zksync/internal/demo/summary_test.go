package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// The exit codes of a lock that has failed. The holds are made up, because the
// lock does not fail.
func TestDemoExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		second held
		act    act
		code   int
		says   string
	}{
		{"all is well", held{fence: 6, begin: 21, end: 30}, finished, 0, "no two holds overlapped"},
		{"overlap", held{fence: 6, begin: 19, end: 30}, finished, 1, "WRONG: worker 1 with fence 5"},
		{"the fence does not grow", held{fence: 5, begin: 21, end: 30}, finished, 1, "WRONG: fence 5"},
		{"not all was shown", held{fence: 6, begin: 21, end: 30}, cutting, 1, "not everything could be shown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &demo{workers: 2, length: MinLength, script: script{act: tt.act}}
			d.judge.begin(0, 5, 10)
			d.judge.end(0, 20, saysRelease)
			d.judge.begin(1, tt.second.fence, tt.second.begin)
			d.judge.end(1, tt.second.end, saysRelease)
			summary, err := d.conclude()
			var e *exit.Error
			code := 0
			if errors.As(err, &e) {
				code = e.Code
			}
			if code != tt.code || (err != nil) != (code != 0) {
				t.Errorf("ended with %v, want exit code %d", err, tt.code)
			}
			text := ""
			for _, e := range summary {
				text += e.text + "\n"
			}
			if !strings.Contains(text, tt.says) || tt.code != 0 && strings.Contains(text, "no two holds overlapped") {
				t.Errorf("the summary should say %q:\n%s", tt.says, text)
			}
		})
	}
}
