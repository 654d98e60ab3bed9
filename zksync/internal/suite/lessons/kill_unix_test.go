//go:build unix

package lessons_test

import (
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A killed process's lock is free when its session is over, and not before.
func TestKilledHolder(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, st := suite.Context(t), z.Path(t), newStore(t)
		c := suite.StartChild(t, "writer", "ZKSYNC_TEST_SERVER", z.Servers[0], "ZKSYNC_TEST_PATH", p,
			"ZKSYNC_TEST_STORE", st.ln.Addr().String(), "ZKSYNC_TEST_LOOK", "err")
		fence, node, err := c.Holds(ctx)
		suite.Must(t, err)
		raw, s := z.Raw(t), z.Dial(t)
		next := suite.Async(func() suite.Grant {
			h, err := zksync.NewMutex(s, p).Hold(ctx)
			return suite.Grant{Hold: h, Err: err}
		})
		suite.Must(t, c.Process.Kill())
		g := suite.Receive(t, next)
		suite.Must(t, g.Err)
		if there, _, err := raw.Exists(node); err != nil || there {
			t.Errorf("granted while the killed holder's node was there (%v)", err)
		}
		if g.Hold.Fence() <= fence {
			t.Errorf("fence %d came after fence %d", g.Hold.Fence(), fence)
		}
		suite.Must(t, g.Hold.Release(ctx))
	})
}
