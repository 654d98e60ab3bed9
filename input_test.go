package zksync_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

var badPaths = []string{
	"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a/../b", "/zookeeper", "/zookeeper/lock",
	"/a\x00b", "/a\nb", "/a\x7fb", "/\xff", "/a/\uf8ff", "/𝄞", "/" + strings.Repeat("x", 5000),
}

func TestBadPaths(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		before := s.Stats().Requests
		for _, p := range badPaths {
			m := zksync.NewMutex(s, p)
			for _, call := range calls {
				_, err := call.take(short(t), m)
				e := isError(t, err, zksync.ErrInvalidPath)
				if e.Path != p || e.ErrorType() != "invalid_path" {
					t.Errorf("%#v", e)
				}
			}
			panicsWith(t, m.Lock, zksync.ErrInvalidPath)
			panicsWith(t, m.As(zksync.NewOwner("")).Lock, zksync.ErrInvalidPath)
			if m.TryLock() {
				t.Errorf("TryLock of %q", p)
			}
			panics(t, "zksync: Unlock of an unlocked lock", m.Unlock)
		}
		if n := s.Stats().Requests - before; n != 0 {
			t.Errorf("%d requests for bad paths", n)
		}
		// A path that is too long only with the root of the session.
		deep := z.dial(t, zksync.WithChroot("/"+strings.Repeat("r", 1500)))
		m := zksync.NewMutex(deep, "/"+strings.Repeat("x", 1500))
		isError(t, m.LockContext(short(t)), zksync.ErrInvalidPath)
	})
}

func TestBadOptions(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		for name, opt := range map[string]zksync.Option{
			"nil":                   nil,
			"WithSessionTimeout(0)": zksync.WithSessionTimeout(0), "WithSessionTimeout(-1)": zksync.WithSessionTimeout(-1),
			"WithSessionTimeout(1ms)": zksync.WithSessionTimeout(time.Millisecond), "WithSessionTimeout(year)": zksync.WithSessionTimeout(8760 * time.Hour),
			"WithAuth(no scheme)": zksync.WithAuth("", []byte("a:b")), "WithAuth(nothing)": zksync.WithAuth("digest", nil),
			"WithTLS(nil)": zksync.WithTLS(nil), "WithDialer(nil)": zksync.WithDialer(nil), "WithLogger(nil)": zksync.WithLogger(nil),
			"WithIdentity()": zksync.WithIdentity(""), "WithChroot()": zksync.WithChroot(""), "WithChroot(a)": zksync.WithChroot("a"),
			"WithChroot(/a/)": zksync.WithChroot("/a/"), "WithChroot(/zookeeper)": zksync.WithChroot("/zookeeper"),
			"WithLockDefaults(nil)": zksync.WithLockDefaults(nil), "WithLockDefaults(bad)": zksync.WithLockDefaults(zksync.WithHandoff(-1)),
		} {
			_, err := zksync.Dial(short(t), z.servers, opt)
			if e := isError(t, err); e.Op != "dial" {
				t.Errorf("%s: %#v", name, e)
			}
		}
		s := z.dial(t)
		for name, opt := range map[string]zksync.LockOption{
			"nil": nil, "WithHandoff(-1)": zksync.WithHandoff(-1), "WithACL()": zksync.WithACL(),
		} {
			m := zksync.NewMutex(s, lockPath(t), opt)
			for _, call := range calls {
				_, err := call.take(short(t), m)
				isError(t, err)
			}
			panicsWith(t, m.Lock)
			if m.TryLock() {
				t.Errorf("%s: TryLock", name)
			}
		}
		// The zero options are the documented defaults.
		d, err := zksync.Dial(short(t), z.servers)
		ok(t, err)
		if zksync.DefaultSessionTimeout != 10*time.Second || d.Timeout() != zksync.DefaultSessionTimeout || zksync.DefaultHandoff != 16 {
			t.Errorf("timeout %v, handoff %d", d.Timeout(), zksync.DefaultHandoff)
		}
		ok(t, d.Close())
		ok(t, z.dial(t, zksync.WithTracer(nil)).Ping(short(t))) // no tracer is fine
	})
}

func TestBadNewSession(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.client(t)
		dialer := func(string, string, time.Duration) (net.Conn, error) { return nil, errors.New("no") }
		for name, try := range map[string]func() (*zksync.Session, error){
			"no client":  func() (*zksync.Session, error) { return zksync.NewSession(nil, time.Second) },
			"no timeout": func() (*zksync.Session, error) { return zksync.NewSession(c, 0) },
			"negative":   func() (*zksync.Session, error) { return zksync.NewSession(c, -time.Second) },
			"nil option": func() (*zksync.Session, error) { return zksync.NewSession(c, time.Second, nil) },
			"WithSessionTimeout": func() (*zksync.Session, error) {
				return zksync.NewSession(c, time.Second, zksync.WithSessionTimeout(time.Second))
			},
			"WithAuth": func() (*zksync.Session, error) {
				return zksync.NewSession(c, time.Second, zksync.WithAuth("digest", []byte("a:b")))
			},
			"WithTLS": func() (*zksync.Session, error) {
				return zksync.NewSession(c, time.Second, zksync.WithTLS(&tls.Config{}))
			},
			"WithDialer": func() (*zksync.Session, error) { return zksync.NewSession(c, time.Second, zksync.WithDialer(dialer)) },
		} {
			s, err := try()
			isError(t, err)
			if s != nil {
				t.Errorf("%s: a session beside an error", name)
			}
			if strings.HasPrefix(name, "With") && !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestBadServerLists(t *testing.T) {
	for _, servers := range [][]string{
		nil, {}, {""}, {" "}, {"a:1", ""}, {"a:b:c"}, {"a:0"}, {"a:65536"}, {"a:port"}, {"a:"}, {":2181"},
		{"a:1,b:2"}, {"a:2181/chroot"}, {"zk://a:2181"}, {"a b:2181"}, {"[::1"}, {"[a]:1:2"},
	} {
		start := time.Now()
		s, err := zksync.Dial(short(t), servers)
		if s != nil {
			t.Fatalf("%q: a session", servers)
		}
		e := isError(t, err)
		if e.Op != "dial" || errors.Is(err, context.DeadlineExceeded) || time.Since(start) > patience {
			t.Errorf("%q: %v", servers, err)
		}
	}
}

// Dial ends with ctx, and says which servers it tried and how each failed.
func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		silent := z.proxied(t)
		silent.Blackhole(true, true)
		rude := z.proxied(t)
		rude.Refuse(true)
		gone, err := net.Listen("tcp", "127.0.0.1:0")
		ok(t, err)
		refused := gone.Addr().String()
		gone.Close()
		servers := []string{silent.Addr(), rude.Addr(), refused, "no-such-host.invalid:2181"}
		ctx, cancel := context.WithTimeoutCause(context.Background(), 2*time.Second, errCause)
		defer cancel()
		start := time.Now()
		s, err := zksync.Dial(ctx, servers, zksync.WithSessionTimeout(sessionTimeout))
		if s != nil {
			t.Fatal("a session")
		}
		e := isError(t, err, context.DeadlineExceeded, errCause)
		if d := time.Since(start); d > 8*time.Second || d < 2*time.Second-50*time.Millisecond {
			t.Errorf("took %v", d)
		}
		text := err.Error()
		for _, server := range servers {
			if !strings.Contains(text, server+": ") {
				t.Errorf("%s is not in %q", server, text)
			}
		}
		if !strings.Contains(text, "refused") || !e.Timeout() || e.ErrorType() != "deadline_exceeded" {
			t.Errorf("%s: %s", e.ErrorType(), text)
		}

		if _, err := zksync.Dial(done(), z.servers); err == nil {
			t.Error("a session with a done context")
		} else {
			isError(t, err, context.Canceled, errCause)
		}
		// One that works among those that do not is enough.
		mixed := dialTo(t, append(servers, z.servers[0]))
		free(t, zksync.NewMutex(mixed, lockPath(t)))
	})
}

func TestRefusedCredentials(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		start := time.Now()
		s, err := zksync.Dial(short(t), z.servers, zksync.WithAuth("no-such-scheme", []byte("a:b")))
		if s != nil {
			t.Fatal("a session")
		}
		if e := isError(t, err, zk.ErrAuthFailed); e.ErrorType() != "no_auth" {
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

// Without permission LockContext returns zk.ErrNoAuth and Lock panics with it;
// whoever has the permission works.
func TestACL(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		friend := z.dial(t, zksync.WithAuth("digest", []byte("user:secret")))
		stranger := z.dial(t)
		p := lockPath(t)
		made(t, z.raw(t), path.Dir(p)) // which other tests use
		acl := zksync.WithACL(zk.DigestACL(zk.PermAll, "user", "secret")...)
		m := zksync.NewMutex(friend, p, acl)
		free(t, m)
		other := zksync.NewMutex(z.dial(t, zksync.WithAuth("digest", []byte("user:secret"))), p, acl)
		h, err := m.Hold(short(t))
		ok(t, err)
		second := async(func() error { return other.LockContext(short(t)) })
		eventually(t, "two nodes", func() bool { names, _, err := friend.Conn().Children(p); return err == nil && len(names) == 2 })

		no := zksync.NewMutex(stranger, p)
		noAuth(t, no)
		ok(t, h.Release(short(t)))
		ok(t, get(t, second))
		other.Unlock()
		noAuth(t, no)
		atRest(t, stranger)
		if names, _, err := friend.Conn().Children(p); err != nil || len(names) != 0 {
			t.Errorf("left: %v, %v", names, err)
		}
		free(t, m)
	})
}

func noAuth(t *testing.T, m *zksync.Mutex) {
	t.Helper()
	for _, call := range calls {
		_, err := call.take(short(t), m)
		e := isError(t, err, zk.ErrNoAuth)
		if e.ErrorType() != "no_auth" || e.Path != m.Path() {
			t.Errorf("%s: %#v", call.name, e)
		}
	}
	if e := panicsWith(t, m.Lock, zk.ErrNoAuth); e.Op != "lock" {
		t.Errorf("%#v", e)
	}
	if m.TryLock() {
		t.Error("TryLock without permission")
	}
}

// Some permissions, but not all: what was made is taken back as far as the
// server allows.
func TestPartialPermissions(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		c := z.raw(t)
		ok(t, c.AddAuth("digest", []byte("admin:secret")))
		for _, tt := range []struct {
			name  string
			perms int32
		}{
			{"read only", zk.PermRead}, {"none", 0}, {"no list", zk.PermCreate | zk.PermDelete}, {"no create", zk.PermRead | zk.PermDelete | zk.PermWrite},
		} {
			t.Run(tt.name, func(t *testing.T) {
				p := lockPath(t)
				made(t, c, path.Dir(p))
				acl := zk.DigestACL(zk.PermAll, "admin", "secret")
				if tt.perms != 0 {
					acl = append(acl, zk.WorldACL(tt.perms)...)
				}
				_, err := c.Create(p, nil, 0, acl)
				ok(t, err)
				s := z.dial(t)
				noAuth(t, zksync.NewMutex(s, p))
				atRest(t, s)
				lineOf(t, c, p, 0)
			})
		}
		t.Run("no delete", func(t *testing.T) {
			p := lockPath(t)
			made(t, c, path.Dir(p))
			_, err := c.Create(p, nil, 0, append(zk.DigestACL(zk.PermAll, "admin", "secret"), zk.WorldACL(zk.PermRead|zk.PermCreate)...))
			ok(t, err)
			s := dialUnchecked(t, z.servers)
			m := zksync.NewMutex(s, p)
			ok(t, m.LockContext(short(t)))
			e := isError(t, m.UnlockContext(short(t)), zk.ErrNoAuth) // honest: it still blocks the lock
			if e.Op != "unlock" || path.Dir(e.Node) != p {
				t.Errorf("%#v", e)
			}
			atRest(t, s)
			lineOf(t, c, p, 1)
			closeNames(t, s.Close(), "refused to delete", e.Node)
			lineOf(t, c, p, 0)
		})
	})
}

// made makes a path and its parents.
func made(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			eventually(t, p[:i]+" is there", func() bool { // a busy server may take a client of its own long to reach
				_, err := c.Create(p[:i], nil, 0, zk.WorldACL(zk.PermAll))
				return err == nil || err == zk.ErrNodeExists
			})
		}
	}
}

// An access list that no request can carry, or that the server refuses, is an
// error, not a wait for ever.
func TestRefusedACL(t *testing.T) {
	onSessions(t, func(t *testing.T, z *site) {
		s := z.dial(t)
		huge := make([]zk.ACL, 0, 40000)
		for range cap(huge) {
			huge = append(huge, zk.WorldACL(zk.PermAll)...)
		}
		for name, acl := range map[string][]zk.ACL{
			"too large":      huge,
			"no such scheme": {{Perms: zk.PermAll, Scheme: "nope", ID: "x"}},
			"empty":          {{}},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			m := zksync.NewMutex(s, lockPath(t), zksync.WithACL(acl...))
			for _, call := range calls {
				_, err := call.take(ctx, m)
				isError(t, err)
				if errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%s: %s: %v", name, call.name, err)
				}
			}
			panicsWith(t, m.Lock)
			atRest(t, s)
		}
		free(t, zksync.NewMutex(s, lockPath(t))) // the connection is as good as before
		if n := s.Stats().Disconnects; n != 0 {
			t.Errorf("%d disconnects", n)
		}
	})
}
