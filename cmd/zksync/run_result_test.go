package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/zksync"
)

// The last line says how the command has ended, above all that it has not.
func TestRunResult(t *testing.T) {
	lost := fmt.Errorf("%w: the lock's node was deleted", zksync.ErrLost)
	for _, tt := range []struct {
		argv []string
		end  job.End
		code int
		says string
	}{
		{[]string{"x"}, job.End{}, 0, ""},
		{[]string{"x"}, job.End{Code: 3}, 3, "exit code 3"},
		{[]string{"x"}, job.End{Code: 3, Lost: lost}, 80, "/lock was lost while the command ran (exit code 3 of its own): the lock's node was deleted"},
		{nil, job.End{Code: 130}, 130, "exit code 130"},
		{nil, job.End{Lost: lost}, 80, "/lock was lost: the lock's node was deleted"},
		{[]string{"x"}, job.End{Lost: lost, Running: 42}, 80, "/lock was lost, and the command STILL RUNS WITHOUT THE LOCK (process group 42): " +
			"it runs as another user, and zksync may not kill it: the lock's node was deleted"},
	} {
		r := &runner{locks: locks{paths: []string{"/lock"}}, argv: tt.argv, lostCode: 80}
		code, says := 0, ""
		if err := r.result(tt.end); err != nil {
			says = err.Error()
			var e *exit.Error
			if errors.As(err, &e) {
				code = e.Code
			}
		}
		if code != tt.code || says != tt.says {
			t.Errorf("%+v: code %d, %q; want %d, %q", tt.end, code, says, tt.code, tt.says)
		}
	}
}
