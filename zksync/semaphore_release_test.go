package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A second Release waits no longer than its own ctx; the first goes on, and its
// result is that of those which wait for it.
func TestReleaseBesideAnother(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, s := z.Behind(t)
		at := z.Path(t)
		h, err := zksync.NewMutex(s, at).Hold(suite.Context(t))
		suite.Must(t, err)
		p.Blackhole()
		first := suite.Async(func() error { return h.Release(suite.Context(t)) })
		suite.Eventually(t, "the first is on its way", func() bool { return s.Stats().CleanupPending == 1 })
		for _, ctx := range []context.Context{suite.DoneContext(), suite.BrieflyFor(t, suite.Soon/20)} {
			e := suite.IsError(t, suite.Receive(t, suite.Async(func() error { return h.Release(ctx) })), ctx.Err())
			if e.Op != "release" || e.Path != at || e.Node != h.Node() {
				t.Errorf("%#v", e)
			}
		}
		second := suite.Async(func() error { return h.Release(suite.Context(t)) })
		select {
		case err := <-first:
			t.Fatalf("the deletion is confirmed without a network: %v", err)
		default:
		}
		p.Heal()
		one, two := suite.Receive(t, first), suite.Receive(t, second)
		if one != two || one != nil && !errors.Is(one, zksync.ErrLost) { // a busy machine may take too long
			t.Errorf("%v, and %v", one, two)
		}
		if again := h.Release(suite.DoneContext()); again != one {
			t.Errorf("%v, then %v", one, again)
		}
		z.Empty(t, at)
	})
}
