package zksync_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Shutdown waits for the deletions under way, and so does Close for as long as it has time.
func TestUnlockThenClose(t *testing.T) {
	ends := map[string]func(s *zksync.Session) error{
		"Shutdown": func(s *zksync.Session) error { return s.Shutdown(context.Background()) },
		"Close":    (*zksync.Session).Close,
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
				p := z.Path(t)
				network, s := z.Through(t)
				l := of(s, p)
				l.lock()
				network.Blackhole(zktest.ToClient)
				l.unlock()
				l.unlockRest() // waits for the part before, for a third of the session timeout at most
				time.AfterFunc(100*time.Millisecond, network.Heal)
				suite.Must(t, end(s))
				if n := s.Stats().CleanupPending; n != 0 {
					t.Errorf("%d deletions under way", n)
				}
				z.Empty(t, p)
			}, suite.Timeless)
		})
	}
}

// Close names what it could not delete in time.
func TestCloseNamesTheNodeOfAnUnlock(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := suite.DialUnchecked(t, z.Servers, suite.WithDialer(srv.Dial), zksync.WithSessionTimeout(suite.VirtualTimeout))
		m := zksync.NewMutex(s, "/l")
		m.Lock()
		node := suite.NodesOf(srv, s.ID())[0]
		srv.Blackhole()
		m.Unlock()
		err := suite.IsError(t, s.Close())
		if want := fmt.Sprintf("zksync: close: not deleted: [%s]", node); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		srv.Heal()
	})
}

// The tracer hears of the deletion when its answer has come, which is after the unlock.
func TestUnlockAndTheTracer(t *testing.T) {
	eachPlain(t, func(t *testing.T, z *suite.Ground, of func(*zksync.Session, string) plain) {
		rec := suite.NewRecorder(t)
		var starts, ends atomic.Int32
		tracer := rec.Tracer()
		tracer = zksync.JoinTracers(tracer, &zksync.Tracer{
			ReleaseStart: func(ctx context.Context, _ zksync.AcquireInfo) context.Context { starts.Add(1); return ctx },
			ReleaseEnd: func(_ context.Context, _ zksync.AcquireInfo, r zksync.ReleaseEndInfo) {
				if ends.Add(1); r.Err != nil || !r.Confirmed || r.Took < time.Second/2 {
					t.Errorf("%+v", r)
				}
			},
		})
		network, s := z.Through(t, zksync.WithTracer(tracer))
		l := of(s, z.Path(t))
		l.lock()
		network.Blackhole(zktest.ToClient)
		l.unlock()
		if l.rest == nil && starts.Load() != 1 || ends.Load() != 0 {
			t.Errorf("%d deletions have begun, and %d have ended", starts.Load(), ends.Load())
		}
		time.Sleep(time.Second / 2)
		if l.unlockRest(); l.rest != nil {
			time.Sleep(time.Second / 2)
		}
		network.Heal()
		suite.AtRest(t, s)
		rec.Balanced(t)
		suite.Eventually(t, "the end is reported", func() bool { return ends.Load() == 1 })
	}, suite.Timeless)
}

// A thousand deletions may be under way. An unlock beyond that waits.
func TestUnlocksUnderWayAreBounded(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		const bound = 1024
		s := z.Via(t, z.Server.Dial)
		var all []*zksync.Mutex
		for i := range bound + 1 {
			m := zksync.NewMutex(s, fmt.Sprint("/l", i))
			m.Lock()
			all = append(all, m)
		}
		z.Server.Blackhole(zktest.ToClient)
		if d := took(func() {
			for _, m := range all[:bound] {
				m.Unlock()
			}
		}); d != 0 {
			t.Errorf("the first %d unlocks waited for %v", bound, d)
		}
		time.AfterFunc(time.Second, z.Server.Heal)
		if d := took(all[bound].Unlock); d != time.Second {
			t.Errorf("another unlock waited for %v, want until there is an answer", d)
		}
		suite.AtRest(t, s)
	})
}

// stuck is a connection whose writes block once it is told so, as those to a server that
// reads nothing do.
type stuck struct {
	net.Conn
	on    *atomic.Bool
	mu    sync.Mutex
	until time.Time // guarded by mu; the write deadline
}

func (c *stuck) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetWriteDeadline(t)
}

func (c *stuck) Write(b []byte) (int, error) {
	if !c.on.Load() {
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	until := c.until
	c.mu.Unlock()
	time.Sleep(time.Until(until))
	return 0, os.ErrDeadlineExceeded
}

// A deletion that can't be written holds an unlock up for a third of the session timeout.
// Then the session moves on to another connection, and deletes the node there.
func TestUnlockThatCannotBeWritten(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		var on atomic.Bool
		s := z.Via(t, func(network, addr string, timeout time.Duration) (net.Conn, error) {
			c, err := z.Server.Dial(network, addr, timeout)
			if err != nil {
				return nil, err
			}
			return &stuck{Conn: c, on: &on}, nil
		})
		id := s.ID()
		for _, tt := range plains {
			l := tt.of(s, "/"+tt.name)
			l.lock()
			on.Store(true)
			if d := took(l.unlock); d > s.Timeout()/3 || d == 0 {
				t.Errorf("%s: waited for %v, with a session timeout of %v", tt.name, d, s.Timeout())
			}
			on.Store(false)
			l.unlockRest()
			suite.AtRest(t, s)
			if left := z.Server.Children("/" + tt.name); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		}
		if st := s.Stats(); st.Losses != 0 || s.ID() != id {
			t.Errorf("%+v, session %x after %x", st, s.ID(), id)
		}
	})
}
