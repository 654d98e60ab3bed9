package zksync_test

import (
	"errors"
	"net"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// A Try whose own node is deleted while it looks has not lost its session: it
// tries once more, and then says what happened.
func TestTryWhoseNodeIsDeleted(t *testing.T) {
	const opCreate, opChildren, opMulti = 1, 12, 14
	onServers(t, func(t *testing.T, z *site) {
		for _, call := range calls {
			if !call.try {
				continue
			}
			for _, times := range []int{1, 2} {
				c, p := z.raw(t), lockPath(t)
				w := &tap{to: net.DialTimeout}
				s := z.dial(t, zksync.WithDialer(w.dial))
				one, both := zksync.NewMutex(s, p+"-1"), zksync.NewMulti(zksync.NewMutex(s, p+"-1"), zksync.NewMutex(s, p+"-2"))
				for _, l := range []zksync.Locker{one, both} {
					free(t, l)
					atRest(t, s)
					left, made := times, false
					w.on(func(f tapFrame) tapAct {
						switch {
						case f.fromServer:
						case f.op == opCreate, f.op == opMulti:
							made = true
						case f.op == opChildren && made && left > 0:
							left, made = left-1, false
							for _, n := range children(t, c, p+"-1") {
								if err := c.Delete(p+"-1/"+n, -1); err != nil {
									t.Error(err)
								}
							}
						}
						return tapPass
					})
					release, err := call.take(short(t), l)
					w.on(nil)
					switch {
					case left > 0:
						t.Errorf("%s: %d nodes were not deleted", call.name, left)
					case times == 1:
						ok(t, err)
						ok(t, release(short(t)))
					default:
						isError(t, err)
						if errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zksync.ErrBusy) || zksync.LossReason(err) != "" {
							t.Errorf("%s: %v", call.name, err)
						}
					}
					free(t, l)
				}
				atRest(t, s)
				z.empty(t, p+"-1")
				z.empty(t, p+"-2")
			}
		}
	})
}
