package zksync

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// DefaultSessionTimeout is the session timeout that Dial asks the servers for.
const DefaultSessionTimeout = 10 * time.Second

// defaultHandoff is how many times in a row a lock may pass from one goroutine to
// the next of the same session while other sessions wait.
const defaultHandoff = 16

// DialOption changes how Dial makes a Session. Options are applied in order; a later
// one wins. Without options there are a session timeout of 10 s, no TLS, no
// credentials, no chroot, no tracer and a log of trouble only (WithLogger), and the
// identity and the host come from the operating system.
//
// The options of the connection, which are no [Option], are DialOptions only. An
// option may be used for several sessions.
type DialOption interface{ apply(*config) error }

// Option changes how Dial or NewSession makes a Session. Each Option is also a
// [DialOption].
type Option interface {
	DialOption
	anySession()
}

type dialOption func(*config) error

func (f dialOption) apply(c *config) error { return f(c) }

type option func(*config) error

func (f option) apply(c *config) error { return f(c) }
func (option) anySession()             {}

type config struct {
	timeout  time.Duration
	auth     []conn.Auth
	tls      *tls.Config
	chroot   string
	rooted   bool // WithChroot was given
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	logger   *slog.Logger
	tracer   *Tracer
	identity string
	noInfo   bool
	locks    lockConfig
}

func (c *config) apply(opts []DialOption) error {
	c.timeout = DefaultSessionTimeout
	c.tracer = &Tracer{}
	c.locks = lockConfig{Terms: local.Terms{ACL: zk.WorldACL(zk.PermAll)}, handoff: defaultHandoff}
	for _, o := range opts {
		if o == nil {
			return errors.New("nil option")
		}
		if err := o.apply(c); err != nil {
			return err
		}
	}
	return nil
}

// WithSessionTimeout sets the session timeout to ask for. The servers keep it within
// their limits (by default 2 to 20 of their ticks), and [Session.Timeout] returns
// what they granted. It must be at least 200 ms. Losses are noticed within half of
// it. The default is 10 s.
func WithSessionTimeout(d time.Duration) DialOption {
	return dialOption(func(c *config) error {
		if d < 200*time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("session timeout of %v: want 200ms to 24h", d)
		}
		c.timeout = d
		return nil
	})
}

// WithAuth adds a credential, for example "user:password" with the scheme "digest".
// Each connection sends it before anything else. The option may be given several
// times. The credential is never logged and never written to a node.
func WithAuth(scheme string, cred []byte) DialOption {
	cred = slices.Clone(cred)
	return dialOption(func(c *config) error {
		switch {
		case scheme == "" || len(cred) == 0:
			return errors.New("WithAuth needs a scheme and a credential")
		case len(scheme)+len(cred) > 64<<10:
			return errors.New("WithAuth: a credential of more than 64 KiB")
		}
		c.auth = append(c.auth, conn.Auth{Scheme: scheme, Cred: cred})
		return nil
	})
}

// WithTLS connects by TLS. If cfg has no ServerName, each server's certificate must
// be for the host name in the server list. cfg must not be changed after the call.
func WithTLS(cfg *tls.Config) DialOption {
	return dialOption(func(c *config) error {
		if cfg == nil {
			return errors.New("WithTLS needs a configuration")
		}
		c.tls = cfg
		return nil
	})
}

// WithChroot puts every path of the session's locks below root, which is made if it
// does not exist. It does not apply to the client itself (Session.Conn). Dial also takes
// the root at the end of its servers.
func WithChroot(root string) Option {
	return option(func(c *config) error {
		if root == "/" {
			root = ""
		} else if err := znode.ValidPath(root); err != nil {
			return fmt.Errorf("WithChroot: %w", err)
		}
		c.chroot, c.rooted = root, true
		return nil
	})
}

// rootedAt sets the chroot of a connect string.
func (c *config) rootedAt(root string) error {
	if c.rooted {
		return fmt.Errorf("a chroot in the server list (%q) beside WithChroot", root)
	}
	if root == "/" {
		return nil
	}
	if err := znode.ValidPath(root); err != nil {
		return fmt.Errorf("the chroot in the server list: %w", err)
	}
	c.chroot = root
	return nil
}

// WithDialContext sets the function that makes the TCP connections. network is "tcp",
// and addr is host:port, as in the server list. ctx has a deadline, which dial must
// keep. With WithTLS, the session speaks TLS on the connection that dial returns.
func WithDialContext(dial func(ctx context.Context, network, addr string) (net.Conn, error)) DialOption {
	return dialOption(func(c *config) error {
		if dial == nil {
			return errors.New("WithDialContext needs a function")
		}
		c.dial = dial
		return nil
	})
}

// WithLogger logs to l what no call returns. nil means slog.Default, as it is when the
// Session is made. Without this option, warnings and errors go to slog.Default, and lines
// of a lower level go nowhere.
//
// Errors are the loss of a lock without a handle, a node that can't be deleted, and a
// panic in a tracer's function. These are warnings:
//
//   - no connection has come for two seconds, with the reason of each server
//   - the contact with the servers has been lost for a third of the session timeout, with
//     the same reasons and the number of locks that are held without a handle: these may be
//     lost once the timeout has passed
//   - the servers have granted another session timeout than was asked for
//   - a node that belongs to no session, a semaphore with different limits, and a node that
//     looks like another recipe's
//   - a TryLock or TryAcquire that failed for another reason than that the lock was held
//   - the error of a leader that stands again (Election.Run)
//
// At level Info the session logs its first connection, each new session, and that the
// contact is back after a warning. Connections that come and go cause one such warning a
// minute at most.
func WithLogger(l *slog.Logger) Option {
	return option(func(c *config) error {
		if c.logger = l; l == nil {
			c.logger = slog.Default()
		}
		return nil
	})
}

// WithTracer has the session call the functions of t. nil means no tracer.
func WithTracer(t *Tracer) Option {
	return option(func(c *config) error {
		if t == nil {
			t = &Tracer{}
		}
		c.tracer = t
		return nil
	})
}

// WithIdentity sets the name that the session's lock nodes publish for those who wait
// behind them, for example the name of a pod. The default is host:pid. Of a name that
// is longer than 128 bytes the last 128 are published, because the names of replicas
// differ at the end.
func WithIdentity(id string) Option {
	return option(func(c *config) error {
		if id == "" {
			return errors.New("WithIdentity needs a name")
		}
		c.identity = id
		return nil
	})
}

// WithoutNodeInfo publishes nothing in the lock nodes: no identity, host,
// process, owner or trace.
func WithoutNodeInfo() Option {
	return option(func(c *config) error { c.noInfo = true; return nil })
}

// WithLockDefaults sets options for every lock of the session. A lock's own options
// are applied after them. A lock ignores a default that does not apply to its kind, such
// as WithStrictLimit for a Mutex; given to the lock itself, that is an error. Prefixes of
// WithForeignPrefix apply to every lock but a Semaphore, whatever their mode.
func WithLockDefaults(opts ...LockOption) Option {
	return option(func(c *config) error {
		err := c.locks.apply(opts)
		c.locks.ownStrict, c.locks.ownKazoo, c.locks.ownLinger, c.locks.ownForeign = false, false, false, nil
		return err
	})
}
