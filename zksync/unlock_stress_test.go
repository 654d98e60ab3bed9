package zksync_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// While the connections of several sessions break, a lock has one holder at a time, and no
// node is left.
func TestUnlocksWhileConnectionsBreak(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p, end := z.Path(t), time.Now().Add(2*time.Second)
		var wg sync.WaitGroup
		var held [4]atomic.Int32
		for range 3 {
			network, s := z.Through(t)
			wg.Go(func() {
				for time.Now().Before(end) {
					suite.SleepReal(rand.N(300 * time.Millisecond))
					network.DisconnectAll()
				}
			})
			for g := range 12 {
				wg.Go(func() {
					m := zksync.NewMutex(s, fmt.Sprintf("%s/%d", p, g%4))
					for time.Now().Before(end) {
						m.Lock()
						if n := held[g%4].Add(1); n != 1 {
							t.Errorf("%d holders", n)
						}
						held[g%4].Add(-1)
						if rand.N(2) == 0 {
							m.Unlock()
							continue
						}
						ctx, cancel := context.WithTimeout(context.Background(), rand.N(2*time.Millisecond))
						_ = m.UnlockContext(ctx)
						cancel()
					}
				})
			}
			defer suite.AtRest(t, s)
		}
		wg.Wait()
	}, suite.Timeless)
}
