package exits_test

import (
	"context"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The answer to the request that makes the node is lost, or the connection while
// the call waits: it is granted all the same, or ends as it should, and leaves
// nothing.
func TestFamilyExits_Faults(t *testing.T) {
	t.Parallel()
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c, other := z.Raw(t), z.Dial(t)
		for _, k := range kinds {
			for i := range k.set(&exit{s: other, path: "/x"}, other) {
				call := k.set(&exit{s: other, path: "/x"}, other)[i]
				if call.try || call.name == "Do" || k.name == "write behind a reader" {
					continue
				}
				t.Run(k.name+"/"+call.name, func(t *testing.T) {
					rec := new(suite.Recorder)
					proxy, s := z.Behind(t, zksync.WithTracer(rec.Tracer()))
					x := &exit{z: z, c: c, s: s, path: suite.Path(t), rec: rec}
					call := k.set(x, other)[i]
					x.take, x.bare = call.take, call.bare
					suite.LockAndUnlock(t, x.blocker) // the parents are there

					loseCreation(proxy)
					release, err := x.take(suite.Context(t))
					suite.Must(t, err)
					suite.Must(t, release(suite.Context(t)))
					nothingLeft(t, x)

					result := x.wait(t, suite.Context(t))
					suite.CutOffUntilKnown(t, proxy, s)
					proxy.Heal()
					x.blocker.Unlock()
					suite.Must(t, suite.Receive(t, result))
					nothingLeft(t, x)

					ctx, cancel := context.WithCancelCause(context.Background())
					result = x.wait(t, ctx)
					suite.CutOffUntilKnown(t, proxy, s)
					suite.Within(t, 0, func() {
						cancel(suite.ErrCause)
						x.fails(t, suite.Receive(t, result), context.Canceled, suite.ErrCause)
					})
					proxy.Heal()
					x.blocker.Unlock()
					nothingLeft(t, x)

					// Given back while cut off: that is made up for.
					release, err = x.take(suite.Context(t))
					suite.Must(t, err)
					suite.CutOffUntilKnown(t, proxy, s)
					if err := release(suite.DoneContext()); err != nil {
						suite.IsError(t, err, context.Canceled)
					}
					proxy.Heal()
					nothingLeft(t, x)
				})
			}
		}
	})
}

// loseCreation has the answer to the next request for a lock's node lost, and
// the connection with it.
func loseCreation(p *zktest.Proxy) {
	var made suite.Creation
	var once sync.Once
	p.SetHook(func(f zktest.Frame) (act zktest.Action) {
		if made.Of(f) && f.FromServer {
			once.Do(func() { act = zktest.DropAndCut })
		}
		return act
	})
}
