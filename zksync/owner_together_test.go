package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// together are ways to take a lock for an owner, in the order in which they are begun:
// those that need a request to enter come with and without others.
var together = map[string][]string{
	"plain":          {"LockContext", "LockContext", "LockContext"},
	"plain, for As":  {"Lock", "Lock", "Lock"},
	"handles":        {"Hold", "Hold", "Do"},
	"plain first":    {"LockContext", "Hold", "Do"},
	"a handle first": {"Do", "LockContext", "Lock"},
}

// An inside is a lock that a goroutine has, and gives back.
type inside struct {
	release func(context.Context) error
	err     error
}

// enters begins a call, and returns what comes of it.
func enters(ctx context.Context, way string, l zksync.Locker) <-chan inside {
	w := suite.WaysNamed(way)[0]
	return suite.Async(func() inside {
		release, err := w.Take(ctx, l)
		return inside{release, err}
	})
}

// Goroutines with one owner that start together are all inside, as those are that start
// one after the other, or behind somebody else's hold.
func TestCallsOfOneOwnerEnterTogether(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other := z.Dial(t), z.Dial(t)
		for name, ways := range together {
			for _, start := range []string{"together", "one after the other", "behind another", "behind another of the session"} {
				t.Run(name+", "+start, func(t *testing.T) {
					p := z.Path(t)
					m := zksync.NewMutex(s, p)
					o := zksync.NewOwner("o")
					ctx := zksync.WithOwner(suite.Context(t), o)
					free := func() {}
					switch start {
					case "behind another":
						before := zksync.NewMutex(other, p)
						before.Lock()
						free = before.Unlock
					case "behind another of the session":
						m.Lock()
						free = m.Unlock
					}
					begun := make([]<-chan inside, len(ways))
					all := make([]inside, len(ways))
					for i, way := range ways {
						begun[i] = enters(ctx, way, m.As(o))
						switch start {
						case "together":
						case "one after the other":
							all[i] = suite.Receive(t, begun[i])
						default:
							suite.AwaitWaiting(t, s, i+1)
						}
					}
					free()
					for i := range begun {
						if start != "one after the other" {
							all[i] = suite.Receive(t, begun[i]) // while none gives back
						}
						suite.Must(t, all[i].err)
					}
					if m.As(zksync.NewOwner("o")).TryLock() {
						t.Error("somebody else enters, too")
					}
					for _, in := range all {
						if m.TryLock() {
							t.Error("given back before the last of them")
						}
						suite.Must(t, in.release(ctx))
					}
					suite.LockAndUnlock(t, m)
					z.Empty(t, p)
				})
			}
		}
		suite.AtRest(t, s)
	}, suite.Smoke)
}

// Whoever waited before them for another owner gets the lock after all of them, and
// before those of the owner that come later.
func TestOthersWaitForAllOfAnOwner(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		m := zksync.NewMutex(s, p)
		a, b := zksync.NewOwner("a"), zksync.NewOwner("b")
		m.Lock()
		var calls []<-chan inside
		for i, o := range []zksync.Owner{a, b, a, b} {
			calls = append(calls, enters(ctx, "LockContext", m.As(o)))
			suite.AwaitWaiting(t, s, i+1)
		}
		m.Unlock()
		first, third := suite.Receive(t, calls[0]), suite.Receive(t, calls[2])
		suite.AwaitWaiting(t, s, 2)
		suite.Must(t, first.release(ctx))
		suite.AwaitWaiting(t, s, 2)
		suite.Must(t, third.release(ctx))
		second, fourth := suite.Receive(t, calls[1]), suite.Receive(t, calls[3])
		suite.Must(t, second.release(ctx))
		suite.Must(t, fourth.release(ctx))
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// Those who wait to read enter beside their owner who writes, and read on.
func TestReadsOfAnOwnerEnterBesideItsWrite(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		rw := zksync.NewRWMutex(s, p)
		before := zksync.NewRWMutex(z.Dial(t), p)
		o := zksync.NewOwner("o")
		before.Lock()
		write := enters(ctx, "LockContext", rw.As(o))
		suite.AwaitWaiting(t, s, 1)
		plain := enters(ctx, "LockContext", rw.RLocker().As(o))
		suite.AwaitWaiting(t, s, 2)
		handle := enters(ctx, "Hold", rw.RLocker().As(o))
		suite.AwaitWaiting(t, s, 3)
		before.Unlock()
		w, r, h := suite.Receive(t, write), suite.Receive(t, plain), suite.Receive(t, handle)
		for _, in := range []inside{w, r, h} {
			suite.Must(t, in.err)
		}
		suite.Must(t, w.release(ctx))
		if before.TryLock() || !before.TryRLock() {
			t.Error("it is not read")
		}
		before.RUnlock()
		suite.Must(t, r.release(ctx))
		suite.Must(t, h.release(ctx))
		suite.LockAndUnlock(t, before)
		suite.AtRest(t, s)
		z.Empty(t, p)
	})
}

// A call that waits ends when its owner gets what it can't be beside.
func TestWaitingCallThatCanNoLongerEnter(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, other, raw := z.Dial(t), z.Dial(t), z.Raw(t)
		for name, locks := range map[string]func(p string) (first, second zksync.Locker){
			"reads, and wants to write": func(p string) (first, second zksync.Locker) {
				rw := zksync.NewRWMutex(s, p)
				return rw.RLocker(), rw
			},
			"reads, and wants a mutex": func(p string) (first, second zksync.Locker) {
				return zksync.NewRWMutex(s, p).RLocker(), zksync.NewMutex(s, p)
			},
			"holds a part, and wants the Multi": func(p string) (first, second zksync.Locker) {
				m := zksync.NewMutex(s, p)
				return m, zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m)
			},
			"holds the Multi, and wants a part": func(p string) (first, second zksync.Locker) {
				m := zksync.NewMutex(s, p)
				return zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m), m
			},
			"holds a Multi, and wants another": func(p string) (first, second zksync.Locker) {
				m := zksync.NewMutex(s, p)
				return zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m), zksync.NewMulti(zksync.NewMutex(s, p+"-3"), m)
			},
		} {
			for _, way := range suite.Waiting {
				t.Run(name+", "+way.Name, func(t *testing.T) {
					p, ctx := z.Path(t), suite.Context(t)
					first, second := locks(p)
					o := zksync.NewOwner("o")
					before := zksync.NewMutex(other, p)
					before.Lock()
					holds := enters(ctx, way.Name, first.As(o))
					suite.InLine(t, raw, p, 2)
					suite.AwaitWaiting(t, s, 1)
					waits := suite.Async(func() (err error) {
						defer func() {
							if p, panics := recover().(error); panics && way.Name == "Lock" {
								err = p
							}
						}()
						_, err = way.Take(ctx, second.As(o))
						return err
					})
					suite.AwaitWaiting(t, s, 2)
					before.Unlock()
					in := suite.Receive(t, holds)
					suite.Must(t, in.err)
					suite.IsError(t, suite.Receive(t, waits), zksync.ErrDeadlock)
					suite.Must(t, in.release(ctx))
					suite.LockAndUnlock(t, second.As(o))
					for _, path := range []string{p, p + "-2", p + "-3"} {
						if there, _, _ := raw.Exists(path); there {
							z.Empty(t, path)
						}
					}
				})
			}
		}
		suite.AtRest(t, s)
	})
}

// In whatever moment an owner gets one of two locks that share a path, its call for the
// other one ends, or has the lock: it does not wait.
func TestOwnerNeverWaitsForItsOtherLock(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, p, ctx := z.Dial(t), z.Path(t), suite.Context(t)
		m := zksync.NewMutex(s, p)
		multi := zksync.NewMulti(zksync.NewMutex(s, p+"-2"), m)
		for range suite.Runs(300) {
			o := zksync.NewOwner("o")
			one, other := enters(ctx, "LockContext", m.As(o)), enters(ctx, "LockContext", multi.As(o))
			var has []inside
			for range 2 { // the second returns while the first has its lock
				var in inside
				select {
				case in = <-one:
				case in = <-other:
				case <-ctx.Done():
					t.Fatal("it waits for its own lock")
				}
				if in.err == nil {
					has = append(has, in)
				} else {
					suite.IsError(t, in.err, zksync.ErrDeadlock)
				}
			}
			if len(has) != 1 {
				t.Fatalf("it has %d of the two", len(has))
			}
			suite.Must(t, has[0].release(ctx))
		}
		suite.AtRest(t, s)
	})
}
