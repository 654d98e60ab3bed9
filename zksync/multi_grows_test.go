package zksync_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A call that takes a place in line over may have more to say than the one that took
// it. A Multi that is too large for that is refused before it stands anywhere, and
// the largest that is not stands anew with the most that it can have to say.
func TestMultiHasRoomForWhoTakesThePlaceOver(t *testing.T) {
	suite.Beside(t)
	for name, opts := range map[string][]zksync.DialOption{"names": nil, "nothing": {zksync.WithoutNodeInfo()}} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				srv := z.Server
				ctx := suite.Context(t)
				s, other := z.Via(t, srv.Dial, opts...), z.Via(t, srv.Dial)
				of := func(n int) *zksync.Multi {
					var all []zksync.Locker
					for i := range n {
						all = append(all, zksync.NewMutex(s, fmt.Sprintf("/m%04d", i)))
					}
					return zksync.NewMulti(all...)
				}
				most, over := 1, 2000
				for most+1 < over {
					n := (most + over) / 2
					m := of(n)
					if err := m.LockContext(ctx); err != nil {
						tooLarge(t, err)
						over = n
					} else {
						suite.Must(t, m.UnlockContext(ctx))
						most = n
					}
				}
				multi := of(most)
				om := zksync.NewMutex(other, "/m0000")
				suite.Must(t, om.LockContext(ctx))
				gone, cancel := context.WithCancel(ctx)
				first := suite.Async(func() error { return multi.LockContext(gone) })
				suite.InLine(t, other.Conn(), "/m0000", 2)
				// Its id and its name are as long as they get, and all has to be escaped.
				o := zksync.NewOwner(strings.Repeat(`"`, 40))
				second := suite.Async(func() error { return multi.As(o).LockContext(ctx) })
				suite.AwaitWaiting(t, s, 2)
				cancel()
				suite.IsError(t, suite.Receive(t, first), context.Canceled)
				if opts == nil {
					node := nodeBehind(t, other, "/m0000")
					suite.Eventually(t, "the node tells who waits now", func() bool {
						data, _, err := other.Conn().Get(node)
						return err == nil && strings.Contains(string(data), `\"\"`)
					})
				}
				id := s.ID()
				srv.Expire(id)
				suite.Eventually(t, "it stands again", func() bool {
					return s.ID() != id && len(suite.Children(t, other.Conn(), "/m0000")) == 2 || len(second) > 0
				})
				suite.Must(t, om.UnlockContext(ctx))
				suite.Must(t, suite.Receive(t, second))
				suite.Must(t, multi.As(o).UnlockContext(ctx))
			})
		})
	}
}
