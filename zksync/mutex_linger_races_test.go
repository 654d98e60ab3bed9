package zksync_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A lock that was asked back while it was held does not linger, although it was handed
// over and renewed since.
func TestLingerHeedsARequestFromBeforeARenewal(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Via(t, z.Server.Dial), z.Via(t, z.Server.Dial)
		m := zksync.NewMutex(s, "/l", zksync.WithLinger(lingers), zksync.WithHandoff(1))
		m.Lock()
		suite.Must(t, other.Revoke(suite.Context(t), suite.NodesOf(z.Server, s.ID())[0]))
		for range 2 { // the second call gets the lock after a renewal that lists the line
			next := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
			suite.AwaitWaiting(t, s, 1)
			m.Unlock()
			suite.Must(t, suite.Receive(t, next))
		}
		m.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		z.Empty(t, "/l")
		suite.Must(t, s.Close())
	})
}

// The value whose Lock took the lock says whether it lingers, whichever value unlocks it.
// Of the readers that share a lock, the least counts.
func TestLingerIsWhatTheLockSays(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		m, s, _ := lingering(t, z, lingers)
		plain := zksync.NewMutex(s, "/l")
		m.Lock()
		plain.Unlock()
		synctest.Wait()
		stays(t, z, s)
		plain.Lock()
		m.Unlock()
		synctest.Wait()
		z.Empty(t, "/l")
		long, short := zksync.NewRWMutex(s, "/rw", zksync.WithLinger(lingers)), zksync.NewRWMutex(s, "/rw", zksync.WithLinger(time.Second))
		long.RLock()
		short.RLock()
		short.RUnlock()
		long.RUnlock()
		time.Sleep(time.Second - 1)
		synctest.Wait()
		stays(t, z, s)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		z.Empty(t, "/rw")
		suite.Must(t, s.Close())
	})
}

// Where the session may not read its nodes, a lock is released as without the option.
func TestLingerWhereNodesAreUnreadable(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		suite.MakePath(t, s.Conn(), p)
		m := zksync.NewMutex(s, p, zksync.WithLinger(lingers),
			zksync.WithACL(zk.WorldACL(zk.PermCreate|zk.PermDelete|zk.PermWrite)...))
		for range 2 {
			suite.Must(t, m.LockContext(suite.Context(t)))
			suite.Must(t, m.UnlockContext(suite.Context(t)))
			z.Empty(t, p)
		}
		suite.Must(t, s.Close())
	})
}

// A hand-over that comes to nothing has the node watched in the background. The watch
// that it finds leaves alone what is known of the line, even if the lock lingers by then:
// other sessions get the lock. The calls of RUnlock delay the goroutine that watches.
func TestLingerSeesNewcomersAfterALateWatch(t *testing.T) {
	z := suite.Embedded(t)
	s, other := z.Dial(t), z.Dial(t)
	m, theirs := zksync.NewRWMutex(s, "/l", zksync.WithLinger(lingers)), zksync.NewRWMutex(other, "/l")
	var busy, over atomic.Bool
	var delays sync.WaitGroup
	for range 4 {
		delays.Go(func() {
			for !over.Load() {
				if busy.Load() {
					suite.PanicOf(func() { m.RUnlock() })
				} else {
					time.Sleep(100 * time.Microsecond)
				}
			}
		})
	}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && !t.Failed(); {
		m.Lock()
		busy.Store(true)
		ctx, cancel := context.WithCancel(context.Background())
		waits := suite.Async(func() error { return m.LockContext(ctx) })
		for s.Stats().Waiting == 0 {
			runtime.Gosched()
		}
		cancel()
		suite.IsError(t, suite.Receive(t, waits), context.Canceled)
		m.Unlock()
		busy.Store(false)
		time.Sleep(time.Millisecond)
		ctx, cancel = context.WithTimeout(suite.Context(t), suite.Soon)
		if err := theirs.LockContext(ctx); err != nil {
			t.Errorf("a lock that nobody holds: %v", err)
		} else {
			theirs.Unlock()
		}
		cancel()
	}
	over.Store(true)
	delays.Wait()
	suite.Must(t, s.Close())
}

// crowd counts who is inside a lock.
type crowd struct {
	*testing.T
	writers, readers atomic.Int64
}

func (c *crowd) write(f func()) {
	if w := c.writers.Add(1); w != 1 || c.readers.Load() != 0 {
		c.Errorf("%d write, %d read", w, c.readers.Load())
	}
	f()
	c.writers.Add(-1)
}

func (c *crowd) read() {
	c.readers.Add(1)
	if c.writers.Load() != 0 {
		c.Error("one reads while another writes")
	}
	c.readers.Add(-1)
}

func (c *crowd) released(err error) {
	if err != nil {
		c.Error(err)
	}
}

// uses are all ways to use a lock that lingers.
var uses = []func(ctx context.Context, in *crowd, s *zksync.Session, m *zksync.RWMutex){
	func(ctx context.Context, in *crowd, _ *zksync.Session, m *zksync.RWMutex) {
		if m.LockContext(ctx) == nil {
			in.write(func() {})
			m.Unlock()
		}
	},
	func(_ context.Context, in *crowd, _ *zksync.Session, m *zksync.RWMutex) {
		if m.TryLock() {
			in.write(func() {})
			in.released(m.UnlockContext(context.Background()))
		}
	},
	func(ctx context.Context, in *crowd, _ *zksync.Session, m *zksync.RWMutex) {
		if r := m.RLocker(); r.LockContext(ctx) == nil {
			in.read()
			r.Unlock()
		}
	},
	func(ctx context.Context, in *crowd, _ *zksync.Session, m *zksync.RWMutex) {
		if h, err := m.Hold(ctx); err == nil {
			in.write(func() {})
			in.released(h.Release(context.Background()))
		}
	},
	func(ctx context.Context, in *crowd, s *zksync.Session, m *zksync.RWMutex) {
		if both := zksync.NewMulti(m, zksync.NewMutex(s, "/second")); both.LockContext(ctx) == nil {
			in.write(func() {})
			both.Unlock()
		}
	},
	func(ctx context.Context, in *crowd, _ *zksync.Session, m *zksync.RWMutex) {
		if l := m.As(zksync.NewOwner("o")); l.LockContext(ctx) == nil {
			in.write(func() { l.Lock(); l.Unlock() })
			l.Unlock()
		}
	},
}

// Two sessions use a lock that lingers in all ways at once, with calls that end early.
func TestLingerInACrowd(t *testing.T) {
	z := suite.Embedded(t)
	a, b := z.Dial(t), z.Dial(t)
	in, end := &crowd{T: t}, time.Now().Add(2*time.Second)
	suite.Together(t, 10, func(i int) error {
		s, opts := a, []zksync.LockOption{zksync.WithLinger(50 * time.Millisecond), zksync.WithHandoff(3)}
		if i >= 8 {
			s = b
		}
		if i%4 == 3 {
			opts = nil
		}
		m := zksync.NewRWMutex(s, "/l", opts...)
		for n := 0; time.Now().Before(end); n++ {
			limit := 30 * time.Second
			if (i+n)%3 == 0 {
				limit = time.Duration(n%40) * 50 * time.Microsecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			uses[(i*7+n)%len(uses)](ctx, in, s, m)
			cancel()
			if n%50 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		return nil
	})
	for _, s := range []*zksync.Session{a, b} {
		suite.AtRest(t, s)
		suite.Must(t, s.Close())
	}
}
