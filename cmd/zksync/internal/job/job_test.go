package job_test

import (
	"fmt"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/zksync"
)

// The reason of a loss stands behind the lock's name, and does not repeat it.
func TestReason(t *testing.T) {
	lost := fmt.Errorf("%w: the lock's node was deleted", zksync.ErrLost)
	for _, err := range []error{lost, &zksync.Error{Op: "hold", Path: "/a", Node: "/a/b", Err: lost}} {
		if got := job.Reason(err); got != "the lock's node was deleted" {
			t.Errorf("%v: %q", err, got)
		}
	}
}
