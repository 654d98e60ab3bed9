package zksync_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
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
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		first := zksync.NewMutex(z.dial(t), p)
		first.Lock()
		var g grants
		var wg sync.WaitGroup
		for i, who := range []string{"b", "c", "d", "e"} {
			g.join(t, &wg, zksync.NewMutex(z.dial(t), p), who)
			lineOf(t, c, p, i+2)
		}
		first.Unlock()
		wg.Wait()
		if got := g.String(); got != "b c d e" {
			t.Errorf("granted to %s", got)
		}
		z.empty(t, p)
	})
}

// Goroutines of one session get the lock in the order in which they came, by
// whatever call, and stand in ZooKeeper's line once.
func TestOrderWithinSession(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		c := z.raw(t)
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
					h, err := m.Hold(short(t))
					if err != nil {
						t.Error(err)
						return
					}
					g.add(who)
					if err := h.Release(short(t)); err != nil {
						t.Error(err)
					}
				})
			case "do":
				wg.Go(func() {
					if err := m.Do(short(t), func(context.Context, *zksync.Hold) error { g.add(who); return nil }); err != nil {
						t.Error(err)
					}
				})
			default:
				g.join(t, &wg, m, who)
			}
			waiting(t, s, i+1)
		}
		if n := len(children(t, c, p)); n != 1 {
			t.Errorf("%d nodes for the plain locks of one session", n)
		}
		m.Unlock()
		wg.Wait()
		if got := g.String(); got != "a b hold c strict do d e" {
			t.Errorf("granted to %s", got)
		}
		atRest(t, s)
		z.empty(t, p)
	})
}

// WithHandoff(0): every lock waits its turn in ZooKeeper, and sessions that
// queue for it alternate.
func TestHandoffStrict(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		sa, sb := z.dial(t), z.dial(t)
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
			waiting(t, sa, i+1)
			lineOf(t, c, p, 2+min(i, 1))
			join(b, "b")
			waiting(t, sb, i+1)
			lineOf(t, c, p, 3)
		}
		a.Unlock()
		for i := range 6 {
			get(t, held)
			lineOf(t, c, p, min(3, 6-i)) // the holder's session, too, is in line again
			release <- struct{}{}
		}
		wg.Wait()
		if got := g.String(); got != "a b a b a b" {
			t.Errorf("granted to %s", got)
		}
		if n := sa.Stats().Handoffs + sb.Stats().Handoffs; n != 0 {
			t.Errorf("%d hand-overs", n)
		}
	})
}

// With another session in line at most n hand-overs follow each other.
func TestHandoffBudget(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		for _, n := range []int{1, 3} {
			p := lockPath(t)
			c := z.raw(t)
			sa, sb := z.dial(t), z.dial(t)
			a, b := zksync.NewMutex(sa, p, zksync.WithHandoff(n)), zksync.NewMutex(sb, p, zksync.WithHandoff(n))
			var g grants
			var wg sync.WaitGroup
			a.Lock()
			g.join(t, &wg, b, "b")
			lineOf(t, c, p, 2)
			for i := range 2 * (n + 1) {
				g.join(t, &wg, a, "a")
				waiting(t, sa, i+1)
			}
			for i := range 2 * n {
				g.join(t, &wg, b, "b")
				waiting(t, sb, i+2)
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
			z.empty(t, p)
		}
	})
}

// With nobody else in line a session need not leave it, and no grant is lost.
func TestHandoffAlone(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s, p := z.dial(t), lockPath(t)
		m := zksync.NewMutex(s, p, zksync.WithHandoff(2))
		var g grants
		var wg sync.WaitGroup
		m.Lock()
		node := children(t, z.raw(t), p)
		for i := range 8 {
			g.join(t, &wg, m, "a")
			waiting(t, s, i+1)
		}
		m.Unlock()
		wg.Wait()
		st := s.Stats()
		if st.Acquired != 9 || len(node) != 1 {
			t.Errorf("%+v, nodes %v", st, node)
		}
		atRest(t, s)
		z.empty(t, p)
	})
}

// The node belongs to the session's entry in line, not to the call that made
// it: a cancelled head waiter does not send the others to the back.
func TestCancelledHeadKeepsPlace(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		holder, sa, sb := z.dial(t), z.dial(t), z.dial(t)
		h, a, b := zksync.NewMutex(holder, p), zksync.NewMutex(sa, p), zksync.NewMutex(sb, p)
		h.Lock()
		ctx, cancel := context.WithCancel(context.Background())
		head := async(func() error { return a.LockContext(ctx) })
		lineOf(t, c, p, 2)
		mine := children(t, c, p)
		var g grants
		var wg sync.WaitGroup
		g.join(t, &wg, a, "a")
		waiting(t, sa, 2)
		g.join(t, &wg, b, "b")
		lineOf(t, c, p, 3)
		cancel()
		e := isError(t, get(t, head), context.Canceled)
		if e.Position != 1 || e.Op != "lock" || e.Path != p || !strings.HasPrefix(e.Node, p+"/_c_") {
			t.Errorf("%#v", e)
		}
		for _, n := range mine {
			if !slices.Contains(children(t, c, p), n) {
				t.Errorf("%s left the line with a call that was cancelled", n)
			}
		}
		h.Unlock()
		wg.Wait()
		if got := g.String(); got != "a b" {
			t.Errorf("granted to %s", got)
		}
		z.empty(t, p)
	})
}

// The error of a cancelled call says where it stood.
func TestPositionInLine(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		c := z.raw(t)
		others := []*zksync.Mutex{zksync.NewMutex(z.dial(t), p), zksync.NewMutex(z.dial(t), p)}
		s := z.dial(t)
		m := zksync.NewMutex(s, p)
		others[0].Lock()
		second := async(func() error { return others[1].LockContext(short(t)) })
		lineOf(t, c, p, 2)
		ctx3, cancel3 := context.WithCancelCause(context.Background())
		third := async(func() error { return m.LockContext(ctx3) })
		lineOf(t, c, p, 3)
		ctx4, cancel4 := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
		fourth := async(func() error { _, err := m.Hold(ctx4); return err })
		waiting(t, s, 2)
		eventually(t, "the place is known", func() bool {
			ctx5, cancel5 := context.WithTimeoutCause(context.Background(), time.Millisecond, errCause)
			defer cancel5()
			e := isError(t, m.LockContext(ctx5), context.DeadlineExceeded, errCause)
			if !e.Timeout() || e.ErrorType() != "deadline_exceeded" {
				t.Errorf("%#v", e)
			}
			return e.Position == 4
		})
		cancel4()
		if e := isError(t, get(t, fourth), context.Canceled); e.Position != 3 || e.Op != "hold" {
			t.Errorf("%v: %#v", e, e)
		}
		cancel3(errCause)
		e := isError(t, get(t, third), context.Canceled, errCause)
		if e.Position != 2 || e.ErrorType() != "canceled" || e.Timeout() || !strings.Contains(e.Error(), "(place 2 in line)") {
			t.Errorf("%v: %#v", e, e)
		}
		if n := len(children(t, c, p)); n > 3 {
			t.Errorf("%d nodes", n)
		}
		others[0].Unlock()
		ok(t, get(t, second))
		others[1].Unlock()
		atRest(t, s)
		z.empty(t, p)
	})
}

// No two holds share a fence or a node, of whatever sessions and calls.
func TestLesson72_NoSharedFence(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
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
			s := z.dial(t)
			m := zksync.NewMutex(s, p)
			for i := range 4 {
				wg.Go(func() {
					for range 8 {
						var err error
						switch i {
						case 0, 1:
							err = m.Do(short(t), func(_ context.Context, h *zksync.Hold) error { note(h); return nil })
						case 2:
							var h *zksync.Hold
							if h, err = m.Hold(short(t)); err == nil {
								note(h)
								err = h.Release(short(t))
							}
						case 3: // a plain lock, whose node nobody may inherit
							if err = m.LockContext(short(t)); err == nil {
								err = m.UnlockContext(short(t))
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
		z.empty(t, p)
	})
}
