package zksync_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The connection of a dialer of the program's own may have no buffer, as a tunnel. The
// deadline of a call bounds it also while a write blocks.
func TestDeadlineWhileAWriteBlocks(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var w suite.Wires
		_, s := z.Behind(t, zksync.WithSessionTimeout(time.Minute), suite.WithDialer(w.Dial))
		m := zksync.NewMutex(s, z.Path(t))
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
		blocked := make(chan struct{})
		w.OnWrite(func(int, []byte) error { <-blocked; return nil })
		got := suite.Async(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			return m.LockContext(ctx)
		})
		err := suite.Receive(t, got)
		close(blocked)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}
