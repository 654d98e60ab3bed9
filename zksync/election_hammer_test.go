package zksync_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// campaign is an election with many who stand, some who watch, and faults.
type campaign struct {
	t    *testing.T
	z    *suite.Ground
	path string

	mu     sync.Mutex
	random *rand.Rand     // guarded by mu
	fences map[int64]bool // guarded by mu; of all terms
	ended  int            // guarded by mu; terms that were lost or asked back
	node   string         // guarded by mu; of the last term that began
}

// lead works for a while, and heeds its context or not.
func (c *campaign) lead(ctx context.Context, h *zksync.Hold) error {
	c.mu.Lock()
	if c.fences[h.Fence()] {
		c.t.Errorf("fence %d leads twice", h.Fence())
	}
	c.fences[h.Fence()], c.node = true, h.Node()
	c.mu.Unlock()
	heeds, result := c.below(3) > 0, []error{nil, errWork}[c.below(2)]
	timer := time.NewTimer(time.Duration(c.below(8000)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if heeds {
			result = ctx.Err()
			break
		}
		<-timer.C
	}
	select {
	case <-h.Revoked():
	default:
		if !errors.Is(h.Err(), zksync.ErrLost) {
			return result
		}
	}
	c.mu.Lock()
	c.ended++
	c.mu.Unlock()
	return result
}

// below returns a random number.
func (c *campaign) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

// stand runs for the election again and again until ctx ends.
func (c *campaign) stand(ctx context.Context, e *zksync.Election) {
	for ctx.Err() == nil {
		err := e.Run(ctx, c.lead)
		if err != nil && ctx.Err() == nil && !errors.Is(err, errWork) && !errors.Is(err, zksync.ErrLost) {
			c.t.Errorf("Run returns %v", err)
		}
	}
}

// watch checks that the leaders follow each other in the order of their fences.
func (c *campaign) watch(ctx context.Context, e *zksync.Election) {
	fence := int64(0)
	for n, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			if ctx.Err() == nil {
				c.t.Errorf("Observe ends with %v", err)
			}
			return
		case n.Node == "":
		case n.Fence <= fence:
			c.t.Errorf("the leader with fence %d follows fence %d", n.Fence, fence)
		default:
			fence = n.Fence
		}
	}
}

// fault disturbs somebody.
func (c *campaign) fault(sessions []*zksync.Session) {
	c.mu.Lock()
	node := c.node
	c.mu.Unlock()
	s := sessions[c.below(len(sessions))]
	switch c.below(5) {
	case 0:
		c.z.Server.Expire(s.ID())
	case 1:
		_ = s.Break(suite.BrieflyFor(c.t, time.Second), node) // it may be gone
	case 2:
		_ = s.Revoke(suite.BrieflyFor(c.t, time.Second), node)
	case 3:
		c.z.Server.DisconnectAll()
	case 4:
		c.z.Server.Blackhole()
		suite.SleepReal(suite.VirtualTimeout)
		c.z.Server.Heal()
	}
}

// Whatever happens to those who stand, each term has a fence of its own, those who watch
// see the leaders in order, somebody leads again, and nothing is left behind.
func TestElectionHammer(t *testing.T) {
	for seed := range uint64(suite.Runs(40)) {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			c := &campaign{t: t, z: z, random: rand.New(rand.NewPCG(seed, 7)), path: z.Path(t), fences: make(map[int64]bool)}
			z.Server.Jitter(20 * time.Millisecond)
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			var sessions []*zksync.Session
			for i := range 4 {
				s := z.Via(t, z.Server.Dial)
				sessions = append(sessions, s)
				var opts []zksync.LockOption
				if i%2 == 0 {
					opts = append(opts, zksync.WithCancelOnRevoke())
				}
				for range 2 {
					wg.Go(func() { c.stand(ctx, zksync.NewElection(s, c.path, opts...)) })
				}
				wg.Go(func() { c.watch(ctx, zksync.NewElection(s, c.path)) })
			}
			for range 30 {
				suite.SleepReal(time.Duration(c.below(6000)) * time.Millisecond)
				c.fault(sessions)
			}
			suite.SleepReal(time.Minute)
			c.mu.Lock()
			terms, ended := len(c.fences), c.ended
			c.mu.Unlock()
			suite.SleepReal(time.Minute)
			c.mu.Lock()
			more := len(c.fences) - terms
			c.mu.Unlock()
			if terms < 10 || ended == 0 || more == 0 {
				t.Errorf("seed %d: %d terms, of which %d were ended; %d without faults", seed, terms, ended, more)
			}
			cancel()
			wg.Wait()
			for _, s := range sessions {
				suite.AtRest(t, s)
			}
			if left := z.Server.Children(c.path); len(left) != 0 {
				t.Errorf("seed %d: left %v", seed, left)
			}
		})
	}
}
