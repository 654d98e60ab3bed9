package suite

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Ground is the server that a test runs on, the sessions that the test opens there, and
// the paths that it locks. When the test's function has returned, the ground checks
// that no node, no watch and no pending deletion is left.
type Ground struct {
	Server  *zktest.Server // nil on real ZooKeeper
	Servers []string
	// Expire ends a client's session at once, as if it had timed out.
	Expire func(session int64) error
	// Watches counts the watches on the server, without those on the data of nodes that are
	// no lock's: a session of Dial keeps one on each path that it locks again and again.
	Watches func() (int, error)
	// Adapted has Dial put sessions on clients of the test's own.
	Adapted bool

	dial  zk.Dialer // nil: TCP
	share *ledger
}

// ledger lists the sessions and the paths of a ground; copies of the ground share it.
type ledger struct {
	mu       sync.Mutex
	sessions []*zksync.Session
	paths    []string
}

// A Form is how a test that runs on each kind of server runs in the short form. In
// the long form it runs on all of them, in real time.
type Form int

const (
	// Smoke has the test run on real ZooKeeper in the short form, too.
	Smoke Form = iota + 1
	// Timeless has the test run in virtual time in the short form.
	Timeless
)

// Each runs a test on every kind of server there is, on all of them at once: most
// tests wait rather than work. In the short form that is the embedded one, unless
// the form says more.
func Each(t *testing.T, f func(t *testing.T, z *Ground), forms ...Form) {
	each(t, true, false, f, forms)
}

// EachInTurn is [Each] for a test that measures the process.
func EachInTurn(t *testing.T, f func(t *testing.T, z *Ground), forms ...Form) {
	each(t, false, false, f, forms)
}

// EachSession is [Each] with both ways to make a session: with Dial, and on a client
// of the program.
func EachSession(t *testing.T, f func(t *testing.T, z *Ground), forms ...Form) {
	each(t, true, true, f, forms)
}

func each(t *testing.T, parallel, adapted bool, f func(*testing.T, *Ground), forms []Form) {
	t.Helper()
	if parallel && !IsLong() {
		t.Parallel()
	}
	on := func(t *testing.T, run func(t *testing.T, adapted bool)) {
		if parallel {
			t.Parallel()
		}
		if !adapted {
			run(t, false)
			return
		}
		for name, adapted := range map[string]bool{"dial": false, "adapted": true} {
			t.Run(name, func(t *testing.T) {
				if !IsLong() {
					t.Parallel()
				}
				run(t, adapted)
			})
		}
	}
	t.Run("embedded", func(t *testing.T) {
		on(t, func(t *testing.T, adapted bool) {
			if !IsLong() && slices.Contains(forms, Timeless) {
				virtual(t, func(t *testing.T, z *Ground) {
					z.Adapted = adapted
					z.Server.Jitter(time.Millisecond) // as if there were a network
					f(t, z)
				}, ticking()...)
				return
			}
			Embedded(t).run(t, adapted, f)
		})
	})
	t.Run("real", func(t *testing.T) {
		if !slices.Contains(forms, Smoke) {
			Long(t)
		}
		on(t, func(t *testing.T, adapted bool) { Real(t).run(t, adapted, f) })
	})
}

// Virtual runs a test in a synctest bubble, on a server in memory: time passes at
// once, and the test runs the same way each time.
func Virtual(t *testing.T, f func(t *testing.T, z *Ground)) {
	t.Helper()
	virtual(t, f)
}

func virtual(t *testing.T, f func(t *testing.T, z *Ground), opts ...zktest.Option) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		z := onServer(zktest.Run(t, opts...))
		z.Servers, z.dial = []string{"10.0.0.1"}, z.Server.Dial
		z.run(t, false, f)
	})
}

// Tick is short, so that session timeouts can be.
const Tick = 500 * time.Millisecond

func ticking() []zktest.Option {
	return []zktest.Option{zktest.WithTick(Tick), zktest.WithSessionLimits(Tick, time.Minute)}
}

// Embedded is a server in this process, the test's own.
func Embedded(t testing.TB) *Ground {
	z := onServer(zktest.Run(t, ticking()...))
	z.Servers = []string{z.Server.Addr()}
	return z
}

func onServer(s *zktest.Server) *Ground {
	return &Ground{
		Server: s,
		Expire: func(session int64) error {
			if !s.Expire(session) {
				return errors.New("no such session")
			}
			return nil
		},
		Watches: func() (n int, err error) {
			for _, w := range s.Watches() {
				if w.Child || isLocks(w.Path) {
					n++
				}
			}
			return n, nil
		},
		share: new(ledger),
	}
}

// watchesOn does the same as Ground.Watches for the one real server.
func watchesOn(e *ensemble.Ensemble) (int, error) {
	all, err := e.Watches(0)
	n := all.Total
	for p, sessions := range all.ByPath {
		if !isLocks(p) {
			n -= len(sessions)
		}
	}
	return n, err
}

// Real is the one real server. Tests share it, so they must not stop or fill it.
func Real(t testing.TB) *Ground {
	t.Helper()
	NeedReal(t, StartReal())
	onReal.Add(1)
	e := real.e
	return &Ground{Servers: e.Addrs(), Expire: e.Expire, Watches: func() (int, error) { return watchesOn(e) }, share: new(ledger)}
}

// CountsWatches is t.Parallel for a test that counts all watches of a server. Where
// tests share a server, the test does not run beside others.
func CountsWatches(t *testing.T) {
	if !IsLong() || StartReal() != nil {
		t.Parallel()
	}
}

// Path returns a path that no other test uses.
func (z *Ground) Path(t testing.TB) string {
	p := zksync.Path("/suite", fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()))
	z.share.mu.Lock()
	defer z.share.mu.Unlock()
	for slices.Contains(z.share.paths, p) { // virtual time stands still
		p += "+"
	}
	z.share.paths = append(z.share.paths, p)
	return p
}

// Virtual reports whether the test runs in virtual time.
func (z *Ground) Virtual() bool { return z.dial != nil }

func (z *Ground) opened(s *zksync.Session) *zksync.Session {
	z.share.mu.Lock()
	defer z.share.mu.Unlock()
	z.share.sessions = append(z.share.sessions, s)
	return s
}

// run runs a test, and checks that it leaves nothing.
func (z *Ground) run(t *testing.T, adapted bool, f func(t *testing.T, z *Ground)) {
	t.Helper()
	z.Adapted = adapted
	f(t, z)
	if !t.Failed() && !t.Skipped() {
		z.check(t)
	}
}

// check checks that the sessions of the test are at rest, and have left nothing. It
// checks nothing if a session still holds a lock at the end of a test, or waits for
// one: that ends with the test.
func (z *Ground) check(t *testing.T) {
	t.Helper()
	for _, s := range z.share.sessions {
		if st := s.Stats(); st.Held != 0 || st.Waiting != 0 {
			return
		}
	}
	for _, s := range z.share.sessions {
		AtRest(t, s)
	}
	Eventually(t, "the sessions have left no node, and no watch on one that is gone", func() bool { return z.left() == "" })
}

// left returns a node of a session of the test, or one that is gone and still
// watched by it; "" if there is none, or on real ZooKeeper.
func (z *Ground) left() string {
	if z.Server == nil || z.Adapted { // on an adapted client's session the test has nodes of its own
		return ""
	}
	mine := make(map[int64]bool)
	for _, s := range z.share.sessions {
		mine[s.ID()] = true
	}
	for _, info := range z.Server.Sessions() {
		if i := slices.IndexFunc(info.Ephemerals, isLocks); mine[info.ID] && i >= 0 {
			return info.Ephemerals[i]
		}
	}
	for _, w := range z.Server.Watches() {
		if _, _, there := z.Server.Get(w.Path); mine[w.Session] && !there {
			return w.Path
		}
	}
	return ""
}

// isLocks reports whether a node is one that the library makes; a test may have made
// others on a session's client.
func isLocks(node string) bool {
	return strings.HasPrefix(path.Base(node), "_c_") || strings.Contains(path.Base(node), "__lock__")
}
