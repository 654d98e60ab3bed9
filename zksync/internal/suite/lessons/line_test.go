package lessons_test

import (
	"context"
	"path"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

var ownName = regexp.MustCompile(`^_c_([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})-lock-[0-9]{10}$`)

// Each attempt has a GUID of its own: of each lock, and again after the node of
// one was deleted.
func TestFreshGUID(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s, p := z.Dial(t), z.Path(t)
		c := z.Raw(t)
		m := zksync.NewMutex(s, p)
		seen := make(map[string]bool)
		note := func(node string) {
			t.Helper()
			parts := ownName.FindStringSubmatch(path.Base(node))
			if parts == nil || seen[parts[1]] {
				t.Errorf("%s is no name of ours, or had its GUID before", node)
				return
			}
			seen[parts[1]] = true
		}
		for range 3 {
			h, err := m.Hold(suite.Context(t))
			suite.Must(t, err)
			note(h.Node())
			suite.Must(t, h.Release(suite.Context(t)))
		}
		blocker, err := zksync.NewMutex(z.Dial(t), p).Hold(suite.Context(t))
		suite.Must(t, err)
		note(blocker.Node())
		got := suite.Async(func() *zksync.Hold { h, _ := m.Hold(suite.Context(t)); return h })
		for range 2 { // the one attempt's nodes
			suite.InLine(t, c, p, 2)
			for _, n := range suite.Children(t, c, p) {
				if n != path.Base(blocker.Node()) {
					note(n)
					suite.Must(t, c.Delete(p+"/"+n, -1))
				}
			}
		}
		suite.InLine(t, c, p, 2)
		suite.Must(t, blocker.Release(suite.Context(t)))
		h := suite.Receive(t, got)
		note(h.Node())
		suite.Must(t, h.Release(suite.Context(t)))
	})
}

// A call that is cancelled during its create returns at once; the node that
// comes late has an owner who deletes it.
func TestCancelledDuringCreate(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Proxied(t)
		s := suite.DialTo(t, []string{p.Addr()})
		lp := z.Path(t)
		m := zksync.NewMutex(s, lp)
		suite.LockAndUnlock(t, m)
		for _, call := range suite.Calls {
			seen, answer := make(chan struct{}), make(chan struct{})
			var once sync.Once
			p.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.FromServer && f.Op == "create" {
					once.Do(func() { close(seen) })
					<-answer
				}
				return ensemble.Pass
			})
			ctx, cancel := context.WithCancelCause(context.Background())
			result := suite.Async(func() error { _, err := call.Take(ctx, m); return err })
			suite.Receive(t, seen)
			cancel(suite.ErrCause)
			suite.IsError(t, suite.Receive(t, result), context.Canceled, suite.ErrCause) // the answer is still held back
			if n := len(suite.Children(t, z.Raw(t), lp)); n != 1 {
				t.Errorf("%s: %d nodes on the server", call.Name, n)
			}
			if s.Stats().CleanupPending != 1 {
				t.Errorf("%s: nobody answers for the node", call.Name)
			}
			close(answer)
			p.SetHook(nil)
			suite.AtRest(t, s)
			suite.InLine(t, z.Raw(t), lp, 0)
			suite.LockAndUnlock(t, m)
		}
	})
}

// The caller's ctx is over: the clean-up does not use it.
func TestCleanUpOnItsOwnTime(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		c := z.Raw(t)
		blocker := zksync.NewMutex(z.Dial(t), p)
		s := z.Dial(t)
		m := zksync.NewMutex(s, p)
		blocker.Lock()
		for _, call := range suite.Calls {
			if call.Try {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			result := suite.Async(func() error { _, err := call.Take(ctx, m); return err })
			suite.InLine(t, c, p, 2)
			cancel()
			suite.IsError(t, suite.Receive(t, result), context.Canceled)
			suite.InLine(t, c, p, 1)
		}
		blocker.Unlock()
		// And so does the release of a lock that was held.
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		h.Release(suite.DoneContext())
		suite.InLine(t, c, p, 0)
		suite.LockAndUnlock(t, blocker)
	})
}

// A listing that fails, and a child that does not parse, leave no node.
func TestErrorAfterCreate(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		suite.Must(t, c.AddAuth("digest", []byte("admin:secret")))
		p := z.Path(t)
		suite.MakePath(t, c, path.Dir(p))
		acl := append(zk.DigestACL(zk.PermAll, "admin", "secret"), zk.WorldACL(zk.PermCreate|zk.PermDelete)...)
		_, err := c.Create(p, nil, 0, acl) // nobody else may list it
		suite.Must(t, err)
		_, err = c.Create(p+"/lock-x", nil, 0, zk.WorldACL(zk.PermAll))
		suite.Must(t, err)
		s := z.Dial(t)
		for range 3 {
			suite.IsError(t, zksync.NewMutex(s, p).LockContext(suite.Context(t)), zk.ErrNoAuth)
			suite.AtRest(t, s)
			suite.InLine(t, c, p, 1)
		}
	})
}

// The parent vanishes between making it and using it, again and again.
func TestParentVanishes(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		proxy := z.Proxied(t)
		s := suite.DialTo(t, []string{proxy.Addr()})
		base := z.Path(t)
		p := base + "/deep/down"
		var vanished atomic.Int32
		proxy.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer && f.Op == "createContainer" && f.Err == 0 && vanished.Load() < 6 {
				for _, dir := range []string{p, path.Dir(p), base} { // as the reaper of containers does
					if c.Delete(dir, -1) == nil {
						vanished.Add(1)
					}
				}
			}
			return ensemble.Pass
		})
		m := zksync.NewMutex(s, p)
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		if vanished.Load() < 6 {
			t.Errorf("only %d parents vanished", vanished.Load())
		}
		suite.Must(t, h.Release(suite.Context(t)))
		// Deleted while nobody holds, it comes again; and the ctx bounds it.
		vanished.Store(-1 << 30)
		for _, dir := range []string{p, path.Dir(p), base} {
			suite.Must(t, c.Delete(dir, -1))
		}
		ctx, cancel := context.WithTimeout(context.Background(), suite.SessionTimeout/8)
		defer cancel()
		suite.IsError(t, m.LockContext(ctx), context.DeadlineExceeded)
		proxy.SetHook(nil)
		suite.LockAndUnlock(t, m)
		suite.AtRest(t, s)
	})
}
