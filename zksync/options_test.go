package zksync_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

var badPaths = []string{
	"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/./a", "/a/..", "/a/../b", "/zookeeper", "/zookeeper/lock",
	"/a\x00b", "/a\nb", "/a\x7fb", "/\xff", "/a/\uf8ff", "/𝄞", "/" + strings.Repeat("x", 5000),
}

func TestBadPaths(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		before := s.Stats().Requests
		for _, p := range badPaths {
			m := zksync.NewMutex(s, p)
			for _, call := range suite.Calls {
				_, err := call.Take(suite.Context(t), m)
				e := suite.IsError(t, err, zksync.ErrInvalidPath)
				if e.Path != p || e.ErrorType() != "invalid_path" {
					t.Errorf("%#v", e)
				}
			}
			suite.PanicsWith(t, m.Lock, zksync.ErrInvalidPath)
			suite.PanicsWith(t, m.As(zksync.NewOwner("")).Lock, zksync.ErrInvalidPath)
			if m.TryLock() {
				t.Errorf("TryLock of %q", p)
			}
			suite.Panics(t, "zksync: Unlock of an unlocked lock", m.Unlock)
		}
		if n := s.Stats().Requests - before; n != 0 {
			t.Errorf("%d requests for bad paths", n)
		}
		// A path that is too long only with the root of the session.
		deep := z.Dial(t, zksync.WithChroot("/"+strings.Repeat("r", 1500)))
		m := zksync.NewMutex(deep, "/"+strings.Repeat("x", 1500))
		suite.IsError(t, m.LockContext(suite.Context(t)), zksync.ErrInvalidPath)
	})
}

func TestBadOptions(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for name, opt := range map[string]zksync.DialOption{
			"nil":                   nil,
			"WithSessionTimeout(0)": zksync.WithSessionTimeout(0), "WithSessionTimeout(-1)": zksync.WithSessionTimeout(-1),
			"WithSessionTimeout(1ms)": zksync.WithSessionTimeout(time.Millisecond), "WithSessionTimeout(year)": zksync.WithSessionTimeout(8760 * time.Hour),
			"WithAuth(no scheme)": zksync.WithAuth("", []byte("a:b")), "WithAuth(nothing)": zksync.WithAuth("digest", nil),
			"WithTLS(nil)": zksync.WithTLS(nil), "WithDialContext(nil)": zksync.WithDialContext(nil),
			"WithIdentity()": zksync.WithIdentity(""), "WithChroot()": zksync.WithChroot(""), "WithChroot(a)": zksync.WithChroot("a"),
			"WithChroot(/a/)": zksync.WithChroot("/a/"), "WithChroot(/zookeeper)": zksync.WithChroot("/zookeeper"),
			"WithLockDefaults(nil)": zksync.WithLockDefaults(nil), "WithLockDefaults(bad)": zksync.WithLockDefaults(zksync.WithHandoff(-1)),
		} {
			_, err := zksync.Dial(suite.Context(t), z.Servers, opt)
			if e := suite.IsError(t, err); e.Op != "dial" {
				t.Errorf("%s: %#v", name, e)
			}
		}
		s := z.Dial(t)
		for name, opt := range map[string]zksync.LockOption{
			"nil": nil, "WithHandoff(-1)": zksync.WithHandoff(-1), "WithACL()": zksync.WithACL(),
		} {
			m := zksync.NewMutex(s, z.Path(t), opt)
			for _, call := range suite.Calls {
				_, err := call.Take(suite.Context(t), m)
				suite.IsError(t, err)
			}
			suite.PanicsWith(t, m.Lock)
			if m.TryLock() {
				t.Errorf("%s: TryLock", name)
			}
		}
		// The zero options are the documented defaults.
		d, err := zksync.Dial(suite.Context(t), z.Servers)
		suite.Must(t, err)
		if zksync.DefaultSessionTimeout != 10*time.Second || d.Timeout() != zksync.DefaultSessionTimeout {
			t.Errorf("timeout %v", d.Timeout())
		}
		suite.Must(t, d.Close())
		suite.Must(t, z.Dial(t, zksync.WithTracer(nil), zksync.WithLogger(nil)).Ping(suite.Context(t))) // fine: no tracer, slog.Default
	})
}

func TestChroot(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		c := z.Raw(t)
		root := z.Path(t) + "/a/b" // not there yet
		s := z.Dial(t, zksync.WithChroot(root))
		m := zksync.NewMutex(s, "/orders/7")
		whole := zksync.NewMutex(z.Dial(t, zksync.WithChroot("/")), root+"/orders/7")
		m.Lock()
		if got, err := whole.TryLockContext(suite.Context(t)); got || err != nil {
			t.Errorf("not the same lock: %v, %v", got, err)
		}
		if n := suite.Children(t, c, root+"/orders/7"); len(n) != 1 || m.Path() != "/orders/7" {
			t.Errorf("nodes %v, path %s", n, m.Path())
		}
		m.Unlock()
		h, err := m.Hold(suite.Context(t))
		suite.Must(t, err)
		if path.Dir(h.Node()) != root+"/orders/7" {
			t.Errorf("Node() is not the path in ZooKeeper: %s", h.Node())
		}
		suite.Must(t, h.Release(suite.Context(t)))
		if e := suite.IsError(t, m.LockContext(suite.DoneContext())); e.Path != "/orders/7" {
			t.Errorf("%#v", e)
		}
		z.Empty(t, root+"/orders/7")
	})
}
