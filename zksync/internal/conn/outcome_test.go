package conn

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"
)

func TestClassify(t *testing.T) {
	unknown := func(n int) error { return fmt.Errorf("unknown error: %d", n) }
	for _, test := range []struct {
		err  error
		want Outcome
	}{
		{nil, Answered},
		{zk.ErrNoNode, Answered},
		{zk.ErrNodeExists, Answered},
		{zk.ErrNoAuth, Answered},
		{zk.ErrBadVersion, Answered},
		{zk.ErrNotEmpty, Answered},
		{zk.ErrNoChildrenForEphemerals, Answered},
		{zk.ErrInvalidACL, Answered},
		{zk.ErrInvalidPath, Answered},
		{zk.ErrSessionExpired, NotSent},
		{fmt.Errorf("wrapped: %w", zk.ErrNoNode), Answered},
		{unknown(-6), Answered},
		{unknown(-125), Answered},
		{zk.ErrNoServer, NotSent},
		{ErrClosed, NotSent},
		{unknown(-127), NotSent},
		{zk.ErrConnectionClosed, Unknown},
		{zk.ErrClosing, Unknown},
		{zk.ErrUnknown, Unknown},
		{unknown(-4), Unknown},
		{unknown(-122), Unknown},
		{&net.OpError{Op: "write", Err: io.ErrClosedPipe}, Unknown},
		{io.EOF, Unknown},
		{context.DeadlineExceeded, Unknown},
	} {
		if got := Classify(test.err); got != test.want {
			t.Errorf("Classify(%v) = %v, want %v", test.err, got, test.want)
		}
	}
	if !Unimplemented(unknown(-6)) || Unimplemented(zk.ErrNoNode) || Unimplemented(nil) || Code(unknown(-124)) != -124 {
		t.Error("Unimplemented or Code")
	}
}
