package zksync_test

import (
	"context"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestMisusePanics(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		ctx := suite.Context(t)
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
			{"UnlockContext of another owner's", "zksync: Unlock of a lock that another owner holds",
				func(t *testing.T, m *zksync.Mutex) func() { l := m.As(other); l.Lock(); return l.Unlock },
				func(m *zksync.Mutex) { m.UnlockContext(zksync.WithOwner(ctx, o)) }},
			{"As Unlock of a Hold", "zksync: Unlock of a lock held by a Hold", held, func(m *zksync.Mutex) { m.As(o).Unlock() }},
			{"As of no owner", "zksync: As with the zero Owner", nil,
				func(m *zksync.Mutex) { m.As(zksync.Owner{}) }},
			{"no session", "zksync: NewMutex with a nil Session", nil,
				func(m *zksync.Mutex) { zksync.NewMutex(nil, "/a") }},
		} {
			t.Run(tt.name, func(t *testing.T) {
				m := zksync.NewMutex(s, z.Path(t))
				after := func() {}
				if tt.before != nil {
					after = tt.before(t, m)
				}
				suite.Panics(t, tt.want, func() { tt.misuse(m) })
				after()
				suite.LockAndUnlock(t, m) // nothing is broken by it
				suite.AtRest(t, s)
			})
		}
	})
}

func held(t *testing.T, m *zksync.Mutex) func() {
	h, err := m.Hold(suite.Context(t))
	suite.Must(t, err)
	return func() { suite.Must(t, h.Release(suite.Context(t))) }
}

func TestZeroMutexPanics(t *testing.T) {
	ctx := context.Background()
	for name, use := range map[string]func(m *zksync.Mutex){
		"Lock":           (*zksync.Mutex).Lock,
		"Unlock":         (*zksync.Mutex).Unlock,
		"TryLock":        func(m *zksync.Mutex) { m.TryLock() },
		"LockContext":    func(m *zksync.Mutex) { m.LockContext(ctx) },
		"LockContext2":   func(m *zksync.Mutex) { m.LockContext(suite.DoneContext()) },
		"TryLockContext": func(m *zksync.Mutex) { m.TryLockContext(ctx) },
		"UnlockContext":  func(m *zksync.Mutex) { m.UnlockContext(ctx) },
		"Hold":           func(m *zksync.Mutex) { m.Hold(ctx) },
		"TryHold":        func(m *zksync.Mutex) { m.TryHold(ctx) },
		"Do":             func(m *zksync.Mutex) { m.Do(ctx, nil) },
		"As":             func(m *zksync.Mutex) { m.As(zksync.NewOwner("")) },
		"Path":           func(m *zksync.Mutex) { m.Path() },
	} {
		t.Run(name, func(t *testing.T) {
			suite.Panics(t, "zksync: use of zero Mutex", func() { use(new(zksync.Mutex)) })
			suite.Panics(t, "zksync: use of zero Mutex", func() { use(nil) })
		})
	}
}
