package lessons_test

import (
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// A session that uses the lock all the time gives way to another one, also if
// the word that it waits gets lost: the budget of hand-overs is asked for anew
// now and then.
func TestConstantUseAndALostEvent(t *testing.T) {
	suite.Long(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, hook := range map[string]func(ensemble.Frame) ensemble.Action{
			"heard": nil,
			"lost": func(f ensemble.Frame) ensemble.Action {
				if f.FromServer && f.Op == "notify" {
					return ensemble.Drop
				}
				return ensemble.Pass
			},
		} {
			t.Run(name, func(t *testing.T) {
				p := z.Path(t)
				proxy := z.Proxied(t)
				proxy.SetHook(hook)
				busy := zksync.NewMutex(suite.DialTo(t, []string{proxy.Addr()}), p)
				other := zksync.NewMutex(z.Dial(t), p)
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
					if err := other.LockContext(suite.Context(t)); err != nil {
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
