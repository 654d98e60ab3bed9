package exits_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The answer to the request that makes the node is lost, or the connection while
// the call waits: it is granted all the same, or ends as it should, and leaves
// nothing.
func TestExitsUnderFaults(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, kind := range suite.Kinds {
			for _, call := range kind.Takings {
				if call.Try || call.Name == "Do" || kind.Name == "mutex" || kind.Name == "write behind a reader" {
					continue
				}
				t.Run(kind.Name+"/"+call.Name, func(t *testing.T) {
					proxy := z.Proxied(t)
					x := newExit(t, z, kind, call, suite.WithDialer(func(network, _ string, timeout time.Duration) (net.Conn, error) {
						return net.DialTimeout(network, proxy.Addr(), timeout)
					}))
					s := x.s
					suite.LockAndUnlock(t, x.Blocker) // the parents are there

					loseCreation(proxy)
					release, err := x.take(suite.Context(t))
					suite.Must(t, err)
					suite.Must(t, release(suite.Context(t)))
					nothingLeft(t, x)

					result := x.wait(t, suite.Context(t))
					suite.CutOffUntilKnown(t, proxy, s)
					proxy.Heal()
					x.unblock(t)
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
					x.unblock(t)
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
func loseCreation(p *ensemble.Proxy) {
	var made suite.Creation
	var once sync.Once
	p.SetHook(func(f ensemble.Frame) (act ensemble.Action) {
		if made.Of(f) && f.FromServer {
			once.Do(func() { act = ensemble.DropAndDisconnect })
		}
		return act
	})
}
