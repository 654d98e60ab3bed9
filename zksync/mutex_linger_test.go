package zksync_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// lingers is a long time for which a lock may linger: far more than a test takes.
const lingers = time.Hour

// kept waits until a lock lingers, with one node at the path and the watches that it
// needs, and returns the name of the node.
func kept(t *testing.T, s *suite.Counted, p string) string {
	t.Helper()
	nodes := suite.Children(t, s.Conn(), p)
	if len(nodes) != 1 {
		t.Fatalf("nodes %v, want one that lingers", nodes)
	}
	s.Take(t)
	return nodes[0]
}

// A lock that lingers is taken and given back without a request, by all methods that
// use no handle, on both sides of an RWMutex, and by every value for the path.
func TestLingerCostsNoRequest(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		option, owner := zksync.WithLinger(lingers), zksync.NewOwner("a")
		for name, lock := range map[string]func(s *zksync.Session, p string) zksync.Locker{
			"Mutex": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewMutex(s, p, option) },
			"write": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p, option) },
			"read":  func(s *zksync.Session, p string) zksync.Locker { return zksync.NewRWMutex(s, p, option).RLocker() },
			"kazoo": func(s *zksync.Session, p string) zksync.Locker {
				return zksync.NewMutex(s, p, option, zksync.WithKazooName())
			},
			"owner's": func(s *zksync.Session, p string) zksync.Locker { return zksync.NewMutex(s, p, option).As(owner) },
		} {
			t.Run(name, func(t *testing.T) {
				s := z.Counted(t)
				p := z.UsedPath(t, s.Session)
				m := lock(s.Session, p)
				suite.Must(t, m.LockContext(suite.Context(t)))
				suite.Must(t, m.UnlockContext(suite.Context(t)))
				s.Take(t)
				before := s.Stats()
				for range 200 {
					m.Lock()
					m.Unlock()
					suite.Must(t, m.LockContext(suite.Context(t)))
					suite.Must(t, m.UnlockContext(suite.Context(t)))
					if got, err := m.TryLockContext(suite.Context(t)); err != nil || !got {
						t.Fatal(got, err)
					}
					m.Unlock()
					if !m.TryLock() {
						t.Fatal("TryLock was refused")
					}
					m.Unlock()
					again := lock(s.Session, p)
					again.Lock()
					if st := s.Stats(); st.Held != 1 {
						t.Fatalf("%d locks are held", st.Held)
					}
					again.Unlock()
				}
				ops := s.Take(t)
				if name == "owner's" { // the node's data is rewritten, and the watches are set again
					delete(ops, "setData")
					delete(ops, "getData")
					delete(ops, "getChildren2")
				}
				if ops.Sum() > 0 {
					t.Errorf("1000 times: requests %v", ops)
				}
				st := s.Stats()
				if st.Acquired-before.Acquired != 1000 || st.Handoffs != before.Handoffs || st.Held != 0 || st.Waiting != 0 {
					t.Errorf("%+v, before %+v", st, before)
				}
				suite.Must(t, s.Close())
			})
		}
	}, suite.Smoke)
}

// To begin with, a lock that lingers costs two reads.
func TestLingerBeginsWithTwoReads(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Counted(t)
		p := z.UsedPath(t, s.Session)
		for range 2 { // from then on the path is watched, and not listed
			suite.LockAndUnlock(t, zksync.NewMutex(s.Session, p))
		}
		s.Take(t)
		m := zksync.NewMutex(s.Session, p, zksync.WithLinger(lingers))
		suite.LockAndUnlock(t, m)
		s.Wants(t, "the first time", suite.Ops{"create": 1, "getChildren2": 1, "getData": 1})
		suite.Must(t, s.Close())
	})
}

// Goroutines of a session hand a lock over that lingers between them.
func TestLingerIsHandedOver(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p, zksync.WithLinger(lingers), zksync.WithHandoff(2))
		inside := 0
		suite.Together(t, 8, func(int) error {
			for range 50 {
				m.Lock()
				if inside++; inside != 1 {
					t.Errorf("%d hold the lock", inside)
				}
				inside--
				m.Unlock()
			}
			return nil
		})
		suite.Must(t, s.Close())
	})
}

// givers are what ends the lingering of a Mutex. What waits, waits for no more than
// the deletion of the node.
var givers = map[string]func(ctx context.Context, t *testing.T, s, other *zksync.Session, p, node string){
	"another session": func(ctx context.Context, t *testing.T, _, other *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewMutex(other, p))
	},
	"another session's reader": func(ctx context.Context, t *testing.T, _, other *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewRWMutex(other, p).RLocker())
	},
	"a Multi": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-other")))
	},
	"a Multi that does not wait": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		tries(ctx, t, zksync.NewMulti(zksync.NewMutex(s, p), zksync.NewMutex(s, p+"-other")))
	},
	"a writer": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewRWMutex(s, p))
	},
	"a reader that does not wait": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		tries(ctx, t, zksync.NewRWMutex(s, p).RLocker())
	},
	"a Hold": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, node string) {
		h, err := zksync.NewMutex(s, p, zksync.WithLinger(lingers)).Hold(ctx)
		suite.Must(t, err)
		if strings.HasSuffix(h.Node(), node) {
			t.Error("a Hold stands on the node that lingered")
		}
		suite.Must(t, h.Release(ctx))
	},
	"a TryHold": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		h, err := zksync.NewMutex(s, p, zksync.WithLinger(lingers)).TryHold(ctx)
		suite.Must(t, err)
		suite.Must(t, h.Release(ctx))
	},
	"no hand-over": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewMutex(s, p, zksync.WithHandoff(0)))
	},
	"a value that does not linger": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		takes(ctx, t, zksync.NewMutex(s, p))
	},
	"permits": func(ctx context.Context, t *testing.T, s, _ *zksync.Session, p, _ string) {
		sem := zksync.NewSemaphore(s, p, 2)
		suite.Must(t, sem.Acquire(ctx, 1))
		sem.Release(1)
	},
	"another access list": func(ctx context.Context, t *testing.T, s, other *zksync.Session, p, node string) {
		m := zksync.NewMutex(s, p, zksync.WithACL(zk.WorldACL(zk.PermRead|zk.PermCreate|zk.PermDelete)...))
		suite.Must(t, m.LockContext(ctx))
		if n := suite.Children(t, other.Conn(), p); slices.Contains(n, node) {
			t.Errorf("%s serves a call with another access list", node)
		}
		suite.Must(t, m.UnlockContext(ctx))
	},
	"a request for the lock": func(ctx context.Context, t *testing.T, _, other *zksync.Session, p, node string) {
		suite.Must(t, other.Revoke(ctx, p+"/"+node))
	},
	"a request by Curator": func(_ context.Context, t *testing.T, _, other *zksync.Session, p, node string) {
		_, err := other.Conn().Set(p+"/"+node, []byte("__REVOKE__"), -1)
		suite.Must(t, err)
	},
	"a deletion by hand": func(ctx context.Context, t *testing.T, _, other *zksync.Session, p, node string) {
		suite.Must(t, other.Conn().Delete(p+"/"+node, -1))
	},
}

func takes(ctx context.Context, t *testing.T, l zksync.Locker) {
	t.Helper()
	suite.Must(t, l.LockContext(ctx))
	suite.Must(t, l.UnlockContext(ctx))
}

func tries(ctx context.Context, t *testing.T, l zksync.Locker) {
	t.Helper()
	got, err := l.TryLockContext(ctx)
	if suite.Must(t, err); !got {
		t.Fatal("refused because of the session's own node")
	}
	suite.Must(t, l.UnlockContext(ctx))
}

// A lock that lingers is given away at once when anybody else comes for it.
func TestLingerGivesWay(t *testing.T) {
	for name, come := range givers {
		t.Run(name, func(t *testing.T) {
			suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
				s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
				m := zksync.NewMutex(s, p, zksync.WithLinger(lingers))
				suite.LockAndUnlock(t, m)
				node := suite.Children(t, other.Conn(), p)[0]
				ctx, cancel := context.WithTimeout(suite.Context(t), suite.Soon)
				defer cancel()
				come(ctx, t, s, other, p, node)
				z.Empty(t, p)
				again := func() bool {
					suite.LockAndUnlock(t, m)
					now := suite.Children(t, other.Conn(), p)
					return len(now) == 1 && now[0] != node
				}
				if name == "a deletion by hand" { // the session may still have to learn of it
					suite.Eventually(t, "it lingers again", again)
				}
				if !again() {
					t.Errorf("nodes %v, before %s", suite.Children(t, other.Conn(), p), node)
				}
				suite.Must(t, s.Close())
			}, suite.Timeless)
		})
	}
}

// A lock that somebody has asked for while it was held does not linger.
func TestLingerHeedsARequestFromBefore(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, p := z.Dial(t), z.Dial(t), z.Path(t)
		m := zksync.NewMutex(s, p, zksync.WithLinger(lingers))
		for _, lingered := range []bool{false, true} {
			if lingered {
				suite.LockAndUnlock(t, m)
			}
			suite.Must(t, m.LockContext(suite.Context(t)))
			suite.Must(t, other.Revoke(suite.Context(t), firstNode(t, other, p).Node))
			suite.Must(t, m.UnlockContext(suite.Context(t)))
			z.Empty(t, p)
		}
	}, suite.Timeless)
}

// What it costs to give way to another session: one deletion. What the other one does
// depends on whether it still finds the node.
func TestLingerGivesWayWithOneRequest(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, other.Session)
		m, theirs := zksync.NewMutex(s.Session, p, zksync.WithLinger(lingers)), zksync.NewMutex(other.Session, p)
		suite.LockAndUnlock(t, m)
		kept(t, s, p)
		other.Take(t)
		for range 2 {
			theirs.Lock()
			s.Wants(t, "giving way", suite.Ops{"delete": 1})
			if got := other.Take(t); got["create"] != 1 || got.Sum() > 7 {
				t.Errorf("waiting for that took %v", got)
			}
			suite.Must(t, theirs.UnlockContext(suite.Context(t)))
			other.Take(t)
			suite.LockAndUnlock(t, m)
			kept(t, s, p)
		}
		suite.Must(t, s.Close())
	}, suite.Smoke)
}

// A lock that a session had to wait for does not linger, so that a lock for which sessions
// compete costs no request more.
func TestLingerNotWhereSessionsCompete(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, other.Session)
		m, theirs := zksync.NewMutex(s.Session, p, zksync.WithLinger(lingers)), zksync.NewMutex(other.Session, p)
		theirs.Lock()
		s.Take(t)
		next := suite.Async(func() error { return m.LockContext(suite.Context(t)) })
		s.Stands(t)
		theirs.Unlock()
		suite.Must(t, suite.Receive(t, next))
		m.Unlock()
		s.Wants(t, "Unlock", suite.Ops{"delete": 1})
	})
}

// While a session waits for a lock that is held, the Unlock gives it away at once, also
// if the lock has lingered before.
func TestLingerEndsWithAnUnlockOthersWaitFor(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, other.Session)
		m := zksync.NewMutex(s.Session, p, zksync.WithLinger(lingers))
		suite.LockAndUnlock(t, m)
		kept(t, s, p)
		m.Lock()
		next := suite.CallInLine(t, other, p, suite.Waiting[0])
		suite.Eventually(t, "the event has come", func() bool { return s.Events.Load() == 1 })
		s.Wants(t, "while the lock is held", suite.Ops{})
		m.Unlock()
		s.Wants(t, "Unlock", suite.Ops{"delete": 1})
		suite.Must(t, next.Held(t)())
	})
}
