package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The package's comment shows this function with its test.

func register(conn *zk.Conn, events <-chan zk.Event) {
	for range events { // whatever has happened, the node is to be there
		conn.Create("/here", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
}

func TestRegisterSurvivesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		conn, events, err := zk.Connect([]string{"127.0.0.1"}, 6*time.Second, zk.WithDialer(srv.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go register(conn, events)
		time.Sleep(time.Minute)
		srv.Expire(conn.SessionID())
		time.Sleep(time.Minute)
		if _, st, ok := srv.Get("/here"); !ok || st.EphemeralOwner != conn.SessionID() {
			t.Error("the session that stands has no node")
		}
	})
}

// connectTo opens a session of go-zookeeper's client, for the examples.
func connectTo(dial zk.Dialer) *zk.Conn {
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	return conn
}

// createNode makes a node, for the examples.
func createNode(conn *zk.Conn, path, data string, flags int32) {
	if _, err := conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll)); err != nil {
		panic(err)
	}
}

func ExampleServer() {
	srv := zktest.New()
	defer srv.Close()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(srv.Dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/jobs", []byte("open"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		panic(err)
	}
	path, err := conn.Create("/jobs/job-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		panic(err)
	}
	fmt.Println(path)

	_, _, gone, err := conn.ExistsW(path)
	if err != nil {
		panic(err)
	}
	srv.Expire(conn.SessionID())
	<-gone
	fmt.Print(srv.Tree())
	fmt.Println(srv.Requests()["create"], "creates")
	// Output:
	// /jobs/job-0000000000
	// /jobs "open"
	// 2 creates
}

// Run is New for a test, and needs no Close.
func ExampleRun() {
	var t *testing.T // of the test function

	srv := zktest.Run(t)
	conn, _, err := zk.Connect([]string{srv.Addr()}, 6*time.Second) // over loopback TCP
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
}

// Sessions time out after 100 ms, nodes are reaped after 10 ms, and the server logs
// what it does.
func ExampleNew_options() {
	srv := zktest.New(
		zktest.WithTick(10*time.Millisecond),
		zktest.WithSessionLimits(100*time.Millisecond, 100*time.Millisecond),
		zktest.WithReapInterval(10*time.Millisecond),
		zktest.WithSeed(42),
		zktest.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))),
	)
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/a", "", 0)
	fmt.Println(srv.Sessions()[0].Timeout)
	// Output: 100ms
}

// DialContext takes the place of a net.Dialer's in any program.
func ExampleServer_DialContext() {
	srv := zktest.New()
	defer srv.Close()
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := srv.DialContext(ctx, "tcp", "zk-1:2181")
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	cancel()
	_, err = srv.DialContext(ctx, "tcp", "zk-1:2181")
	fmt.Println(err)
	// Output: dial tcp: context canceled
}

// A program that monitors ZooKeeper by four-letter words.
func ExampleWithFourLetterWords() {
	srv := zktest.New(zktest.WithFourLetterWords("ruok", "wchs"))
	defer srv.Close()
	ask := func(word string) {
		conn, err := srv.Dial("tcp", "", 0) // or net.Dial("tcp", srv.Addr())
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, word)
		answer, err := io.ReadAll(conn)
		fmt.Println(strings.TrimSpace(string(answer)), err)
	}
	ask("ruok")
	ask("wchs")
	ask("mntr")
	// Output:
	// imok <nil>
	// 0 connections watching 0 paths
	// Total watches:0 <nil>
	// mntr is not executed because it is not in the whitelist. <nil>
}

// A server at an address of the test's choice refuses connections as one that does not
// run, and comes back at the same address.
func ExampleServer_Listen() {
	srv := zktest.New()
	defer srv.Close()
	if err := srv.Listen("127.0.0.1:0"); err != nil { // or "127.0.0.1:2181"
		panic(err)
	}
	srv.Refuse()
	_, err := net.Dial("tcp", srv.Addr())
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	srv.Accept()
	nc, err := net.Dial("tcp", srv.Addr())
	if err != nil {
		panic(err)
	}
	fmt.Println(nc.RemoteAddr().String() == srv.Addr(), nc.Close())
	// Output:
	// true
	// true <nil>
}

// A listener of the test's own, for example one with TLS.
func ExampleServer_Serve() {
	srv := zktest.New()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- srv.Serve(l) }()
	conn, _, err := zk.Connect([]string{l.Addr().String()}, 6*time.Second, zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	createNode(conn, "/jobs", "open", 0)
	fmt.Print(srv.Tree())
	conn.Close()
	srv.Close()
	fmt.Println(<-ended)
	// Output:
	// /jobs "open"
	// <nil>
}

// A test looks at the tree without a client.
func ExampleServer_Get() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/jobs", "open", 0)
	createNode(conn, "/jobs/b", "", 0)
	createNode(conn, "/jobs/a", "", 0)
	data, stat, ok := srv.Get("/jobs")
	fmt.Println(string(data), stat.NumChildren, ok)
	fmt.Println(srv.Children("/jobs"))
	fmt.Println(stat.Pzxid == srv.Zxid()) // the last transaction made a child
	// Output:
	// open 2 true
	// [a b]
	// true
}

// What a client has asked for, and what the server keeps for it.
func ExampleServer_Sessions() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/here", "", zk.FlagEphemeral)
	if _, _, _, err := conn.GetW("/here"); err != nil {
		panic(err)
	}
	for _, s := range srv.Sessions() {
		fmt.Println(s.Timeout, s.Connected, s.Ephemerals, srv.SessionRequests(s.ID))
	}
	for _, w := range srv.Watches() {
		fmt.Println(w.Path, w.Session == conn.SessionID(), w.Lasting)
	}
	srv.ResetRequests()
	fmt.Println(srv.Requests(), srv.Pings())
	// Output:
	// 6s true [/here] map[create:1 getData:1]
	// /here true false
	// map[] 0
}

// The number of a sequential node has an end, 2147483647, which comes twice.
func ExampleServer_SetSequence() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/q", "", 0)
	if err := srv.SetSequence("/q", 2147483647); err != nil {
		panic(err)
	}
	createNode(conn, "/q/a-", "", zk.FlagSequence)
	createNode(conn, "/q/b-", "", zk.FlagSequence)
	fmt.Println(srv.Children("/q"))
	// Output: [a-2147483647 b-2147483647]
}

// Sessions survive a short restart, and not a long one. The tree survives both.
func ExampleServer_Restart() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/jobs", "", 0)
	createNode(conn, "/here", "", zk.FlagEphemeral)
	srv.Restart()
	fmt.Println(srv.Children("/"))
	srv.RestartExpired()
	fmt.Println(srv.Children("/"))
	// Output:
	// [here jobs zookeeper]
	// [jobs zookeeper]
}

// Tests that share a server begin each with an empty one.
func ExampleServer_Reset() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/jobs", "", 0)
	id := conn.SessionID()
	srv.Reset()
	fmt.Println(srv.Children("/"))
	next := connectTo(srv.Dial)
	defer next.Close()
	createNode(next, "/first-", "", zk.FlagSequence)
	fmt.Println(srv.Children("/"), srv.Sessions()[0].ID > id)
	// Output:
	// [zookeeper]
	// [first-0000000000 zookeeper] true
}
