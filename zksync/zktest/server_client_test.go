package zktest_test

import (
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

type dialer func(network, address string, timeout time.Duration) (net.Conn, error)

// client connects go-zookeeper through a member, and closes it with the test.
func client(t testing.TB, dial dialer, timeout time.Duration) (*zk.Conn, *eventLog) {
	t.Helper()
	log := &eventLog{}
	// The client waits a second before it goes back to an only server.
	conn, events, err := zk.Connect([]string{"127.0.0.1:1", "127.0.0.1:2"}, timeout, zk.WithDialer(zk.Dialer(dial)),
		zk.WithLogger(quiet{}), zk.WithLogInfo(false), zk.WithEventCallback(log.add))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	if _, _, err := conn.Exists("/"); err != nil {
		t.Fatal(err)
	}
	return conn, log
}

// eventLog is the states that a client has been in.
type eventLog struct {
	mu     sync.Mutex
	states []zk.State // guarded by mu
}

func (l *eventLog) add(ev zk.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ev.Type == zk.EventSession {
		l.states = append(l.states, ev.State)
	}
}

func (l *eventLog) saw(st zk.State) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.states, st)
}

// An idle client keeps its session for an hour, which takes no time.
func TestServerPings(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		conn, log := client(t, s.Dial, 6*time.Second)
		id := conn.SessionID()
		time.Sleep(time.Hour)
		if conn.SessionID() != id || log.saw(zk.StateDisconnected) {
			t.Errorf("session %#x became %#x", id, conn.SessionID())
		}
		if n := s.Pings(); n < 1700 || n > 1900 {
			t.Errorf("%d pings in an hour, every two seconds", n)
		}
	})
}

// A session that is silent ends between its timeout and a tick more.
func TestServerExpires(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t, zktest.WithTick(time.Second))
		conn, log := client(t, s.Dial, 6*time.Second)
		other := open(t, s)
		create(t, conn, "/e", zk.FlagEphemeral)
		s.Blackhole(zktest.ToServer)
		start := time.Now()
		for exists := true; exists; _, _, exists = s.Get("/e") {
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(start); d < 4*time.Second || d > 7*time.Second+time.Millisecond { // the last ping was up to 2 s ago
			t.Errorf("expired %v after the last sign of it", d)
		}
		if log.saw(zk.StateExpired) {
			t.Error("the client knows already")
		}
		s.Heal()
		time.Sleep(10 * time.Second)
		if !log.saw(zk.StateExpired) || conn.State() != zk.StateHasSession {
			t.Errorf("after healing the client is %v", conn.State())
		}
		other.nc.Close()
	})
}

func TestServerExpireByHand(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		conn, log := client(t, s.Dial, 6*time.Second)
		watcher, _ := client(t, s.Dial, 6*time.Second)
		create(t, conn, "/e", zk.FlagEphemeral)
		_, _, gone, err := watcher.GetW("/e")
		must(t, err)
		id := conn.SessionID()
		if !s.Expire(id) || s.Expire(id) {
			t.Error("Expire did not tell whether there was a session")
		}
		if ev := <-gone; ev.Type != zk.EventNodeDeleted {
			t.Errorf("event %+v", ev)
		}
		time.Sleep(5 * time.Second)
		if !log.saw(zk.StateExpired) || conn.SessionID() == id {
			t.Error("the client does not know")
		}
	})
}

// A client's watches come back with it.
func TestServerReconnect(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		conn, log := client(t, s.Dial, 6*time.Second)
		other, _ := client(t, s.Dial, 6*time.Second)
		create(t, conn, "/a", 0)
		id := conn.SessionID()
		_, _, changed, err := conn.GetW("/a")
		must(t, err)
		_, _, kept, err := conn.ChildrenW("/a")
		must(t, err)
		s.Refuse()
		s.Disconnect(id)
		synctest.Wait()
		if got := s.Watches(); len(got) != 0 {
			t.Errorf("watches without a connection: %+v", got)
		}
		if _, err := other.Set("/a", []byte("new"), -1); err != nil {
			t.Fatal(err)
		}
		s.Heal()
		if ev := <-changed; ev.Type != zk.EventNodeDataChanged {
			t.Errorf("event %+v", ev)
		}
		if conn.SessionID() != id || log.saw(zk.StateExpired) {
			t.Error("the session did not survive")
		}
		create(t, other, "/a/b", 0)
		if ev := <-kept; ev.Type != zk.EventNodeChildrenChanged {
			t.Errorf("event %+v", ev)
		}
	})
}

func TestServerOverTCP(t *testing.T) {
	s := zktest.Run(t)
	member := s.AddMember()
	conn, events := connect(t, 5*time.Second, s.Addr(), member.Addr())
	if first := s.Addr(); first != s.Addr() || first == member.Addr() {
		t.Error("an address that changes, or is shared")
	}
	create(t, conn, "/a", 0)
	_, _, w, err := conn.ChildrenW("/a")
	must(t, err)
	if got, err := conn.CreateProtectedEphemeralSequential("/a/n-", nil, zk.WorldACL(zk.PermAll)); err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if ev := <-w; ev.Type != zk.EventNodeChildrenChanged {
		t.Errorf("event %+v", ev)
	}
	if _, err := conn.CreateContainer("/c", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll)); err != nil {
		t.Error(err)
	}
	s.Disconnect(conn.SessionID())
	awaitState(t, events, zk.StateDisconnected)
	awaitState(t, events, zk.StateHasSession)
	l := zk.NewLock(conn, "/lock", zk.WorldACL(zk.PermAll))
	must(t, l.Lock())
	must(t, l.Unlock())
	conn.Close()
	eventually(t, "session gone", 5*time.Second, func() bool { return len(s.Sessions()) == 0 })
	s.Close()
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("the port is still open")
	}
	if _, err := s.Dial("tcp", "", 0); err == nil {
		t.Error("a closed server can be dialled")
	}
}
