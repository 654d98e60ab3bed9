//go:build unix

package lessons_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func init() {
	suite.Roles["writer"] = writer
}

// store is what locks are for: it takes a write only with the largest fence it
// has seen, or a larger one.
type store struct {
	ln net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	largest int64
	taken   map[int64]int // guarded by mu; writes taken, by fence
	refused map[int64]int
}

func newStore(t *testing.T) *store {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{ln: ln, taken: make(map[int64]int), refused: make(map[int64]int)}
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { ln.Close(); s.wg.Wait() })
	return s
}

// serve answers lines, each a fence, with whether they were taken.
func (s *store) serve(c net.Conn) {
	defer c.Close()
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		fence, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return
		}
		fmt.Fprintln(c, s.write(fence))
	}
}

func (s *store) write(fence int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fence < s.largest {
		s.refused[fence]++
		return false
	}
	s.largest = fence
	s.taken[fence]++
	return true
}

func (s *store) counts(fence int64) (taken, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[fence], s.refused[fence]
}

// writer is a child that holds a lock and writes to a store without a rest. It
// prints "fooled" if a look says that it still holds after a stop: a long time between two
// looks.
func writer() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	env := os.Getenv
	opts := []zksync.DialOption{zksync.WithSessionTimeout(suite.LossTimeout)}
	if env("ZKSYNC_TEST_EAGER") != "" {
		opts = append(opts, suite.WithDialer(dialEager))
	}
	s, err := zksync.Dial(ctx, []string{env("ZKSYNC_TEST_SERVER")}, opts...)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer s.Close()
	conn, err := net.Dial("tcp", env("ZKSYNC_TEST_STORE"))
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	h, err := zksync.NewMutex(s, env("ZKSYNC_TEST_PATH")).Hold(ctx)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	held := h.Context(ctx)
	look := h.Err
	if env("ZKSYNC_TEST_LOOK") == "context" {
		look = held.Err
	}
	fmt.Println("holds", h.Fence(), h.Err() == nil, h.Node())
	for last := time.Now(); ; {
		now := time.Now()
		if env("ZKSYNC_TEST_LOOK") != "never" {
			err := look()
			if err == nil && now.Sub(last) > suite.LossTimeout {
				fmt.Println("fooled")
			}
			if err != nil {
				fmt.Println("lost", context.Cause(held))
				return 0
			}
		}
		last = now
		fmt.Fprintln(conn, h.Fence())
		line, err := answers.ReadString('\n')
		if err == nil && line == "true\n" {
			continue
		}
		if env("ZKSYNC_TEST_LOOK") == "never" || time.Since(now) < suite.LossTimeout {
			fmt.Println("refused", err)
			return 0
		} // else the stop came after the look: the next one finds the loss
	}
}

// dialEager makes connections without a read deadline: after a stop, what has
// come meanwhile is seen before the time that has passed.
func dialEager(network, addr string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, addr, timeout)
	return eager{c}, err
}

type eager struct{ net.Conn }

func (eager) SetReadDeadline(time.Time) error { return nil }

// A process that was stopped for longer than its session lived sees the loss
// before anything else, by Hold.Err or by the context's. One that doesn't look
// writes after its successor: the fence keeps that out.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	for _, look := range []string{"err", "context", "never"} {
		t.Run(look, func(t *testing.T) {
			suite.Parallel(t)
			suite.Each(t, func(t *testing.T, z *suite.Ground) {
				ctx, p, st := suite.Context(t), z.Path(t), newStore(t)
				c := suite.StartChild(t, "writer", "ZKSYNC_TEST_SERVER", z.Servers[0], "ZKSYNC_TEST_PATH", p,
					"ZKSYNC_TEST_STORE", st.ln.Addr().String(), "ZKSYNC_TEST_LOOK", look)
				fence, _, err := c.Holds(ctx)
				suite.Must(t, err)
				suite.Eventually(t, "the child writes", func() bool { n, _ := st.counts(fence); return n > 0 })

				c.Stop(t)
				h, err := zksync.NewMutex(z.Dial(t), p).Hold(ctx)
				suite.Must(t, err)
				if h.Fence() <= fence {
					t.Errorf("fence %d came after fence %d", h.Fence(), fence)
				}
				if !st.write(h.Fence()) {
					t.Error("the successor's write was refused")
				}
				before, _ := st.counts(fence)
				suite.SleepReal(suite.LossTimeout / 2) // so that the child is sure to see the time that it lost
				c.Resume(t)
				if look == "never" {
					_, err = c.Says(ctx, "refused")
				} else {
					_, err = c.Says(ctx, "lost")
				}
				suite.Must(t, err)
				after, refused := st.counts(fence)
				if after != before {
					t.Errorf("%d late writes were taken", after-before)
				}
				if look != "never" && refused > 1 { // one may have been under way
					t.Errorf("%d late writes were tried in spite of the looks", refused)
				}
				t.Logf("writes of the stopped holder: %d taken before, %d refused after", before, refused)
				suite.Must(t, h.Release(ctx))
			})
		})
	}
}

// A waiter that is stopped while its turn comes, and its session goes, does not
// hold when it wakes: not before it has stood in line again.
func TestPausedWaiter(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 6
		ctx, root := suite.Context(t), z.Path(t)
		raw, a, b := z.Raw(t), z.Dial(t), z.Dial(t, suite.TellsLine())
		kids := make([]*suite.Child, n)
		first, third := make([]*zksync.Hold, n), make([]*zksync.Hold, n)
		behind := make([]<-chan suite.Grant, n)
		for i := range n {
			p := fmt.Sprint(root, i)
			h, err := zksync.NewMutex(a, p).Hold(ctx)
			suite.Must(t, err)
			first[i] = h
			eager := []string{"", "1"}[i%2]
			kids[i] = suite.StartChild(t, "writer", "ZKSYNC_TEST_SERVER", z.Servers[0], "ZKSYNC_TEST_PATH", p,
				"ZKSYNC_TEST_EAGER", eager, "ZKSYNC_TEST_STORE", newStore(t).ln.Addr().String(), "ZKSYNC_TEST_LOOK", "err")
			suite.InLine(t, raw, p, 2)
			wctx, waits := suite.Watched(ctx)
			behind[i] = suite.Async(func() suite.Grant {
				h, err := zksync.NewMutex(b, p).Hold(wctx)
				return suite.Grant{Hold: h, Err: err}
			})
			suite.Receive(t, waits)
		}
		for i := range n {
			kids[i].Stop(t)
			suite.Must(t, first[i].Release(ctx)) // the word of it waits in the child's socket
		}
		for i := range n {
			g := suite.Receive(t, behind[i])
			suite.Must(t, g.Err)
			third[i] = g.Hold
		}
		for i := range n {
			kids[i].Resume(t)
		}
		suite.SleepReal(suite.LossTimeout / 2) // time enough to grant itself what it must not have
		for i := range n {
			select {
			case line := <-kids[i].Lines:
				t.Errorf("child %d says %q while another session holds", i, line)
			default:
			}
			if err := third[i].Err(); err != nil {
				t.Errorf("the holder after child %d: %v", i, err)
			}
			suite.Must(t, third[i].Release(ctx))
			fence, node, err := kids[i].Holds(ctx)
			suite.Must(t, err)
			if fence <= third[i].Fence() {
				t.Errorf("child %d: fence %d came after fence %d", i, fence, third[i].Fence())
			}
			if there, _, err := raw.Exists(node); err != nil || !there {
				t.Errorf("child %d holds %s, which is not there (%v)", i, node, err)
			}
		}
	})
}
