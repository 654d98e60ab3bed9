package zksync_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
)

// A second Release waits no longer than its own ctx; the first goes on, and its
// result is that of those which wait for it.
func TestReleaseBesideAnother(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		p, s := z.behind(t)
		at := lockPath(t)
		h, err := zksync.NewMutex(s, at).Hold(short(t))
		ok(t, err)
		p.Blackhole(true, true)
		first := async(func() error { return h.Release(short(t)) })
		eventually(t, "the first is on its way", func() bool { return s.Stats().CleanupPending == 1 })
		for _, ctx := range []context.Context{done(), brieflyFor(t, soon/20)} {
			e := isError(t, get(t, async(func() error { return h.Release(ctx) })), ctx.Err())
			if e.Op != "release" || e.Path != at || e.Node != h.Node() {
				t.Errorf("%#v", e)
			}
		}
		second := async(func() error { return h.Release(short(t)) })
		select {
		case err := <-first:
			t.Fatalf("the deletion is confirmed without a network: %v", err)
		default:
		}
		p.Heal()
		one, two := get(t, first), get(t, second)
		if one != two || one != nil && !errors.Is(one, zksync.ErrLost) { // a busy machine may take too long
			t.Errorf("%v, and %v", one, two)
		}
		if again := h.Release(done()); again != one {
			t.Errorf("%v, then %v", one, again)
		}
		z.empty(t, at)
	})
}
