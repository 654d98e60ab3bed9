package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The clocks of sessions stand still while there is no quorum.
func ExampleServer_LoseQuorum() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/here", "", zk.FlagEphemeral)

	srv.LoseQuorum()
	time.Sleep(time.Second)
	for _, s := range srv.Sessions() {
		fmt.Println(s.Connected, s.Remaining)
	}
	srv.RegainQuorum()
	for conn.State() != zk.StateHasSession {
		time.Sleep(time.Millisecond)
	}
	here, _, err := conn.Exists("/here")
	fmt.Println(here, err)
	// Output:
	// false 6s
	// true <nil>
}

// The leader is cut off and goes on answering reads, while the others have elected
// another one.
func ExampleMember_Lead() {
	srv := zktest.New()
	defer srv.Close()
	first, second := srv.Leader(), srv.AddMember()
	srv.AddMember()
	deposed := connectTo(first.Dial)
	defer deposed.Close()
	createNode(deposed, "/a", "old", 0)

	first.CutFromLeader()
	second.Lead()
	conn := connectTo(second.Dial)
	defer conn.Close()
	if _, err := conn.Set("/a", []byte("new"), -1); err != nil {
		panic(err)
	}
	data, _, err := deposed.Get("/a")
	fmt.Println(string(data), err)
	fmt.Print(srv.Tree())
	fmt.Println("epoch", srv.Zxid()>>32, srv.Leader() == second)
	// Output:
	// old <nil>
	// /a "new"
	// epoch 1 true
}
