package zksync_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// WithHandoff(0): every lock waits its turn in ZooKeeper, and sessions that
// queue for it alternate.
func TestHandoffStrict(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		sa, sb := z.Dial(t), z.Dial(t)
		a, b := zksync.NewMutex(sa, p, zksync.WithHandoff(0)), zksync.NewMutex(sb, p, zksync.WithHandoff(0))
		var g grants
		var wg sync.WaitGroup
		held, release := make(chan struct{}), make(chan struct{})
		join := func(m *zksync.Mutex, who string) {
			wg.Go(func() {
				m.Lock()
				g.add(who)
				held <- struct{}{}
				<-release
				m.Unlock()
			})
		}
		a.Lock()
		for i := range 3 {
			join(a, "a")
			suite.AwaitWaiting(t, sa, i+1)
			suite.InLine(t, c, p, 2+min(i, 1))
			join(b, "b")
			suite.AwaitWaiting(t, sb, i+1)
			suite.InLine(t, c, p, 3)
		}
		a.Unlock()
		for i := range 6 {
			suite.Receive(t, held)
			suite.InLine(t, c, p, min(3, 6-i)) // the holder's session, too, is in line again
			release <- struct{}{}
		}
		wg.Wait()
		if got := g.String(); got != "a b a b a b" {
			t.Errorf("granted to %s", got)
		}
		if n := sa.Stats().Handoffs + sb.Stats().Handoffs; n != 0 {
			t.Errorf("%d hand-overs", n)
		}
	}, suite.Timeless)
}

// With another session in line at most n hand-overs follow each other.
func TestHandoffBudget(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		for _, n := range []int{1, 3} {
			p := z.Path(t)
			c := z.Raw(t)
			sa, sb := z.Dial(t), z.Dial(t)
			a, b := zksync.NewMutex(sa, p, zksync.WithHandoff(n)), zksync.NewMutex(sb, p, zksync.WithHandoff(n))
			var g grants
			var wg sync.WaitGroup
			a.Lock()
			g.join(t, &wg, b, "b")
			suite.InLine(t, c, p, 2)
			for i := range 2 * (n + 1) {
				g.join(t, &wg, a, "a")
				suite.AwaitWaiting(t, sa, i+1)
			}
			for i := range 2 * n {
				g.join(t, &wg, b, "b")
				suite.AwaitWaiting(t, sb, i+2)
			}
			a.Unlock()
			wg.Wait()
			runs := 0
			for _, run := range strings.FieldsFunc(strings.ReplaceAll(g.String(), " ", ""), func(r rune) bool { return r == 'b' }) {
				if runs++; len(run) > n+1 || runs == 1 && len(run) > n {
					t.Errorf("handoff %d: granted to %s", n, g.String())
				}
			}
			if sa.Stats().Handoffs == 0 || !strings.Contains(g.String(), "b a") {
				t.Errorf("handoff %d: granted to %s with %d hand-overs", n, g.String(), sa.Stats().Handoffs)
			}
			z.Empty(t, p)
		}
	}, suite.Timeless)
}

// With nobody else in line a session need not leave it, and no grant is lost.
func TestHandoffAlone(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p, zksync.WithHandoff(2))
		var g grants
		var wg sync.WaitGroup
		m.Lock()
		node := suite.Children(t, z.Raw(t), p)
		for i := range 8 {
			g.join(t, &wg, m, "a")
			suite.AwaitWaiting(t, s, i+1)
		}
		m.Unlock()
		wg.Wait()
		st := s.Stats()
		if st.Acquired != 9 || len(node) != 1 {
			t.Errorf("%+v, nodes %v", st, node)
		}
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// The node belongs to the session's entry in line, not to the call that made
// it: a cancelled head waiter does not send the others to the back.
func TestCancelledHeadKeepsPlace(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		holder, sa, sb := z.Dial(t), z.Dial(t), z.Dial(t)
		h, a, b := zksync.NewMutex(holder, p), zksync.NewMutex(sa, p), zksync.NewMutex(sb, p)
		h.Lock()
		ctx, cancel := context.WithCancel(context.Background())
		head := suite.Async(func() error { return a.LockContext(ctx) })
		suite.InLine(t, c, p, 2)
		mine := suite.Children(t, c, p)
		var g grants
		var wg sync.WaitGroup
		g.join(t, &wg, a, "a")
		suite.AwaitWaiting(t, sa, 2)
		g.join(t, &wg, b, "b")
		suite.InLine(t, c, p, 3)
		cancel()
		e := suite.IsError(t, suite.Receive(t, head), context.Canceled)
		if e.Position != 1 || e.Op != "lock" || e.Path != p || !strings.HasPrefix(e.Node, p+"/_c_") {
			t.Errorf("%#v", e)
		}
		for _, n := range mine {
			if !slices.Contains(suite.Children(t, c, p), n) {
				t.Errorf("%s left the line with a call that was cancelled", n)
			}
		}
		h.Unlock()
		wg.Wait()
		if got := g.String(); got != "a b" {
			t.Errorf("granted to %s", got)
		}
		z.Empty(t, p)
	}, suite.Timeless)
}

// No two holds share a fence or a node, of whatever sessions and calls.
func TestNoSharedFence(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		var mu sync.Mutex
		var fences []int64
		nodes := make(map[string]bool)
		note := func(h *zksync.Hold) {
			mu.Lock()
			defer mu.Unlock()
			if h.Err() != nil || path.Dir(h.Node()) != p || nodes[h.Node()] {
				t.Errorf("%v, %q", h.Err(), h.Node())
			}
			fences, nodes[h.Node()] = append(fences, h.Fence()), true
		}
		var wg sync.WaitGroup
		for range 2 {
			s := z.Dial(t)
			m := zksync.NewMutex(s, p)
			for i := range 4 {
				wg.Go(func() {
					for range 8 {
						var err error
						switch i {
						case 0, 1:
							err = m.Do(suite.Context(t), func(_ context.Context, h *zksync.Hold) error { note(h); return nil })
						case 2:
							var h *zksync.Hold
							if h, err = m.Hold(suite.Context(t)); err == nil {
								note(h)
								err = h.Release(suite.Context(t))
							}
						case 3: // a plain lock, whose node nobody may inherit
							if err = m.LockContext(suite.Context(t)); err == nil {
								err = m.UnlockContext(suite.Context(t))
							}
						}
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if len(fences) != 48 {
			t.Errorf("%d holds", len(fences))
		}
		for i := 1; i < len(fences); i++ {
			if fences[i] <= fences[i-1] || fences[0] <= 0 {
				t.Fatalf("fences do not grow: %v", fences)
			}
		}
		z.Empty(t, p)
	})
}
