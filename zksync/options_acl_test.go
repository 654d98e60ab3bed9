package zksync_test

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestRefusedCredentials(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		start := time.Now()
		s, err := zksync.Dial(suite.Context(t), z.Servers, zksync.WithAuth("no-such-scheme", []byte("a:b")))
		if s != nil {
			t.Fatal("a session")
		}
		if e := suite.IsError(t, err, zk.ErrAuthFailed); e.ErrorType() != "no_auth" {
			t.Errorf("%#v", e)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("took %v", d)
		}
		if strings.Contains(err.Error(), "a:b") {
			t.Errorf("the credential is in %q", err)
		}
	})
}

// Without permission LockContext returns ErrNoAuth and Lock panics with it;
// whoever has the permission works.
func TestACL(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		friend := z.Dial(t, zksync.WithAuth("digest", []byte("user:secret")))
		stranger := z.Dial(t)
		p := z.Path(t)
		suite.MakePath(t, z.Raw(t), path.Dir(p)) // which other tests use
		acl := zksync.WithACL(zk.DigestACL(zk.PermAll, "user", "secret")...)
		m := zksync.NewMutex(friend, p, acl)
		suite.LockAndUnlock(t, m)
		other := zksync.NewMutex(z.Dial(t, zksync.WithAuth("digest", []byte("user:secret"))), p, acl)
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		second := suite.Async(func() error { return other.LockContext(suite.Context(t)) })
		suite.Eventually(t, "two nodes", func() bool { names, _, err := friend.Conn().Children(p); return err == nil && len(names) == 2 })

		no := zksync.NewMutex(stranger, p)
		noAuth(t, no)
		suite.Must(t, h.Release(suite.Context(t)))
		suite.Must(t, suite.Receive(t, second))
		suite.Must(t, other.UnlockContext(suite.Context(t)))
		noAuth(t, no)
		suite.AtRest(t, stranger)
		if names, _, err := friend.Conn().Children(p); err != nil || len(names) != 0 {
			t.Errorf("left: %v, %v", names, err)
		}
		suite.LockAndUnlock(t, m)
	})
}

func noAuth(t *testing.T, m *zksync.Mutex) {
	t.Helper()
	for _, call := range suite.Calls {
		_, err := call.Take(suite.Context(t), m)
		e := suite.IsError(t, err, zk.ErrNoAuth, zksync.ErrNoAuth)
		if e.ErrorType() != "no_auth" || e.Path != m.Path() {
			t.Errorf("%s: %#v", call.Name, e)
		}
	}
	if e := suite.PanicsWith(t, m.Lock, zk.ErrNoAuth, zksync.ErrNoAuth); e.Op != "lock" {
		t.Errorf("%#v", e)
	}
	if m.TryLock() {
		t.Error("TryLock without permission")
	}
}

// Some permissions, but not all: what was made is taken back as far as the
// server allows.
func TestPartialPermissions(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		suite.Must(t, c.AddAuth("digest", []byte("admin:secret")))
		for _, tt := range []struct {
			name  string
			perms int32
		}{
			{"read only", zk.PermRead}, {"none", 0}, {"no list", zk.PermCreate | zk.PermDelete}, {"no create", zk.PermRead | zk.PermDelete | zk.PermWrite},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := z.Path(t)
				suite.MakePath(t, c, path.Dir(p))
				acl := zk.DigestACL(zk.PermAll, "admin", "secret")
				if tt.perms != 0 {
					acl = append(acl, zk.WorldACL(tt.perms)...)
				}
				_, err := c.Create(p, nil, 0, acl)
				suite.Must(t, err)
				s := z.Dial(t)
				noAuth(t, zksync.NewMutex(s, p))
				suite.AtRest(t, s)
				suite.InLine(t, c, p, 0)
			})
		}
		t.Run("no delete", func(t *testing.T) {
			p := z.Path(t)
			suite.MakePath(t, c, path.Dir(p))
			_, err := c.Create(p, nil, 0, append(zk.DigestACL(zk.PermAll, "admin", "secret"), zk.WorldACL(zk.PermRead|zk.PermCreate)...))
			suite.Must(t, err)
			s := suite.DialUnchecked(t, z.Servers)
			m := zksync.NewMutex(s, p)
			suite.Must(t, m.LockContext(suite.Context(t)))
			e := suite.IsError(t, m.UnlockContext(suite.Context(t)), zk.ErrNoAuth, zksync.ErrNoAuth) // honest: it still blocks the lock
			if e.Op != "unlock" || path.Dir(e.Node) != p {
				t.Errorf("%#v", e)
			}
			suite.AtRest(t, s)
			suite.InLine(t, c, p, 1)
			suite.CloseNames(t, s.Close(), "refused to delete", e.Node)
			suite.InLine(t, c, p, 0)
		})
	})
}

// An access list that no request can carry, or that the server refuses, is an
// error, not a wait for ever.
func TestRefusedACL(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		huge := make([]zk.ACL, 0, 40000)
		for range cap(huge) {
			huge = append(huge, zk.WorldACL(zk.PermAll)...)
		}
		for name, acl := range map[string][]zk.ACL{
			"too large":      huge,
			"no such scheme": {{Perms: zk.PermAll, Scheme: "nope", ID: "x"}},
			"empty":          {{}},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
			defer cancel()
			m := zksync.NewMutex(s, z.Path(t), zksync.WithACL(acl...))
			for _, call := range suite.Calls {
				_, err := call.Take(ctx, m)
				suite.IsError(t, err)
				if errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s: %s: %v", name, call.Name, err)
				}
			}
			suite.PanicsWith(t, m.Lock)
			suite.AtRest(t, s)
		}
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t))) // the connection is as good as before
		if n := s.Stats().Disconnects; n != 0 {
			t.Errorf("%d disconnects", n)
		}
	})
}
