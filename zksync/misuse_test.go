package zksync_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Every method of a zero value, and of a nil pointer, panics with one message.
func TestZeroValuesPanic(t *testing.T) {
	for want, values := range map[string][]any{
		"zksync: use of zero Session":   {new(zksync.Session), (*zksync.Session)(nil)},
		"zksync: use of zero Hold":      {new(zksync.Hold), (*zksync.Hold)(nil)},
		"zksync: use of zero Mutex":     {new(zksync.Mutex), (*zksync.Mutex)(nil)},
		"zksync: use of zero RWMutex":   {new(zksync.RWMutex), (*zksync.RWMutex)(nil)},
		"zksync: use of zero Multi":     {new(zksync.Multi), (*zksync.Multi)(nil)},
		"zksync: use of zero Election":  {new(zksync.Election), (*zksync.Election)(nil)},
		"zksync: use of zero Semaphore": {new(zksync.Semaphore), (*zksync.Semaphore)(nil)},
	} {
		for _, value := range values {
			v := reflect.ValueOf(value)
			for i := range v.NumMethod() {
				name, m := v.Type().Method(i).Name, v.Method(i)
				args := make([]reflect.Value, m.Type().NumIn())
				for i := range args {
					args[i] = reflect.Zero(m.Type().In(i))
				}
				if got := suite.PanicOf(func() { m.Call(args) }); got != want {
					t.Errorf("%T.%s panics with %v, want %q", value, name, got, want)
				}
			}
		}
	}
	for name, f := range map[string]func(s *zksync.Session){
		"NewMutex":     func(s *zksync.Session) { zksync.NewMutex(s, "/a") },
		"NewRWMutex":   func(s *zksync.Session) { zksync.NewRWMutex(s, "/a") },
		"NewElection":  func(s *zksync.Session) { zksync.NewElection(s, "/a") },
		"NewSemaphore": func(s *zksync.Session) { zksync.NewSemaphore(s, "/a", 1) },
	} {
		if got := suite.PanicOf(func() { f(new(zksync.Session)) }); got != "zksync: use of zero Session" {
			t.Errorf("%s panics with %v", name, got)
		}
	}
}

// wrapped is a Locker of a program's own, as far as there can be one.
type wrapped struct{ zksync.Locker }

func TestNewMultiOfAWrappedLocker(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		m := zksync.NewMutex(z.Dial(t), z.Path(t))
		for want, l := range map[string]zksync.Locker{
			"zksync: NewMulti with a zksync_test.wrapped, which wraps a Locker: pass the Locker itself":  wrapped{m},
			"zksync: NewMulti with a *zksync_test.wrapped, which wraps a Locker: pass the Locker itself": &wrapped{m},
			"zksync: NewMulti with a nil Locker": nil,
			"zksync: use of zero Mutex":          (*zksync.Mutex)(nil),
			"zksync: NewMulti without a lock":    zksync.Locker(nil),
		} {
			f := func() { zksync.NewMulti(m, l) }
			if want == "zksync: NewMulti without a lock" {
				f = func() { zksync.NewMulti() }
			}
			suite.Panics(t, want, f)
		}
	})
}

// A program that closes its session over locks and permits that it holds means it:
// that is no error to log, neither then nor at the late unlock.
func TestCloseOverAHeldLockLogsNoError(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		var notes suite.Notes
		s := z.Dial(t, zksync.WithLogger(slog.New(slog.NewTextHandler(&notes, nil))))
		m, rw, sem := zksync.NewMutex(s, z.Path(t)), zksync.NewRWMutex(s, z.Path(t)), zksync.NewSemaphore(s, z.Path(t), 3)
		m.Lock()
		rw.RLock()
		rw.RLock()
		suite.Must(t, sem.Acquire(suite.Context(t), 2))
		suite.Must(t, s.Close())
		m.Unlock()
		rw.RUnlock()
		suite.IsError(t, rw.RUnlockContext(suite.Context(t)), zksync.ErrLost, zksync.ErrClosed)
		sem.Release(2)
		if n := notes.Count("level=ERROR") + notes.Count("level=WARN"); n != 0 {
			t.Errorf("%d lines:\n%s", n, &notes)
		}
	}, suite.Smoke)
}

// An option that means nothing for a lock is an error at its first use, which names it.
func TestOptionsThatDoNotApply(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, p := suite.Context(t), z.Dial(t), z.Path(t)
		for want, l := range map[string]zksync.Locker{
			`WithStrictLimit does not go with a lock of mode "mutex": it is for a Semaphore`: zksync.NewMutex(s, p, zksync.WithStrictLimit()),
			`WithStrictLimit does not go with a lock of mode "write": it is for a Semaphore`: zksync.NewRWMutex(s, p, zksync.WithStrictLimit()),
			`WithStrictLimit does not go with a lock of mode "read": it is for a Semaphore`:  zksync.NewRWMutex(s, p, zksync.WithStrictLimit()).RLocker(),
		} {
			for _, l := range []zksync.Locker{l, zksync.NewMulti(l)} {
				for _, way := range suite.Calls {
					_, err := way.Take(ctx, l)
					if e := suite.IsError(t, err); e.Err.Error() != want {
						t.Errorf("%s: %v, want %s", way.Name, e, want)
					}
				}
				if l.TryLock() {
					t.Errorf("%s: TryLock", want)
				}
				suite.PanicsWith(t, l.Lock)
			}
		}
		sem := zksync.NewSemaphore(s, p, 1, zksync.WithKazooName())
		for _, err := range []error{sem.Acquire(ctx, 1), sem.Do(ctx, 1, nil), func() error { _, err := sem.Hold(ctx, 1); return err }()} {
			if e := suite.IsError(t, err); e.Err.Error() != `WithKazooName does not go with a lock of mode "permit": it is for a Mutex` {
				t.Errorf("%v", e)
			}
		}
	})
}

// A default of the session is for the locks that it applies to.
func TestLockDefaultsThatDoNotApply(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx := suite.Context(t)
		s := z.Dial(t, zksync.WithLockDefaults(zksync.WithStrictLimit(), zksync.WithKazooName(),
			zksync.WithForeignPrefix(zksync.ModeMutex, "old-"), zksync.WithForeignPrefix(zksync.ModeRead, "r-")))
		p, q := z.Path(t), z.Path(t)
		m, rw, sem := zksync.NewMutex(s, p), zksync.NewRWMutex(s, q), zksync.NewSemaphore(s, z.Path(t), 1)
		for _, l := range []zksync.Locker{m, rw, rw.RLocker(), zksync.NewMulti(m, rw)} {
			suite.LockAndUnlock(t, l)
		}
		suite.Must(t, sem.Acquire(ctx, 1))
		sem.Release(1)

		// Where they apply they count.
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		if n := len(h.Check()); n != 2 {
			t.Errorf("%d nodes, want one for kazoo, too", n)
		}
		suite.Must(t, h.Release(ctx))
		c := z.Raw(t)
		foreign := suite.Plant(t, c, p+"/old-", "", 3)
		if m.TryLock() {
			t.Error("the mutex does not heed the foreign node")
		}
		suite.Must(t, c.Delete(foreign, -1))
		foreign = suite.Plant(t, c, q+"/r-", "", 3)
		if rw.TryLock() {
			t.Error("the writer does not heed the foreign reader")
		}
		suite.Must(t, c.Delete(foreign, -1))
	})
}

// Of a mutex and a read-write lock on one path the defaults of the session do not make
// contradicting ones.
func TestLockDefaultsOnOnePath(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t, zksync.WithLockDefaults(zksync.WithKazooName())), z.Path(t)
		m, rw := zksync.NewMutex(s, p), zksync.NewRWMutex(s, p)
		suite.Must(t, m.Do(suite.Context(t), func(context.Context, *zksync.Hold) error {
			got, err := rw.TryLockContext(suite.Context(t))
			if got || err != nil {
				t.Errorf("%v, %v", got, err)
			}
			return nil
		}))
		suite.LockAndUnlock(t, rw)
	})
}
