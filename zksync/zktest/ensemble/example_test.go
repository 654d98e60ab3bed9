package ensemble_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Three servers elect a new leader when theirs is killed.
func ExampleRun() {
	var t *testing.T // of the test function, such as TestFailover(t *testing.T)

	e := ensemble.Run(t, 3)
	conn, _, err := zk.Connect(e.Addrs(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := e.Kill(e.Leader()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitLeader(10 * time.Second); err != nil {
		t.Fatal(err)
	}
}

// All tests of a package share a server, where one is installed.
func ExampleNew() {
	var m *testing.M // of TestMain(m *testing.M)

	e, err := ensemble.New("", 1,
		ensemble.WithTick(100*time.Millisecond),
		ensemble.WithSyncLimit(20),
		ensemble.WithReapInterval(time.Second),
		ensemble.WithSuperDigest("xQJmxLMiHGwaqBvst5y6rkB6HQs="),
		ensemble.WithConfig(map[string]string{"maxSessionTimeout": "5000", "forceSync": "yes"}),
		ensemble.WithJavaFlags("-Xmx512m"),
	)
	switch {
	case errors.Is(err, ensemble.ErrNoZooKeeper):
		log.Print(err) // says what to install
		os.Exit(m.Run())
	case err != nil:
		log.Fatal(err)
	}
	code := m.Run() // the tests connect to e.Addr(0)
	e.Close()
	os.Exit(code)
}

// A test may need a part of ZooKeeper, such as its jars.
func ExampleFind() {
	var t *testing.T // of the test function

	installed, err := ensemble.Find()
	if err != nil {
		t.Skip(err)
	}
	t.Log(installed.Java, installed.ClassPath)
}

// Each fault of a server, and its end.
func ExampleEnsemble() {
	var t *testing.T // of the test function

	e := ensemble.Run(t, 3)
	leader := e.Leader()
	for _, step := range []struct{ begin, end func(i int) error }{
		{e.Pause, e.Resume},
		{e.Cut, e.Heal},
		{e.Stop, e.Start},
		{e.Kill, e.Start},
		{e.Restart, func(int) error { return nil }},
	} {
		if err := step.begin(leader); err != nil {
			t.Fatal(err)
		}
		// See what the program does.
		if err := step.end(leader); err != nil {
			t.Fatal(err)
		}
		if err := e.WaitServing(30 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(0); !errors.Is(err, ensemble.ErrClosed) {
		t.Error(err)
	}
}

// The session of a client ends while the program uses it.
func ExampleEnsemble_Expire() {
	var t *testing.T // of the test function

	e := ensemble.Run(t, 1)
	conn, events, err := zk.Connect(e.Addrs(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	if err := e.Expire(conn.SessionID()); err != nil {
		t.Fatal(err)
	}
	for ev := range events {
		if ev.State == zk.StateExpired {
			break
		}
	}
}

// What a server knows of its clients.
func ExampleEnsemble_Watches() {
	var t *testing.T // of the test function

	e := ensemble.Run(t, 1)
	w, err := e.Watches(0)
	if errors.Is(err, ensemble.ErrNotServing) {
		t.Skip("no quorum")
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, sessions := range w.ByPath {
		fmt.Println(path, sessions)
	}
	connections, err := e.Connections(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range connections {
		fmt.Println(c.Addr, c.Session, c.Fields["lop"])
	}
	total, err := e.WatchCount() // of all servers
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := e.Metrics(0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(total, metrics["zk_watch_count"])
	answer, err := e.FourLetter(0, "ruok")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(answer)
}

// The answer to a create is lost: the client does not know that it was carried out.
// The server is in memory here.
func ExampleProxy() {
	srv := zktest.New()
	defer srv.Close()
	p, err := ensemble.NewProxy(srv.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	conn, _, err := zk.Connect([]string{p.Addr()}, 6*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	p.SetHook(func(f ensemble.Frame) ensemble.Action {
		switch {
		case f.FromServer && f.Op == "create":
			return ensemble.DropAndDisconnect
		case f.FromServer && f.Op == "delete": // the answer is the last that arrives
			return ensemble.PassAndDisconnect
		case f.Op == "ping":
			return ensemble.Drop
		}
		return ensemble.Pass
	})
	_, err = conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	fmt.Print(srv.Tree())
	fmt.Println(p.Requests()["create"])
	p.ResetRequests()
	// Output:
	// zk: connection closed
	// /a
	// 1
}

// A network that loses one direction, then both, and then all connections.
func ExampleProxy_Blackhole() {
	srv := zktest.New()
	defer srv.Close()
	p, err := ensemble.NewProxy(srv.Addr())
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	conn, _, err := zk.Connect([]string{p.Addr()}, 6*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if _, _, err := conn.Exists("/"); err != nil {
		log.Fatal(err)
	}

	p.Blackhole(ensemble.ToClient) // answers are late, requests are carried out
	p.Blackhole(ensemble.ToServer) // requests are late
	p.Blackhole()                  // both
	p.Heal()

	p.Refuse()
	fmt.Println(p.Connections())
	p.DisconnectAll()
	for p.Connections() > 0 {
		time.Sleep(time.Millisecond)
	}
	p.Accept()
	// Output: 1
}
