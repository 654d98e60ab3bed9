package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Kind is a way to lock.
type Kind string

// The ways to lock.
const (
	Ours     Kind = "zksync"        // Lock and Unlock of a zksync.Mutex
	OursHold Kind = "zksync Hold"   // Hold and Release of one
	ZkLock   Kind = "zk.Lock"       // Lock and Unlock of go-zookeeper's Lock
	Floor    Kind = "create+delete" // a node made and deleted, both confirmed; locks nothing
)

// Team is a way to lock, with its sessions on one target. Sessions are opened when a
// workload needs them, and stay. Its zero value is not usable, and it must not be
// copied. One goroutine may use it at a time, and another one may close it meanwhile.
type Team struct {
	Kind  Kind
	Meter *Meter

	open func(ctx context.Context, i int) (Session, error)

	mu       sync.Mutex
	sessions []Session // guarded by mu
}

func (t *Team) all() []Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sessions
}

// Session is one session of a team.
type Session interface {
	// Locker returns a lock and an unlock of the lock at path, for one goroutine.
	Locker(path string) (lock, unlock func() error)
	// Close ends the session. Calls that wait for a lock end.
	Close() error
}

// onZooKeeper is a session whose locks are nodes of ZooKeeper.
type onZooKeeper interface{ client() *zk.Conn }

// NewTeam returns a team without sessions. The options are for locks of package zksync.
func NewTeam(kind Kind, target Target, opts ...zksync.LockOption) *Team {
	m := &Meter{TLS: target.TLS, Dialer: target.Dial}
	return &Team{Kind: kind, Meter: m, open: func(ctx context.Context, i int) (Session, error) {
		at := target
		at.Servers = at.Servers[i%len(at.Servers):][:1]
		switch kind {
		case Ours, OursHold:
			s, err := at.session(ctx, m)
			return ours{s, kind == OursHold, opts}, err
		}
		c, err := at.Client(ctx, m)
		return theirs{c, kind == Floor}, err
	}}
}

// NewForeign returns a team without sessions for another kind of lock. Its meter counts
// nothing. open opens session i, counted from 0.
func NewForeign(kind Kind, open func(ctx context.Context, i int) (Session, error)) *Team {
	return &Team{Kind: kind, Meter: new(Meter), open: open}
}

// Open opens sessions until there are n. Several are opened at once. Session i is at
// server i, so that the teams of a comparison use the same servers: a leader answers
// sooner than a follower.
func (t *Team) Open(ctx context.Context, n int) error {
	var wg sync.WaitGroup
	have := len(t.all())
	missing := max(0, n-have)
	opened, errs := make([]Session, missing), make([]error, missing)
	gate := make(chan struct{}, 8)
	for i := range missing {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			opened[i], errs[i] = t.open(ctx, have+i)
		})
	}
	wg.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, s := range opened {
		if errs[i] == nil {
			t.sessions = append(t.sessions, s)
		}
	}
	return errors.Join(errs...)
}

// Close closes the sessions. Calls that wait for a lock end.
func (t *Team) Close() error {
	t.mu.Lock()
	sessions := t.sessions
	t.sessions = nil
	t.mu.Unlock()
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

type ours struct {
	*zksync.Session
	hold bool
	opts []zksync.LockOption
}

func (s ours) client() *zk.Conn { return s.Conn() }

func (s ours) Locker(path string) (lock, unlock func() error) {
	m := zksync.NewMutex(s.Session, path, s.opts...)
	if !s.hold {
		return func() error { m.Lock(); return nil }, func() error { m.Unlock(); return nil }
	}
	var h *zksync.Hold
	return func() (err error) { h, err = m.Hold(context.Background()); return err },
		func() error { return h.Release(context.Background()) }
}

type theirs struct {
	*Plain
	floor bool
}

func (s theirs) client() *zk.Conn { return s.Conn }

func (s theirs) Locker(path string) (lock, unlock func() error) {
	acl := zk.WorldACL(zk.PermAll)
	if !s.floor {
		l := zk.NewLock(s.Conn, path, acl)
		return l.Lock, l.Unlock
	}
	var node string
	return func() (err error) {
			node, err = s.Create(path+"/floor-", nil, zk.FlagEphemeral|zk.FlagSequence, acl)
			return err
		},
		func() error { return s.Delete(node, -1) }
}

// attempt calls f, and returns the error that it panics with, if it is one: that is how
// a plain Lock fails.
func attempt(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(*zksync.Error)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("lock: %w", e)
		}
	}()
	return f()
}
