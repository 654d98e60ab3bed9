package zksync_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// stall makes the writes of connections hang until their deadlines, on each new connection
// again after its connect request.
type stall struct {
	mu   sync.Mutex
	held chan struct{} // closed when writes may go on; nil: they may
}

func (s *stall) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = make(chan struct{})
}

func (s *stall) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held)
	s.held = nil
}

// dial opens a session whose writes can hang.
func (s *stall) dial(t *testing.T, z *suite.Ground) *zksync.Session {
	t.Helper()
	dial := func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := z.Server.Dial(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return &stalled{Conn: c, s: s, closed: make(chan struct{})}, nil
	}
	return suite.DialUnchecked(t, z.Servers, suite.WithDialer(dial), zksync.WithSessionTimeout(suite.VirtualTimeout))
}

type stalled struct {
	net.Conn
	s        *stall
	mu       sync.Mutex
	deadline time.Time // guarded by mu
	greeted  bool
	closed   chan struct{}
	once     sync.Once
}

func (c *stalled) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *stalled) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *stalled) Write(b []byte) (int, error) {
	c.s.mu.Lock()
	held := c.s.held
	c.s.mu.Unlock()
	first := !c.greeted
	c.greeted = true
	if held != nil && !first {
		c.mu.Lock()
		limit := time.NewTimer(time.Until(c.deadline))
		c.mu.Unlock()
		defer limit.Stop()
		select {
		case <-held:
		case <-c.closed:
			return 0, net.ErrClosed
		case <-limit.C:
			return 0, errors.New("i/o timeout")
		}
	}
	return c.Conn.Write(b)
}

// While writes hang, on each new connection again, an unlock returns within a third of the
// session timeout. The nodes go later, and nothing was lost.
func TestUnlockWhileWritesHang(t *testing.T) {
	for _, tt := range plains {
		t.Run(tt.name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				var st stall
				s := st.dial(t, z)
				l := tt.of(s, "/l")
				l.lock()
				time.Sleep(time.Second)
				st.hold()
				if d := took(l.unlock); d > s.Timeout()/3 {
					t.Errorf("took %v", d)
				}
				time.Sleep(s.Timeout() / 10)
				st.release()
				l.unlockRest()
				suite.AtRest(t, s)
				if n := len(suite.NodesOf(z.Server, s.ID())); n != 0 || s.Stats().Losses != 0 {
					t.Errorf("%d nodes, %d losses", n, s.Stats().Losses)
				}
			})
		})
	}
}

// Release of many permits, each with a node of its own, waits a third of the session timeout
// in all while writes hang. It is the same if the last node is replaced by a smaller one.
func TestReleaseOfManyWhileWritesHang(t *testing.T) {
	for name, last := range map[string]int64{"Whole": 1, "Part": 2} {
		t.Run(name, func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				var st stall
				s := st.dial(t, z)
				sem := zksync.NewSemaphore(s, "/s", 100)
				suite.Must(t, sem.Acquire(suite.Context(t), last))
				for range 49 {
					suite.Must(t, sem.Acquire(suite.Context(t), 1))
				}
				time.Sleep(time.Second)
				st.hold()
				if d := took(func() { sem.Release(50) }); d > s.Timeout()/3 {
					t.Errorf("Release took %v, T/3 is %v", d, s.Timeout()/3)
				}
				st.release()
				if last > 1 {
					sem.Release(last - 1)
				}
				suite.AtRest(t, s)
				if n := len(suite.NodesOf(z.Server, s.ID())); n != 0 || s.Stats().Losses != 0 {
					t.Errorf("%d nodes, %d losses", n, s.Stats().Losses)
				}
			})
		})
	}
}

// UnlockContext and Release with a ctx that is done do not wait for a write that hangs.
func TestUnlockContextWhileWritesHang(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		var st stall
		s := st.dial(t, z)
		m := zksync.NewMutex(s, "/l")
		m.Lock()
		h, err := zksync.NewMutex(s, "/h").Hold(suite.Context(t))
		suite.Must(t, err)
		time.Sleep(time.Second)
		st.hold()
		if d := took(func() { _ = m.UnlockContext(suite.DoneContext()) }); d > 0 {
			t.Errorf("UnlockContext took %v", d)
		}
		if d := took(func() { _ = h.Release(suite.DoneContext()) }); d > 0 {
			t.Errorf("Release took %v", d)
		}
		st.release()
		suite.AtRest(t, s)
	})
}
