package zksync_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestBadNewSession(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		c := z.Client(t)
		for name, try := range map[string]func() (*zksync.Session, error){
			"no client":  func() (*zksync.Session, error) { return zksync.NewSession(nil, time.Second) },
			"no timeout": func() (*zksync.Session, error) { return zksync.NewSession(c, 0) },
			"negative":   func() (*zksync.Session, error) { return zksync.NewSession(c, -time.Second) },
			"nil option": func() (*zksync.Session, error) { return zksync.NewSession(c, time.Second, nil) },
		} {
			s, err := try()
			suite.IsError(t, err)
			if s != nil {
				t.Errorf("%s: a session beside an error", name)
			}
		}
	})
}

// What only Dial understands is refused by the compiler.
func TestDialOptionsAreNoOptions(t *testing.T) {
	for name, o := range map[string]zksync.DialOption{
		"WithSessionTimeout": zksync.WithSessionTimeout(time.Second),
		"WithAuth":           zksync.WithAuth("digest", []byte("a:b")),
		"WithTLS":            zksync.WithTLS(&tls.Config{}),
		"WithDialContext":    zksync.WithDialContext(new(net.Dialer).DialContext),
	} {
		if _, ok := o.(zksync.Option); ok {
			t.Errorf("%s is an option of NewSession", name)
		}
	}
}

func TestBadServerLists(t *testing.T) {
	for _, servers := range [][]string{
		nil, {}, {""}, {" "}, {"a:1", ""}, {"a:b:c"}, {"a:0"}, {"a:65536"}, {"a:port"}, {"a:"}, {":2181"},
		{"a:1,"}, {"a:2181/app,b:2181/app"}, {"a:2181/app", "b:2181"}, {"a:2181/app/"}, {"a:2181//app"}, {"a/zookeeper"}, {"zk://a:2181"}, {"a b:2181"}, {"[::1"}, {"[a]:1:2"},
	} {
		start := time.Now()
		s, err := zksync.Dial(suite.Context(t), servers)
		if s != nil {
			t.Fatalf("%q: a session", servers)
		}
		e := suite.IsError(t, err)
		if e.Op != "dial" || errors.Is(err, context.DeadlineExceeded) || time.Since(start) > suite.Patience {
			t.Errorf("%q: %v", servers, err)
		}
	}
}

// Dial ends with ctx, and says which servers it tried and how each failed.
func TestUnreachableServers(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		silent := z.Proxied(t)
		silent.Blackhole()
		rude := z.Proxied(t)
		rude.Refuse()
		gone, err := net.Listen("tcp", "127.0.0.1:0")
		suite.Must(t, err)
		refused := gone.Addr().String()
		gone.Close()
		servers := []string{silent.Addr(), rude.Addr(), refused, "no-such-host.invalid:2181"}
		ctx, cancel := context.WithTimeoutCause(context.Background(), 2*time.Second, suite.ErrCause)
		defer cancel()
		start := time.Now()
		s, err := zksync.Dial(ctx, servers, zksync.WithSessionTimeout(suite.SessionTimeout))
		if s != nil {
			t.Fatal("a session")
		}
		e := suite.IsError(t, err, context.DeadlineExceeded, suite.ErrCause)
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

		if _, err := zksync.Dial(suite.DoneContext(), z.Servers); err == nil {
			t.Error("a session with a done context")
		} else {
			suite.IsError(t, err, context.Canceled, suite.ErrCause)
		}
		// One that works among those that do not is enough.
		mixed := suite.DialTo(t, append(servers, z.Servers[0]))
		suite.LockAndUnlock(t, zksync.NewMutex(mixed, z.Path(t)))
	})
}

// A server that grants another timeout than was asked for is believed.
func TestNegotiatedTimeout(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := suite.DialTo(t, z.Servers, zksync.WithSessionTimeout(23*time.Hour))
		if got := s.Timeout(); got < time.Second || got > time.Hour {
			t.Errorf("granted %v", got)
		}
		suite.LockAndUnlock(t, zksync.NewMutex(s, z.Path(t)))
	})
}

// Dial takes the connect string of other clients, whose chroot is that of WithChroot.
func TestDialTakesAConnectString(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		root := z.Path(t)
		servers := append([]string{"no-such-host.invalid," + z.Servers[0]}, z.Servers[0]+root)
		s := suite.DialTo(t, servers)
		h, err := zksync.NewMutex(s, "/lock").Hold(suite.Context(t))
		suite.Must(t, err)
		if !strings.HasPrefix(h.Node(), root+"/lock/") {
			t.Errorf("the node is %s", h.Node())
		}
		suite.Must(t, h.Release(suite.Context(t)))
		if _, err := zksync.Dial(suite.Context(t), servers, zksync.WithChroot("/")); err == nil || !strings.Contains(err.Error(), "beside WithChroot") {
			t.Errorf("two chroots: %v", err)
		}
	})
}

// A path without its slash gets the hint that helps.
func TestPathWithoutItsSlash(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		for _, s := range []*zksync.Session{z.Dial(t), z.Dial(t, zksync.WithChroot("/app"))} {
			err := zksync.NewMutex(s, "locks/orders").LockContext(suite.Context(t))
			if e := suite.IsError(t, err, zksync.ErrInvalidPath); !strings.HasSuffix(e.Error(), `path "locks/orders" does not start with "/": it may mean "/locks/orders"`) {
				t.Error(e)
			}
			if err := zksync.NewMutex(s, "a//b").LockContext(suite.Context(t)); strings.Contains(err.Error(), "may mean") {
				t.Error(err)
			}
		}
	})
}
