package zktest_test

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// One member of three has a bad network; the others are well. A client that knows
// all three moves to another one.
func ExampleFaults() {
	srv := zktest.New()
	defer srv.Close()
	bad, good := srv.Member(0), srv.AddMember()
	srv.AddMember()
	bad.Refuse()
	bad.DisconnectAll()

	_, err := bad.Dial("tcp", "", time.Second)
	fmt.Println(errors.Is(err, syscall.ECONNREFUSED))
	conn := connectTo(good.Dial)
	defer conn.Close()
	createNode(conn, "/a", "", 0)
	fmt.Print(srv.Tree())

	srv.Refuse() // all members
	_, err = good.Dial("tcp", "", time.Second)
	fmt.Println(err != nil)
	// Output:
	// true
	// /a
	// true
}

// A request waits for the network to the server, its answer for the network back.
func ExampleFaults_Blackhole() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/a", "old", 0)

	srv.Blackhole(zktest.ToServer)
	answer := make(chan error)
	go func() {
		_, err := conn.Set("/a", []byte("new"), -1)
		answer <- err
	}()
	fmt.Print(srv.Tree())

	srv.Blackhole(zktest.ToClient) // and no longer to the server
	for srv.Tree() != "/a \"new\"\n" {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-answer:
		fmt.Println("answered")
	default:
		fmt.Println("carried out")
	}

	srv.Blackhole() // both
	srv.Heal()
	fmt.Println(<-answer)
	// Output:
	// /a "old"
	// carried out
	// <nil>
}

// The program connects again, in the same session.
func ExampleFaults_Disconnect() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/a", "", 0)
	id := conn.SessionID()

	srv.Refuse()
	srv.Disconnect(id)
	fmt.Println(srv.Sessions()[0].Connected)
	srv.Accept()
	for !srv.Sessions()[0].Connected {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println(srv.Sessions()[0].ID == id)
	// Output:
	// false
	// true
}

// A slow network: each request takes 20 ms there and back, and up to 4 ms more.
func ExampleFaults_Delay() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/a", "", 0)

	srv.Delay(10 * time.Millisecond)
	srv.Jitter(2 * time.Millisecond)
	start := time.Now()
	createNode(conn, "/b", "", 0)
	fmt.Println(time.Since(start) >= 20*time.Millisecond)
	srv.Heal()
	// Output: true
}

// The answer to a create is lost: the client does not know that it was carried
// out.
func ExampleFaults_DropReply() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	srv.DropReply(func(r zktest.Request) bool { return r.Op == "create" })
	_, err := conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	fmt.Print(srv.Tree())
	// Output:
	// zk: connection closed
	// /a
}

// The second create is lost, and not carried out.
func ExampleFaults_DropRequest() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	creates := 0
	srv.DropRequest(func(r zktest.Request) bool {
		if r.Op == "create" {
			creates++
		}
		return creates == 2
	})
	createNode(conn, "/a", "", 0)
	_, err := conn.Create("/b", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	fmt.Print(srv.Tree())
	// Output:
	// zk: connection closed
	// /a
}

// A client of a follower that is behind reads old data until it asks for a sync.
func ExampleFaults_LagUntilSync() {
	srv := zktest.New()
	defer srv.Close()
	leader, follower := srv.Member(0), srv.AddMember()
	near, far := connectTo(leader.Dial), connectTo(follower.Dial)
	defer near.Close()
	defer far.Close()
	createNode(near, "/a", "old", 0)

	read := func() {
		data, _, err := far.Get("/a")
		fmt.Println(string(data), err)
	}
	read()
	follower.LagUntilSync()
	if _, err := near.Set("/a", []byte("new"), -1); err != nil {
		panic(err)
	}
	read()
	if _, err := far.Sync("/a"); err != nil {
		panic(err)
	}
	read()
	follower.CatchUp()
	// Output:
	// old <nil>
	// old <nil>
	// new <nil>
}

// A follower without its leader answers reads, and writes have to wait.
func ExampleFaults_CutFromLeader() {
	srv := zktest.New()
	defer srv.Close()
	follower := srv.AddMember()
	conn := connectTo(follower.Dial)
	defer conn.Close()
	createNode(conn, "/a", "old", 0)

	follower.CutFromLeader()
	written := make(chan error)
	go func() {
		_, err := conn.Set("/a", []byte("new"), -1)
		written <- err
	}()
	for srv.Requests()["setData"] == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Print(srv.Tree())
	follower.RejoinLeader()
	fmt.Println(<-written)
	fmt.Print(srv.Tree())
	// Output:
	// /a "old"
	// <nil>
	// /a "new"
}
