package zksync_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// tryLocker is what a sync.Mutex is to those who use it.
type tryLocker interface {
	sync.Locker
	TryLock() bool
}

// dropIn are programs written for a sync.Mutex.
var dropIn = []struct {
	name string
	run  func(t *testing.T, mu tryLocker)
}{
	{"hammer", func(t *testing.T, mu tryLocker) {
		var wg sync.WaitGroup
		n, want := 0, 0
		for range 8 {
			want += 20
			wg.Go(func() {
				for i := 0; i < 20; i++ {
					if i%3 == 0 {
						if mu.TryLock() {
							mu.Unlock()
						}
					}
					mu.Lock()
					n++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if n != want {
			t.Errorf("%d of %d increments", n, want)
		}
	}},
	{"TryLock", func(t *testing.T, mu tryLocker) {
		mu.Lock()
		if mu.TryLock() {
			t.Fatal("TryLock of a locked lock")
		}
		mu.Unlock()
		suite.Eventually(t, "TryLock of an unlocked lock succeeds", mu.TryLock)
		if mu.TryLock() {
			t.Fatal("TryLock after TryLock")
		}
		mu.Unlock()
		mu.Lock()
		mu.Unlock() // free again: that is all
	}},
	{"unlocked by another goroutine", func(t *testing.T, mu tryLocker) {
		mu.Lock()
		go mu.Unlock()
		mu.Lock()
		mu.Unlock() // likewise
	}},
	{"Lock waits for Unlock", func(t *testing.T, mu tryLocker) {
		mu.Lock()
		var order []string
		entered := make(chan struct{})
		go func() {
			mu.Lock()
			order = append(order, "second")
			mu.Unlock()
			close(entered)
		}()
		runtime.Gosched()
		order = append(order, "first")
		mu.Unlock()
		suite.Receive(t, entered)
		if got := strings.Join(order, " "); got != "first second" {
			t.Error(got)
		}
	}},
	{"Cond", func(t *testing.T, mu tryLocker) {
		c := sync.NewCond(mu)
		n := 0
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				mu.Lock()
				for n == 0 {
					c.Wait()
				}
				n--
				mu.Unlock()
			})
		}
		for range 3 {
			mu.Lock()
			n++
			c.Signal()
			mu.Unlock()
		}
		wg.Wait()
	}},
	{"fairness", func(t *testing.T, mu tryLocker) {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				mu.Lock()
				runtime.Gosched()
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		through := suite.Async(func() bool {
			for range 10 {
				mu.Lock()
				mu.Unlock() // once through
			}
			return true
		})
		suite.Receive(t, through)
		close(stop)
		wg.Wait()
	}},
	{"panic in between", func(t *testing.T, mu tryLocker) {
		suite.Panics(t, "work", func() {
			mu.Lock()
			defer mu.Unlock()
			panic("work")
		})
		mu.Lock()
		mu.Unlock() // free again
	}},
}

func TestDropIn(t *testing.T) {
	for _, tt := range dropIn {
		t.Run("sync/"+tt.name, func(t *testing.T) { tt.run(t, new(sync.Mutex)) })
	}
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		for _, tt := range dropIn {
			t.Run(tt.name, func(t *testing.T) {
				p := z.Path(t)
				tt.run(t, zksync.NewMutex(s, p))
				tt.run(t, zksync.NewMutex(s, p, zksync.WithHandoff(0)))
				suite.AtRest(t, s)
				z.Empty(t, p)
			})
		}
	}, suite.Smoke)
}

// Two programs that take turns.
func TestExclusionBetweenSessions(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		var wg sync.WaitGroup
		n := 0 // the race detector sees to it, too
		for range 3 {
			m := zksync.NewMutex(z.Dial(t), p)
			for i := range 4 {
				wg.Go(func() {
					for range 10 {
						if i == 0 {
							if err := m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error { n++; return nil }); err != nil {
								t.Error(err)
							}
							continue
						}
						m.Lock()
						n++
						m.Unlock()
					}
				})
			}
		}
		wg.Wait()
		if n != 120 {
			t.Errorf("%d of 120", n)
		}
		z.Empty(t, p)
	}, suite.Timeless)
}

// Two values for one path on one session are one lock.
func TestOneLockAPath(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		p := z.Path(t)
		a, b := zksync.NewMutex(s, p), zksync.NewMutex(s, p, zksync.WithHandoff(3))
		if a.Path() != p {
			t.Errorf("Path() is %q", a.Path())
		}
		a.Lock()
		if b.TryLock() {
			t.Fatal("two holders")
		}
		second := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		if n := len(suite.Children(t, z.Raw(t), p)); n != 1 {
			t.Errorf("%d nodes for one session's plain locks", n)
		}
		b.Unlock() // a's: whoever took it
		suite.Must(t, suite.Receive(t, second))
		a.Unlock()

		o := zksync.NewOwner("")
		a.As(o).Lock()
		b.As(o).Lock() // counts are shared
		a.As(o).Unlock()
		if b.TryLock() {
			t.Error("unlocked before the counts matched")
		}
		b.As(o).Unlock()
		suite.LockAndUnlock(t, b)
		suite.AtRest(t, s)
	})
}

func TestOptionsMustAgree(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		p := z.Path(t)
		a := zksync.NewMutex(s, p)
		b := zksync.NewMutex(s, p, zksync.WithACL(zk.WorldACL(zk.PermAll)...), zksync.WithHandoff(0))
		c := zksync.NewMutex(s, p, zksync.WithACL(append(zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermRead)...)...))
		a.Lock()
		e := suite.IsError(t, c.LockContext(suite.Context(t)))
		if e.Op != "lock" || e.Path != p || !strings.Contains(e.Error(), "WithACL") {
			t.Errorf("%#v", e)
		}
		if c.TryLock() {
			t.Error("TryLock of a value that differs")
		}
		suite.PanicsWith(t, c.Lock)
		same := suite.Async(func() error { return b.LockContext(suite.Context(t)) })
		suite.AwaitWaiting(t, s, 1)
		a.Unlock()
		suite.Must(t, suite.Receive(t, same))
		c.Unlock() // but Unlock is everybody's
		suite.AtRest(t, s)
		suite.Eventually(t, "the state of a path is freed when idle", func() bool { return c.TryLock() })
		c.Unlock()
		suite.LockAndUnlock(t, c)
	})
}

func TestUnlockContext(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		p := z.Path(t)
		m := zksync.NewMutex(s, p)
		ctx := suite.Context(t)
		t.Run("done context", func(t *testing.T) {
			suite.Must(t, m.LockContext(ctx))
			err := m.UnlockContext(suite.DoneContext())
			if err != nil { // confirmed at once it is nil, which is as good
				e := suite.IsError(t, err, context.Canceled, suite.ErrCause)
				if e.Op != "unlock" || e.Path != p {
					t.Errorf("%#v", e)
				}
			}
			z.Empty(t, p)
			suite.LockAndUnlock(t, m)
		})
		t.Run("without an owner it ends a level, whoever took it", func(t *testing.T) {
			suite.Must(t, m.As(zksync.NewOwner("o")).LockContext(ctx))
			suite.Must(t, m.UnlockContext(ctx))
			suite.LockAndUnlock(t, m)
		})
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}
