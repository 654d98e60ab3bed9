package zksync_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// lingering returns a session whose lock at /l lingers, and another session.
func lingering(t *testing.T, z *suite.Ground, d time.Duration) (m *zksync.Mutex, s, other *zksync.Session) {
	t.Helper()
	s, other = z.Via(t, z.Server.Dial), z.Via(t, z.Server.Dial)
	m = zksync.NewMutex(s, "/l", zksync.WithLinger(d))
	suite.LockAndUnlock(t, m)
	stays(t, z, s)
	return m, s, other
}

// stays checks that the lock at /l lingers in a session.
func stays(t *testing.T, z *suite.Ground, s *zksync.Session) {
	t.Helper()
	if n := suite.NodesOf(z.Server, s.ID()); len(n) != 1 || s.Stats().Held != 0 {
		t.Fatalf("nodes %v, %d locks held", n, s.Stats().Held)
	}
}

// A lock lingers for as long as the option says, from the last Unlock on, and not while
// it is held.
func TestLingerLastsAsLongAsAsked(t *testing.T) {
	for _, d := range []time.Duration{time.Second, 3 * suite.VirtualTimeout} {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			m, s, _ := lingering(t, z, d)
			time.Sleep(d * 3 / 4)
			suite.LockAndUnlock(t, m)
			time.Sleep(d - 1)
			synctest.Wait()
			stays(t, z, s)
			m.Lock()
			time.Sleep(2 * d)
			m.Unlock()
			time.Sleep(d * 3 / 4)
			stays(t, z, s)
			time.Sleep(d / 4)
			synctest.Wait()
			z.Empty(t, "/l")
			suite.LockAndUnlock(t, m)
			stays(t, z, s)
			suite.Must(t, s.Close())
		})
	}
}

// The name of a call that is over goes from the node, and the lock lingers on, however
// long the reads take by which it begins to linger.
func TestLingerOutlastsTheName(t *testing.T) {
	for _, ms := range []time.Duration{0, 20, 34, 40, 45, 49, 60, 100, 150} {
		delay := ms * time.Millisecond
		t.Run(delay.String(), func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				s := z.Via(t, z.Server.Dial)
				m := zksync.NewMutex(s, "/l", zksync.WithLinger(lingers)).As(zksync.NewOwner("clerk"))
				suite.LockAndUnlock(t, zksync.NewMutex(s, "/l"))
				z.Server.Delay(delay)
				for range 3 {
					suite.Must(t, m.LockContext(t.Context()))
					node := suite.NodesOf(z.Server, s.ID())
					suite.Must(t, m.UnlockContext(t.Context()))
					time.Sleep(2 * time.Second)
					synctest.Wait()
					stays(t, z, s)
					if now := suite.NodesOf(z.Server, s.ID()); now[0] != node[0] {
						t.Errorf("node %s, before %s", now[0], node[0])
					}
					if q, err := s.Inspect(t.Context(), "/l"); err != nil || len(q.Nodes) != 1 || q.Nodes[0].OwnerName != "" {
						t.Errorf("%+v, %v", q, err)
					}
				}
				z.Server.Heal()
				suite.Must(t, s.Close())
			})
		})
	}
}

// A name is wrong for 100 ms and one write at most, and for the rest of a renewal that was
// on its way then.
func TestLingerCorrectsTheNameInTime(t *testing.T) {
	const way = 10 * time.Millisecond
	for _, ms := range []time.Duration{75, 85, 90, 95, 99, 100, 101, 105} {
		held := ms * time.Millisecond
		t.Run(held.String(), func(t *testing.T) {
			suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
				s := z.Via(t, z.Server.Dial)
				m := zksync.NewMutex(s, "/l", zksync.WithLinger(lingers))
				first, second := m.As(zksync.NewOwner("first")), m.As(zksync.NewOwner("second"))
				suite.LockAndUnlock(t, zksync.NewMutex(s, "/l"))
				z.Server.Delay(way)
				suite.Must(t, first.LockContext(t.Context()))
				next := suite.Async(func() error { return second.LockContext(t.Context()) })
				suite.AwaitWaiting(t, s, 1)
				suite.Must(t, first.UnlockContext(t.Context()))
				wrong := time.Now()
				suite.Must(t, suite.Receive(t, next))
				node := suite.NodesOf(z.Server, s.ID())
				time.Sleep(held - time.Since(wrong))
				suite.Must(t, second.UnlockContext(t.Context()))
				time.Sleep(time.Until(wrong.Add(100*time.Millisecond + 4*way + time.Millisecond))) // a renewal, a write
				if data, _, ok := z.Server.Get(node[0]); !ok || strings.Contains(string(data), "first") {
					t.Errorf("%v after the lock was handed over its node says %s", time.Since(wrong), data)
				}
				z.Server.Heal()
				suite.Must(t, s.Close())
			})
		})
	}
}

// The other session waits for one deletion, however far the servers are: from its create
// on, the event, the deletion and the event of that take three times the way.
func TestLingerGivesWayAtOnce(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		m, s, other := lingering(t, z, lingers)
		suite.LockAndUnlock(t, zksync.NewMutex(other, "/warm"))
		const delay = 100 * time.Millisecond
		z.Server.Delay(delay)
		start := time.Now()
		theirs := zksync.NewMutex(other, "/l")
		theirs.Lock()
		t.Log("granted after", time.Since(start))
		if took := time.Since(start); took > 8*delay {
			t.Errorf("the other session waited for %v, with %v on each way", took, delay)
		}
		theirs.Unlock()
		z.Server.Heal()
		suite.LockAndUnlock(t, m)
		suite.Must(t, s.Close())
	})
}

// A session that is over holds nothing, and keeps nothing.
func TestLingerEndsWithTheSession(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		m, theirs := zksync.NewMutex(s, p, zksync.WithLinger(lingers)), zksync.NewMutex(other, p)
		suite.LockAndUnlock(t, m)
		id := s.ID()
		suite.Must(t, z.Expire(id))
		theirs.Lock()
		suite.Eventually(t, "the session is another one", func() bool { return s.ID() != 0 && s.ID() != id })
		if got, err := m.TryLockContext(suite.Context(t)); got || err != nil {
			t.Errorf("a lock that somebody else holds was taken: %v", err)
		}
		next := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		suite.NotYet(t, next)
		theirs.Unlock()
		suite.Must(t, suite.Receive(t, next))
		suite.Must(t, m.UnlockContext(suite.Context(t)))
		suite.Must(t, s.Close())
	}, suite.Timeless)
}

// A session that is cut off does not use the node that lingers, neither while it does not
// know nor later. The node is gone as soon as it is connected again.
func TestLingerEndsWithTheConnection(t *testing.T) {
	for _, away := range []time.Duration{0, suite.VirtualTimeout * 3 / 4} {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			m, s, other := lingering(t, z, lingers)
			node, id := suite.NodesOf(z.Server, s.ID())[0], s.ID()
			z.Server.Refuse()
			z.Server.Disconnect(id)
			suite.Eventually(t, "disconnected", func() bool { return s.Stats().Disconnects == 1 })
			if m.TryLock() {
				t.Error("TryLock got the lock without a connection")
			}
			ctx, cancel := context.WithTimeout(suite.Context(t), suite.VirtualTimeout/9)
			defer cancel()
			suite.IsError(t, m.LockContext(ctx), context.DeadlineExceeded)
			time.Sleep(away)
			z.Server.Accept()
			theirs := zksync.NewMutex(other, "/l")
			suite.Must(t, theirs.LockContext(suite.BrieflyFor(t, suite.VirtualTimeout/3)))
			if _, _, there := z.Server.Get(node); there || s.ID() != id {
				t.Errorf("the node stands: %t; session %#x, was %#x", there, s.ID(), id)
			}
			suite.Must(t, theirs.UnlockContext(suite.Context(t)))
			suite.Must(t, s.Close())
		})
	}
}

// A session whose quorum has been silent for T/2 does not use the node that lingers,
// though the connection is up: other sessions may have the lock already.
func TestLingerComparesTheClock(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		w := &suite.Tap{To: z.Server.Dial}
		s, other := z.Via(t, w.Dial), z.Via(t, z.Server.Dial)
		m := zksync.NewMutex(s, "/l", zksync.WithLinger(lingers))
		suite.LockAndUnlock(t, m)
		id := s.ID()
		time.Sleep(suite.VirtualTimeout/2 - time.Millisecond)
		m.Lock() // just in time
		m.Unlock()
		w.On(func(f suite.TapFrame) suite.TapAct { // nothing reaches the session, and it doesn't know yet
			if f.FromServer {
				return suite.TapDrop
			}
			return suite.TapPass
		})
		time.Sleep(time.Millisecond)
		suite.Must(t, z.Expire(id))
		theirs := zksync.NewMutex(other, "/l")
		theirs.Lock()
		ctx, cancel := context.WithTimeout(suite.Context(t), time.Second)
		defer cancel()
		if err := m.LockContext(ctx); err == nil {
			t.Error("two hold the lock")
		}
		w.On(nil)
		theirs.Unlock()
		suite.LockAndUnlock(t, m)
		suite.Must(t, s.Close())
	})
}

// While the quorum is known to have answered, T/2 of silence costs two requests at the
// next use, and the node stays.
func TestLingerAsksTheQuorumAgain(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		m, s, _ := lingering(t, z, lingers)
		node := suite.NodesOf(z.Server, s.ID())[0]
		for range 3 {
			time.Sleep(suite.VirtualTimeout * 2)
			z.Server.ResetRequests()
			m.Lock()
			m.Unlock()
			if got := suite.Ops(z.Server.SessionRequests(s.ID())); got["multi"] != 1 || got["getChildren2"] != 1 || got.Sum() > 2 {
				t.Errorf("requests %v", got)
			}
		}
		if n := suite.NodesOf(z.Server, s.ID()); len(n) != 1 || n[0] != node {
			t.Errorf("nodes %v, was %s", n, node)
		}
		suite.Must(t, s.Close())
	})
}

// Close and Shutdown delete the node that lingers, and no lock lingers after them.
func TestLingerEndsWithClose(t *testing.T) {
	for name, end := range map[string]func(s *zksync.Session) error{
		"Close":    (*zksync.Session).Close,
		"Shutdown": func(s *zksync.Session) error { return s.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
				s, p, q := z.Dial(t), z.Path(t), z.Path(t)
				m, held := zksync.NewMutex(s, p, zksync.WithLinger(lingers)), zksync.NewMutex(s, q, zksync.WithLinger(lingers))
				suite.LockAndUnlock(t, m)
				suite.LockAndUnlock(t, held)
				held.Lock()
				ended := suite.Async(func() error { return end(s) })
				z.Empty(t, p)
				held.Unlock()
				suite.Must(t, suite.Receive(t, ended))
				z.Empty(t, q)
			}, suite.Timeless)
		})
	}
}

// The node of a process that dies while it lingers is gone with its session.
func TestLingerEndsWithTheProcess(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		net, s := z.Through(t, zksync.WithSessionTimeout(suite.VirtualTimeout))
		suite.LockAndUnlock(t, zksync.NewMutex(s, "/l", zksync.WithLinger(lingers)))
		net.Blackhole()
		start := time.Now()
		theirs := zksync.NewMutex(z.Via(t, z.Server.Dial), "/l")
		theirs.Lock()
		if took := time.Since(start); took > suite.VirtualTimeout*5/4 {
			t.Errorf("free after %v", took)
		}
		theirs.Unlock()
		net.Heal()
	})
}

// A node that is deleted by hand while the lock is held is a loss, which the Unlock
// reports, and nothing lingers.
func TestLingerAfterALoss(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p, zksync.WithLinger(lingers))
		for _, lingered := range []bool{false, true} {
			if lingered {
				suite.LockAndUnlock(t, m)
			}
			suite.Must(t, m.LockContext(suite.Context(t)))
			suite.DeleteOldest(t, z, p)
			if lingered { // else the Unlock asks
				suite.Eventually(t, "the loss is known", func() bool { return s.Stats().Losses == 2 })
			}
			suite.IsError(t, m.UnlockContext(suite.Context(t)), zksync.ErrLost)
			z.Empty(t, p)
		}
	})
}

// A call that fails leaves no node that lingers.
func TestLingerLeavesNothingOfAFailedCall(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		m, theirs := zksync.NewMutex(s, p, zksync.WithLinger(lingers)), zksync.NewMutex(other, p)
		theirs.Lock()
		ctx, cancel := context.WithCancel(suite.Context(t))
		waits := suite.Async(func() error { return m.LockContext(ctx) })
		suite.InLine(t, other.Conn(), p, 2)
		cancel()
		suite.IsError(t, suite.Receive(t, waits), context.Canceled)
		if m.TryLock() {
			t.Error("TryLock of a held lock")
		}
		theirs.Unlock()
		z.Empty(t, p)
	}, suite.Timeless)
}
