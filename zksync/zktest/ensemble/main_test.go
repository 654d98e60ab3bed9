package ensemble_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(form{m}) }

// form runs the tests, and says what the short form left out.
type form struct{ m *testing.M }

func (f form) Run() int {
	defer suite.TellForm()
	return f.m.Run()
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect returns a client that has a session, and a channel with all that
// happens to it. The client is closed with the test.
func connect(t *testing.T, timeout time.Duration, servers ...string) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	// The client waits a second before it goes back to an only server.
	servers = append(servers, servers...)
	events := make(chan zk.Event, 1000)
	conn, own, err := zk.Connect(servers, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(ev zk.Event) {
			select {
			case events <- ev:
			default:
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range own { // ends with the client's goroutines
		}
	})
	awaitState(t, events, zk.StateHasSession)
	return conn, events
}

func awaitState(t *testing.T, events <-chan zk.Event, want zk.State) {
	t.Helper()
	timeout := time.After(15 * time.Second)
	for {
		select {
		case ev := <-events:
			if ev.Type == zk.EventSession && ev.State == want {
				return
			}
		case <-timeout:
			t.Fatalf("client not %v after 15 s", want)
		}
	}
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, timeout time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", timeout, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// needZooKeeper skips the test, or fails it, as Run does where there is
// no ZooKeeper.
func needZooKeeper(t *testing.T) {
	t.Helper()
	if _, err := ensemble.Find(); err != nil {
		ensemble.Run(t, 1)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, conn *zk.Conn, path string, flags int32) {
	t.Helper()
	if _, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("create %s: %v", path, err)
	}
}

func exists(t *testing.T, conn *zk.Conn, path string) bool {
	t.Helper()
	ok, _, err := conn.Exists(path)
	if err != nil {
		t.Fatalf("exists %s: %v", path, err)
	}
	return ok
}

func proxy(t *testing.T, target string) *ensemble.Proxy {
	t.Helper()
	p, err := ensemble.NewProxy(target)
	must(t, err)
	t.Cleanup(p.Close)
	return p
}
