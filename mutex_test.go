package zksync_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
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
		eventually(t, "TryLock of an unlocked lock succeeds", mu.TryLock)
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
		get(t, entered)
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
		through := async(func() bool {
			for range 10 {
				mu.Lock()
				mu.Unlock() // once through
			}
			return true
		})
		get(t, through)
		close(stop)
		wg.Wait()
	}},
	{"panic in between", func(t *testing.T, mu tryLocker) {
		panics(t, "work", func() {
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
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		for _, tt := range dropIn {
			t.Run(tt.name, func(t *testing.T) {
				p := lockPath(t)
				tt.run(t, zksync.NewMutex(s, p))
				tt.run(t, zksync.NewMutex(s, p, zksync.WithHandoff(0)))
				atRest(t, s)
				z.empty(t, p)
			})
		}
	})
}

// Two programs that take turns.
func TestExclusionBetweenSessions(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		var wg sync.WaitGroup
		n := 0 // the race detector sees to it, too
		for range 3 {
			m := zksync.NewMutex(z.dial(t), p)
			for i := range 4 {
				wg.Go(func() {
					for range 10 {
						if i == 0 {
							if err := m.Do(short(t), func(context.Context, *zksync.Hold) error { n++; return nil }); err != nil {
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
		z.empty(t, p)
	})
}

func TestMisusePanics(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		ctx := short(t)
		o, other := zksync.NewOwner("o"), zksync.NewOwner("other")
		for _, tt := range []struct {
			name, want string
			before     func(t *testing.T, m *zksync.Mutex) (after func())
			misuse     func(m *zksync.Mutex)
		}{
			{"Unlock of unlocked", "zksync: Unlock of an unlocked lock", nil, (*zksync.Mutex).Unlock},
			{"UnlockContext of unlocked", "zksync: Unlock of an unlocked lock", nil,
				func(m *zksync.Mutex) { m.UnlockContext(ctx) }},
			{"As Unlock of unlocked", "zksync: Unlock of an unlocked lock", nil,
				func(m *zksync.Mutex) { m.As(o).Unlock() }},
			{"double Unlock", "zksync: Unlock of an unlocked lock", nil,
				func(m *zksync.Mutex) { m.Lock(); m.Unlock(); m.Unlock() }},
			{"double Unlock by an owner", "zksync: Unlock of an unlocked lock", nil, func(m *zksync.Mutex) {
				l := m.As(o)
				l.Lock()
				l.Lock()
				l.Unlock()
				l.Unlock()
				l.Unlock()
			}},
			{"Unlock of a Hold", "zksync: Unlock of a lock held by a Hold", held, (*zksync.Mutex).Unlock},
			{"UnlockContext of a Hold", "zksync: Unlock of a lock held by a Hold", held,
				func(m *zksync.Mutex) { m.UnlockContext(ctx) }},
			{"Unlock in Do", "zksync: Unlock of a lock held by a Hold", nil, func(m *zksync.Mutex) {
				m.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return m.UnlockContext(ctx) })
			}},
			{"As Unlock of another owner's", "zksync: Unlock of a lock that another owner holds",
				func(t *testing.T, m *zksync.Mutex) func() { l := m.As(other); l.Lock(); return l.Unlock },
				func(m *zksync.Mutex) { m.As(o).Unlock() }},
			{"As Unlock of nobody's", "zksync: Unlock of a lock that another owner holds",
				func(t *testing.T, m *zksync.Mutex) func() { m.Lock(); return m.Unlock },
				func(m *zksync.Mutex) { m.As(o).Unlock() }},
			{"As of no owner", "zksync: As with the zero Owner", nil,
				func(m *zksync.Mutex) { m.As(zksync.Owner{}) }},
			{"no session", "zksync: NewMutex with a nil Session", nil,
				func(m *zksync.Mutex) { zksync.NewMutex(nil, "/a") }},
		} {
			t.Run(tt.name, func(t *testing.T) {
				m := zksync.NewMutex(s, lockPath(t))
				after := func() {}
				if tt.before != nil {
					after = tt.before(t, m)
				}
				panics(t, tt.want, func() { tt.misuse(m) })
				after()
				free(t, m) // nothing is broken by it
				atRest(t, s)
			})
		}
	})
}

func held(t *testing.T, m *zksync.Mutex) func() {
	h, err := m.Hold(short(t))
	ok(t, err)
	return func() { ok(t, h.Release(short(t))) }
}

func TestZeroMutexPanics(t *testing.T) {
	ctx := context.Background()
	for name, use := range map[string]func(m *zksync.Mutex){
		"Lock":           (*zksync.Mutex).Lock,
		"Unlock":         (*zksync.Mutex).Unlock,
		"TryLock":        func(m *zksync.Mutex) { m.TryLock() },
		"LockContext":    func(m *zksync.Mutex) { m.LockContext(ctx) },
		"LockContext2":   func(m *zksync.Mutex) { m.LockContext(done()) },
		"TryLockContext": func(m *zksync.Mutex) { m.TryLockContext(ctx) },
		"UnlockContext":  func(m *zksync.Mutex) { m.UnlockContext(ctx) },
		"Hold":           func(m *zksync.Mutex) { m.Hold(ctx) },
		"TryHold":        func(m *zksync.Mutex) { m.TryHold(ctx) },
		"Do":             func(m *zksync.Mutex) { m.Do(ctx, nil) },
		"As":             func(m *zksync.Mutex) { m.As(zksync.NewOwner("")) },
		"Path":           func(m *zksync.Mutex) { m.Path() },
	} {
		t.Run(name, func(t *testing.T) {
			panics(t, "zksync: use of zero Mutex", func() { use(new(zksync.Mutex)) })
			panics(t, "zksync: use of zero Mutex", func() { use(nil) })
		})
	}
}

// Two values for one path on one session are one lock.
func TestOneLockAPath(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		p := lockPath(t)
		a, b := zksync.NewMutex(s, p), zksync.NewMutex(s, p, zksync.WithHandoff(3))
		if a.Path() != p {
			t.Errorf("Path() is %q", a.Path())
		}
		a.Lock()
		if b.TryLock() {
			t.Fatal("two holders")
		}
		second := async(func() error { return b.LockContext(short(t)) })
		waiting(t, s, 1)
		if n := len(children(t, z.raw(t), p)); n != 1 {
			t.Errorf("%d nodes for one session's plain locks", n)
		}
		b.Unlock() // a's: whoever took it
		ok(t, get(t, second))
		a.Unlock()

		o := zksync.NewOwner("")
		a.As(o).Lock()
		b.As(o).Lock() // counts are shared
		a.As(o).Unlock()
		if b.TryLock() {
			t.Error("unlocked before the counts matched")
		}
		b.As(o).Unlock()
		free(t, b)
		atRest(t, s)
	})
}

func TestOptionsMustAgree(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		p := lockPath(t)
		a := zksync.NewMutex(s, p)
		b := zksync.NewMutex(s, p, zksync.WithACL(zk.WorldACL(zk.PermAll)...), zksync.WithHandoff(0))
		c := zksync.NewMutex(s, p, zksync.WithACL(append(zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermRead)...)...))
		a.Lock()
		e := isError(t, c.LockContext(short(t)))
		if e.Op != "lock" || e.Path != p || !strings.Contains(e.Error(), "WithACL") {
			t.Errorf("%#v", e)
		}
		if c.TryLock() {
			t.Error("TryLock of a value that differs")
		}
		panicsWith(t, c.Lock)
		same := async(func() error { return b.LockContext(short(t)) })
		waiting(t, s, 1)
		a.Unlock()
		ok(t, get(t, same))
		c.Unlock() // but Unlock is everybody's
		atRest(t, s)
		eventually(t, "the state of a path is freed when idle", func() bool { return c.TryLock() })
		c.Unlock()
		free(t, c)
	})
}

func TestUnlockContext(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		p := lockPath(t)
		m := zksync.NewMutex(s, p)
		ctx := short(t)
		t.Run("done context", func(t *testing.T) {
			ok(t, m.LockContext(ctx))
			err := m.UnlockContext(done())
			if err != nil { // confirmed at once it is nil, which is as good
				e := isError(t, err, context.Canceled, errCause)
				if e.Op != "unlock" || e.Path != p {
					t.Errorf("%#v", e)
				}
			}
			z.empty(t, p)
			free(t, m)
		})
		t.Run("not the owner", func(t *testing.T) {
			o := zksync.NewOwner("o")
			ok(t, m.LockContext(ctx))
			e := isError(t, m.UnlockContext(zksync.WithOwner(ctx, o)), zksync.ErrNotOwner)
			if e.Op != "unlock" || e.ErrorType() != "not_owner" {
				t.Errorf("%#v", e)
			}
			isError(t, m.As(o).UnlockContext(ctx), zksync.ErrNotOwner)
			if m.TryLock() {
				t.Fatal("unlocked by somebody else")
			}
			ok(t, m.UnlockContext(ctx))
			// Without an owner it ends a level, whoever took it.
			ok(t, m.As(o).LockContext(ctx))
			ok(t, m.UnlockContext(ctx))
			free(t, m)
		})
		atRest(t, s)
		z.empty(t, p)
	})
}
