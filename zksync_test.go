package zksync_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path"
	"runtime"
	"strconv"
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
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && !raceEnabled {
		_ = f.Value.Set(strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))) // most of them wait
	}
	code := m.Run()
	stopReal()
	stopEmbedded()
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
		drain(events)
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
