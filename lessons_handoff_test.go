package zksync_test

import (
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A session that uses the lock all the time gives way to another one, also if
// the word that it waits gets lost: the budget of hand-overs is asked for anew
// now and then.
func TestLesson79_ConstantUseAndALostEvent(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		for name, hook := range map[string]func(zktest.Frame) zktest.Action{
			"heard": nil,
			"lost": func(f zktest.Frame) zktest.Action {
				if f.FromServer && f.Op == "notify" {
					return zktest.Drop
				}
				return zktest.Pass
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := lockPath(t)
				proxy := z.proxied(t)
				proxy.SetHook(hook)
				busy := zksync.NewMutex(dialTo(t, []string{proxy.Addr()}), p)
				other := zksync.NewMutex(z.dial(t), p)
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for {
							select {
							case <-stop:
								return
							default:
							}
							busy.Lock()
							busy.Unlock()
						}
					})
				}
				for range 3 {
					if err := other.LockContext(short(t)); err != nil {
						t.Error("the other session:", err)
						break
					}
					other.Unlock()
				}
				close(stop)
				wg.Wait()
			})
		}
	})
}
