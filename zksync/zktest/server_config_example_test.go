package zktest_test

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A program that follows the list of servers learns that one has left.
func ExampleWithReconfig() {
	srv := zktest.New(zktest.WithReconfig(), zktest.WithSuperDigest("D/InIHSb7yEEbrWz8b9l71RjZJU="))
	defer srv.Close()
	srv.AddMember()
	srv.AddMember()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	show := func() <-chan zk.Event {
		config, _, changed, err := conn.GetW("/zookeeper/config")
		if err != nil {
			panic(err)
		}
		for line := range strings.SplitSeq(string(config), "\n") {
			if _, client, ok := strings.Cut(line, ";"); ok {
				fmt.Println(client)
			}
		}
		return changed
	}
	changed := show()

	if err := conn.AddAuth("digest", []byte("super:test")); err != nil {
		panic(err)
	}
	_, err := conn.IncrementalReconfig(nil, []string{"2"}, -1)
	fmt.Println(err, (<-changed).Type)
	show()
	// Output:
	// 127.0.0.1:2181
	// 127.0.0.2:2181
	// 127.0.0.3:2181
	// <nil> EventNodeDataChanged
	// 127.0.0.1:2181
	// 127.0.0.3:2181
}
