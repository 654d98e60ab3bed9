package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A node is for a user that proves its name by SASL. go-zookeeper's client can't.
func ExampleWithSASLUsers() {
	s := zktest.New(zktest.WithSASLUsers(map[string]string{"bob": "secret"}))
	defer s.Close()
	conn, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, err = conn.Create("/for-bob", nil, 0, []zk.ACL{{Perms: zk.PermAll, Scheme: "sasl", ID: "bob"}})
	fmt.Println(err)
	_, _, err = conn.Get("/for-bob")
	fmt.Println(err)
	// Output:
	// <nil>
	// zk: not authenticated
}
