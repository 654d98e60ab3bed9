package zksync_test

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A Try whose own node is deleted while it looks has not lost its session: it
// tries once more, and then says what happened.
func TestTryWhoseNodeIsDeleted(t *testing.T) {
	const opCreate, opChildren, opMulti = 1, 12, 14
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, call := range suite.Calls {
			if !call.Try {
				continue
			}
			for _, times := range []int{1, 2} {
				c, p := z.Raw(t), z.Path(t)
				w := &suite.Tap{To: net.DialTimeout}
				s, other := z.Dial(t, suite.WithDialer(w.Dial)), z.Dial(t)
				locks := func(s *zksync.Session) []zksync.Locker {
					return []zksync.Locker{zksync.NewMutex(s, p+"-0"), zksync.NewMulti(zksync.NewMutex(s, p+"-1"), zksync.NewMutex(s, p+"-2"))}
				}
				theirs := locks(other)
				for i, l := range locks(s) {
					first := fmt.Sprint(p, "-", i)
					suite.LockAndUnlock(t, l)
					suite.AtRest(t, s)
					// Another session was here, so that the line is listed after the create.
					suite.LockAndUnlock(t, theirs[i])
					suite.AtRest(t, other)
					left, made := times, false
					w.On(func(f suite.TapFrame) suite.TapAct {
						switch {
						case f.FromServer:
						case f.Op == opCreate, f.Op == opMulti:
							made = true
						case f.Op == opChildren && made && left > 0:
							left, made = left-1, false
							suite.Eventually(t, "the node is there", func() bool { return len(suite.Children(t, c, first)) > 0 })
							for _, n := range suite.Children(t, c, first) {
								if err := c.Delete(first+"/"+n, -1); err != nil {
									t.Error(err)
								}
							}
						}
						return suite.TapPass
					})
					release, err := call.Take(suite.Context(t), l)
					w.On(nil)
					switch {
					case left > 0:
						t.Errorf("%s: %d nodes were not deleted", call.Name, left)
					case times == 1:
						suite.Must(t, err)
						suite.Must(t, release(suite.Context(t)))
					default:
						suite.IsError(t, err)
						if errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zksync.ErrBusy) || zksync.LossReason(err) != "" {
							t.Errorf("%s: %v", call.Name, err)
						}
					}
					suite.LockAndUnlock(t, l)
				}
				suite.AtRest(t, s)
				z.Empty(t, p+"-0")
				z.Empty(t, p+"-1")
				z.Empty(t, p+"-2")
			}
		}
	})
}
