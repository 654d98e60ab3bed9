//go:build unix

package zksync_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

func init() {
	roles["writer"] = writer
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
// says so if it is told that it holds after a stop: a long time between two
// looks.
func writer() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	env := os.Getenv
	opts := []zksync.Option{zksync.WithSessionTimeout(lossTimeout)}
	if env("ZKSYNC_TEST_EAGER") != "" {
		opts = append(opts, zksync.WithDialer(dialEager))
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
			if err == nil && now.Sub(last) > lossTimeout {
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
		if env("ZKSYNC_TEST_LOOK") == "never" || time.Since(now) < lossTimeout {
			fmt.Println("refused", err)
			return 0
		} // else the stop came after the look: the next one tells
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

// child is a process of this test, playing a role.
type child struct {
	*exec.Cmd
	lines chan string // what it says; closed at its end
}

// start runs a role in a process of its own, which ends with the test. env are
// pairs.
func start(t *testing.T, role string, env ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ZKSYNC_TEST_ROLE="+role)
	for i := 0; i < len(env); i += 2 {
		cmd.Env = append(cmd.Env, env[i]+"="+env[i+1])
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, lines: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
		close(c.lines)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-done
	})
	return c
}

// says waits for the child's next line, which has to begin with a word, and
// returns the rest.
func (c *child) says(ctx context.Context, word string) (string, error) {
	select {
	case line, ok := <-c.lines:
		first, rest, _ := strings.Cut(line, " ")
		if !ok || first != word {
			return "", fmt.Errorf("the child says %q, want %q", line, word)
		}
		return rest, nil
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for %q: %w", word, ctx.Err())
	}
}

func (c *child) holds(ctx context.Context) (fence int64, node string, err error) {
	rest, err := c.says(ctx, "holds")
	if err != nil {
		return 0, "", err
	}
	var alive bool
	if _, err := fmt.Sscan(rest, &fence, &alive, &node); err != nil || !alive {
		return 0, "", fmt.Errorf("the child holds: %q", rest)
	}
	return fence, node, nil
}

// stop stops the child, and returns when it has: the signal alone leaves its
// threads some time.
func (c *child) stop(t *testing.T) {
	t.Helper()
	ok(t, c.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("the child did not stop: %v, status %#x", err, status)
		}
		return
	}
}

func (c *child) resume(t *testing.T) {
	t.Helper()
	ok(t, c.Process.Signal(syscall.SIGCONT))
}

// A process that was stopped for longer than its session lived sees the loss
// before anything else, by Hold.Err or by the context's. One that doesn't look
// writes after its successor: the fence keeps that out.
func TestLesson42_PausedHolder(t *testing.T) {
	t.Parallel()
	for _, look := range []string{"err", "context", "never"} {
		t.Run(look, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, z *site) {
				ctx, p, st := short(t), lockPath(t), newStore(t)
				c := start(t, "writer", "ZKSYNC_TEST_SERVER", z.servers[0], "ZKSYNC_TEST_PATH", p,
					"ZKSYNC_TEST_STORE", st.ln.Addr().String(), "ZKSYNC_TEST_LOOK", look)
				fence, _, err := c.holds(ctx)
				ok(t, err)
				eventually(t, "the child writes", func() bool { n, _ := st.counts(fence); return n > 0 })

				c.stop(t)
				h, err := zksync.NewMutex(z.dial(t), p).Hold(ctx)
				ok(t, err)
				if h.Fence() <= fence {
					t.Errorf("fence %d came after fence %d", h.Fence(), fence)
				}
				if !st.write(h.Fence()) {
					t.Error("the successor's write was refused")
				}
				before, _ := st.counts(fence)
				pass(lossTimeout / 2) // so that the child is sure to see the time that it lost
				c.resume(t)
				if look == "never" {
					_, err = c.says(ctx, "refused")
				} else {
					_, err = c.says(ctx, "lost")
				}
				ok(t, err)
				after, refused := st.counts(fence)
				if after != before {
					t.Errorf("%d late writes were taken", after-before)
				}
				if look != "never" && refused > 1 { // one may have been under way
					t.Errorf("%d late writes were tried in spite of the looks", refused)
				}
				t.Logf("writes of the stopped holder: %d taken before, %d refused after", before, refused)
				ok(t, h.Release(ctx))
			})
		})
	}
}

// A waiter that is stopped while its turn comes, and its session goes, does not
// hold when it wakes: not before it has stood in line again.
func TestLesson64_PausedWaiter(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		const n = 6
		ctx, root := short(t), lockPath(t)
		raw, a, b := z.raw(t), z.dial(t), z.dial(t, tellsLine())
		kids := make([]*child, n)
		first, third := make([]*zksync.Hold, n), make([]*zksync.Hold, n)
		behind := make([]<-chan grant, n)
		for i := range n {
			p := fmt.Sprint(root, i)
			h, err := zksync.NewMutex(a, p).Hold(ctx)
			ok(t, err)
			first[i] = h
			eager := []string{"", "1"}[i%2]
			kids[i] = start(t, "writer", "ZKSYNC_TEST_SERVER", z.servers[0], "ZKSYNC_TEST_PATH", p,
				"ZKSYNC_TEST_EAGER", eager, "ZKSYNC_TEST_STORE", newStore(t).ln.Addr().String(), "ZKSYNC_TEST_LOOK", "err")
			lineOf(t, raw, p, 2)
			wctx, waits := watched(ctx)
			behind[i] = async(func() grant {
				h, err := zksync.NewMutex(b, p).Hold(wctx)
				return grant{hold: h, err: err}
			})
			get(t, waits)
		}
		for i := range n {
			kids[i].stop(t)
			ok(t, first[i].Release(ctx)) // the word of it waits in the child's socket
		}
		for i := range n {
			g := get(t, behind[i])
			ok(t, g.err)
			third[i] = g.hold
		}
		for i := range n {
			kids[i].resume(t)
		}
		pass(lossTimeout / 2) // time enough to grant itself what it must not have
		for i := range n {
			select {
			case line := <-kids[i].lines:
				t.Errorf("child %d says %q while another session holds", i, line)
			default:
			}
			if err := third[i].Err(); err != nil {
				t.Errorf("the holder after child %d: %v", i, err)
			}
			ok(t, third[i].Release(ctx))
			fence, node, err := kids[i].holds(ctx)
			ok(t, err)
			if fence <= third[i].Fence() {
				t.Errorf("child %d: fence %d came after fence %d", i, fence, third[i].Fence())
			}
			if there, _, err := raw.Exists(node); err != nil || !there {
				t.Errorf("child %d holds %s, which is not there (%v)", i, node, err)
			}
		}
	})
}

// A killed process's lock is free when its session is over, and not before.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, st := short(t), lockPath(t), newStore(t)
		c := start(t, "writer", "ZKSYNC_TEST_SERVER", z.servers[0], "ZKSYNC_TEST_PATH", p,
			"ZKSYNC_TEST_STORE", st.ln.Addr().String(), "ZKSYNC_TEST_LOOK", "err")
		fence, node, err := c.holds(ctx)
		ok(t, err)
		raw, s := z.raw(t), z.dial(t)
		next := async(func() grant {
			h, err := zksync.NewMutex(s, p).Hold(ctx)
			return grant{hold: h, err: err}
		})
		ok(t, c.Process.Kill())
		g := get(t, next)
		ok(t, g.err)
		if there, _, err := raw.Exists(node); err != nil || there {
			t.Errorf("granted while the killed holder's node was there (%v)", err)
		}
		if g.hold.Fence() <= fence {
			t.Errorf("fence %d came after fence %d", g.hold.Fence(), fence)
		}
		ok(t, g.hold.Release(ctx))
	})
}
