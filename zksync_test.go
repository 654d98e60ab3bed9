package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("ZKSYNC_TEST_ROLE"); role != "" {
		os.Exit(runRole(role)) // this is a child of a test
	}
	skipExamples()
	code := m.Run()
	stopReal()
	if code == 0 {
		// A client that has locked up stays so for good: what replaces it is
		// tested, and leaves this one goroutine.
		locked := goleak.IgnoreTopFunction("github.com/go-zookeeper/zk.(*Conn).flushRequests")
		if err := goleak.Find(locked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// site is a ZooKeeper that the suite runs on. Each kind of server is one.
type site struct {
	name    string
	servers []string
	// expire ends a client's session at once, as if it had timed out.
	expire func(session int64) error
	// watches counts the watches on the server.
	watches func() (int, error)
	// adapted has dial put sessions on clients of the test's own.
	adapted bool
}

// onServers runs a test on every kind of server there is.
func onServers(t *testing.T, f func(t *testing.T, z *site)) {
	t.Run("real", func(t *testing.T) { f(t, realSite(t)) })
}

var real struct {
	once sync.Once
	e    *zktest.Ensemble
	err  error
	dir  string
}

// realSite is the one real server that tests share when they don't harm it.
func realSite(t testing.TB) *site {
	t.Helper()
	startReal()
	needReal(t, real.err)
	e := real.e
	return &site{name: "real", servers: e.Servers(), expire: e.Expire, watches: e.WatchCount}
}

// startReal starts the server that realSite shares, if it does not run yet.
func startReal() {
	real.once.Do(func() {
		real.dir, real.err = os.MkdirTemp("", "zksync-suite")
		if real.err == nil {
			real.e, real.err = zktest.NewEnsemble(real.dir, 1, zktest.WithTickTime(500*time.Millisecond))
		}
	})
}

// needReal ends the test if real ZooKeeper could not be had: as a failure where
// it is required.
func needReal(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, zktest.ErrNoZooKeeper) && os.Getenv("ZKSYNC_REAL") != "required":
		loud.Do(func() { log.Print("NO REAL ZOOKEEPER FOUND: what needs one was not tested: ", err) })
		t.Skip("no real ZooKeeper on this machine")
	default:
		t.Fatal(err)
	}
}

var loud sync.Once

func stopReal() {
	if real.e != nil {
		real.e.Close()
	}
	if real.dir != "" {
		os.RemoveAll(real.dir)
	}
}

// sessionTimeout is long enough for a busy machine, and allows of three ticks.
const sessionTimeout = 4 * time.Second

// dial opens a session that is closed at the end of the test.
func (z *site) dial(t testing.TB, opts ...zksync.Option) *zksync.Session {
	t.Helper()
	if z.adapted {
		return z.adapt(t, opts...)
	}
	return dialTo(t, z.servers, opts...)
}

func dialTo(t testing.TB, servers []string, opts ...zksync.Option) *zksync.Session {
	t.Helper()
	opts = append([]zksync.Option{zksync.WithSessionTimeout(sessionTimeout), zksync.WithLogger(testLogger(t))}, opts...)
	s, err := zksync.Dial(short(t), servers, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the session: %v", err)
		}
	})
	return s
}

// proxied puts a TCP proxy with faults and a request counter before the site's
// first server.
func (z *site) proxied(t testing.TB) *zktest.Proxy {
	t.Helper()
	p, err := zktest.NewProxy(z.servers[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// raw opens a plain client, to look at the tree and to do mischief.
func (z *site) raw(t testing.TB) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(z.servers, 10*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c
}

type mute struct{}

func (mute) Printf(string, ...any) {}

// testLogger logs to the test, as long as it runs.
func testLogger(t testing.TB) *slog.Logger {
	w := &testWriter{t: t}
	t.Cleanup(w.stop)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

type testWriter struct {
	mu sync.Mutex
	t  testing.TB
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

func (w *testWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

// short is a context that fails a stuck test long before go test does.
func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// lockPath is a path that no other test uses.
func lockPath(t testing.TB) string {
	return zksync.Path("/suite", fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()))
}

// eventually waits for a condition of a real server, which has to be polled.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// children lists what is below p: nothing if p is not there.
func children(t testing.TB, c *zk.Conn, p string) []string {
	t.Helper()
	names, _, err := c.Children(p)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	return names
}

// empty checks that no node is left below p, on a site that is at rest.
func (z *site) empty(t testing.TB, p string) {
	t.Helper()
	c := z.raw(t)
	if _, err := c.Sync(path.Dir(p)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no node is left below "+p, func() bool { return len(children(t, c, p)) == 0 })
}
