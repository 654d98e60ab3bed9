package zksync_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// grants notes who got a lock, in order.
type grants struct {
	mu  sync.Mutex
	who []string
}

func (g *grants) add(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.who = append(g.who, who)
}

func (g *grants) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.who, " ")
}

// join has a goroutine queue for the lock, note its grant, and give it back.
func (g *grants) join(t *testing.T, wg *sync.WaitGroup, m *zksync.Mutex, who string) {
	wg.Go(func() {
		m.Lock()
		g.add(who)
		m.Unlock()
	})
}

// Sessions get the lock in the order in which they came.
func TestOrderOfSessions(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		first := zksync.NewMutex(z.Dial(t), p)
		first.Lock()
		var g grants
		var wg sync.WaitGroup
		for i, who := range []string{"b", "c", "d", "e"} {
			g.join(t, &wg, zksync.NewMutex(z.Dial(t), p), who)
			suite.InLine(t, c, p, i+2)
		}
		first.Unlock()
		wg.Wait()
		if got := g.String(); got != "b c d e" {
			t.Errorf("granted to %s", got)
		}
		z.Empty(t, p)
	}, suite.Timeless)
}

// Goroutines of one session get the lock in the order in which they came, by
// whatever call, and stand in ZooKeeper's line once.
func TestOrderWithinSession(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		m, strict := zksync.NewMutex(s, p), zksync.NewMutex(s, p, zksync.WithHandoff(0))
		m.Lock()
		var g grants
		var wg sync.WaitGroup
		for i, who := range []string{"a", "b", "hold", "c", "strict", "do", "d", "e"} {
			switch who {
			case "strict":
				g.join(t, &wg, strict, who)
			case "hold":
				wg.Go(func() {
					h, err := m.Hold(suite.Context(t))
					if err != nil {
						t.Error(err)
						return
					}
					g.add(who)
					if err := h.Release(suite.Context(t)); err != nil {
						t.Error(err)
					}
				})
			case "do":
				wg.Go(func() {
					if err := m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { g.add(who); return nil }); err != nil {
						t.Error(err)
					}
				})
			default:
				g.join(t, &wg, m, who)
			}
			suite.AwaitWaiting(t, s, i+1)
		}
		if n := len(suite.Children(t, c, p)); n != 1 {
			t.Errorf("%d nodes for the plain locks of one session", n)
		}
		m.Unlock()
		wg.Wait()
		if got := g.String(); got != "a b hold c strict do d e" {
			t.Errorf("granted to %s", got)
		}
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}

// The error of a cancelled call says where it stood.
func TestPositionInLine(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		others := []*zksync.Mutex{zksync.NewMutex(z.Dial(t), p), zksync.NewMutex(z.Dial(t), p)}
		s := z.Dial(t)
		m := zksync.NewMutex(s, p)
		others[0].Lock()
		second := suite.Async(func() error { return others[1].LockContext(suite.Context(t)) })
		suite.InLine(t, c, p, 2)
		ctx3, cancel3 := context.WithCancelCause(context.Background())
		third := suite.Async(func() error { return m.LockContext(ctx3) })
		suite.InLine(t, c, p, 3)
		ctx4, cancel4 := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
		fourth := suite.Async(func() error { _, err := m.Hold(ctx4); return err })
		suite.AwaitWaiting(t, s, 2)
		suite.Eventually(t, "the place is known", func() bool {
			ctx5, cancel5 := context.WithTimeoutCause(context.Background(), time.Millisecond, suite.ErrCause)
			defer cancel5()
			e := suite.IsError(t, m.LockContext(ctx5), context.DeadlineExceeded, suite.ErrCause)
			if !e.Timeout() || e.ErrorType() != "deadline_exceeded" {
				t.Errorf("%#v", e)
			}
			return e.Position == 4
		})
		cancel4()
		if e := suite.IsError(t, suite.Receive(t, fourth), context.Canceled); e.Position != 3 || e.Op != "hold" {
			t.Errorf("%v: %#v", e, e)
		}
		cancel3(suite.ErrCause)
		e := suite.IsError(t, suite.Receive(t, third), context.Canceled, suite.ErrCause)
		if e.Position != 2 || e.ErrorType() != "canceled" || e.Timeout() || !strings.Contains(e.Error(), "(place 2 in line)") {
			t.Errorf("%v: %#v", e, e)
		}
		if n := len(suite.Children(t, c, p)); n > 3 {
			t.Errorf("%d nodes", n)
		}
		others[0].Unlock()
		suite.Must(t, suite.Receive(t, second))
		others[1].Unlock()
		suite.AtRest(t, s)
		z.Empty(t, p)
	}, suite.Timeless)
}
