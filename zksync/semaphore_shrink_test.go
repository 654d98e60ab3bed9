package zksync_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// allBut is what a path lets everybody do.
func allBut(perms int32) []zk.ACL { return zk.WorldACL(zk.PermAll &^ perms) }

// A part of a permit that the servers refuse to take back leaves the permit as it
// is: it is not lost, can be given back later, and no name is left of the try.
func TestRefusedShrinkIsNoLoss(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, perms := range map[string]int32{"to create": zk.PermCreate, "to delete": zk.PermDelete} {
			ctx, p, raw, other := suite.Context(t), z.Path(t), z.Raw(t), z.Dial(t)
			suite.MakePath(t, raw, p)
			s := z.Dial(t)
			sem := zksync.NewSemaphore(s, p, 5)
			weighs := func(n int64) {
				t.Helper()
				q, err := other.Inspect(ctx, p)
				suite.Must(t, err)
				if len(q.Nodes) != 1 || q.Nodes[0].Weight != n || s.Stats().CleanupPending != 0 {
					t.Errorf("%s: %d clean-ups, and not one permit of %d: %+v", name, s.Stats().CleanupPending, n, q.Nodes)
				}
			}
			refused := func(part int64) {
				t.Helper()
				_, err := raw.SetACL(p, allBut(perms), -1)
				suite.Must(t, err)
				sem.Release(part)
				suite.Released(t, s)
				_, err = raw.SetACL(p, allBut(0), -1)
				suite.Must(t, err)
			}
			suite.Must(t, sem.Acquire(ctx, 5))
			refused(1)
			weighs(5)
			sem.Release(1) // of 4: takes back both
			suite.Released(t, s)
			weighs(3)
			refused(1)
			refused(1)
			weighs(3)
			sem.Release(1) // the rest
			suite.AtRest(t, s)
			z.Empty(t, p)

			// A loss is one all the same.
			suite.Must(t, sem.Acquire(ctx, 5))
			node := suite.NodeOf(t, raw, p, s)
			refused(2)
			if n := s.Stats().Losses; n != 0 {
				t.Errorf("%s: %d losses", name, n)
			}
			suite.Must(t, raw.Delete(node, -1))
			sem.Release(3)
			suite.AtRest(t, s)
			suite.Eventually(t, name+": the loss by hand is counted", func() bool { return s.Stats().Losses == 1 })
		}
	})
}

// The same after a try whose answer was lost, done or not, and whether the node is
// ours to read or not.
func TestShrinkRefusedAfterALostAnswer(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, done := range []bool{true, false} {
			for _, readable := range []bool{true, false} {
				name := fmt.Sprintf("done %v, readable %v", done, readable)
				ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
				suite.MakePath(t, raw, p)
				proxy, s := z.Behind(t)
				perms := int32(zk.PermAll)
				if !readable {
					perms &^= zk.PermRead
				}
				sem := zksync.NewSemaphore(s, p, 5, zksync.WithACL(zk.WorldACL(perms)...))
				suite.Must(t, sem.Acquire(ctx, 5))
				var once sync.Once
				proxy.SetHook(func(f ensemble.Frame) (do ensemble.Action) {
					if f.Op == "multi" && f.FromServer == done {
						once.Do(func() {
							if _, err := raw.SetACL(p, allBut(zk.PermCreate|zk.PermDelete), -1); err != nil {
								t.Error(err)
							}
							do = ensemble.DropAndDisconnect
						})
					}
					return do
				})
				sem.Release(1)
				suite.Released(t, s)
				proxy.SetHook(nil)
				want := int64(5)
				if done {
					want = 4
				}
				suite.InLine(t, raw, p, 1)
				if n := suite.Children(t, raw, p)[0]; !strings.Contains(n, fmt.Sprintf("-permit-%dof5-", want)) {
					t.Errorf("%s: %s, want a permit of %d", name, n, want)
				}
				sem.Release(1) // refused
				suite.Released(t, s)
				_, err := raw.SetACL(p, allBut(0), -1)
				suite.Must(t, err)
				sem.Release(3)
				suite.AtRest(t, s)
				z.Empty(t, p)
				if n := s.Stats().Losses; n != 0 {
					t.Errorf("%s: %d losses", name, n)
				}
			}
		}
	})
}
