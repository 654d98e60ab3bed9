package zktest_test

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A text of what is to be there does not change from run to run, though the clients make
// up names.
func ExampleServer_Snapshot() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/queue", "", 0)
	for _, job := range []string{"first", "second"} {
		if _, err := conn.CreateProtectedEphemeralSequential("/queue/job-", []byte(job), zk.WorldACL(zk.PermAll)); err != nil {
			panic(err)
		}
	}
	secret := zk.DigestACL(zk.PermAll, "bob", "word")
	if _, err := conn.Create("/secret", []byte("x"), 0, secret); err != nil {
		panic(err)
	}
	fmt.Print(srv.Snapshot(zktest.MaskSequences, zktest.MaskGUIDs))
	// Output:
	// /queue
	// /queue/_c_{guid}-job-{1} "first" ephemeral#1
	// /queue/_c_{guid}-job-{2} "second" ephemeral#1
	// /secret "x" acl=digest:bob:HJOLKaCJkAQC5uYhylpA+72TQjU=:cdrwa
}

// The program starts while a node of its own is still there: the last run has crashed.
func ExampleServer_Load() {
	srv := zktest.New()
	defer srv.Close()
	err := srv.Load(`
		/service "v1"
		/service/host-1 "10.0.0.1:80" ephemeral#1
		/config acl=world:anyone:r
	`)
	if err != nil {
		panic(err)
	}
	conn := connectTo(srv.Dial)
	defer conn.Close()
	_, err = conn.Create("/service/host-1", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	_, _, gone, err := conn.ExistsW("/service/host-1")
	if err != nil {
		panic(err)
	}
	srv.Expire(srv.Sessions()[0].ID)
	<-gone
	createNode(conn, "/service/host-1", "10.0.0.1:80", zk.FlagEphemeral)
	fmt.Print(srv.Snapshot())
	// Output:
	// zk: node already exists
	// /config acl=world:anyone:r
	// /service "v1"
	// /service/host-1 "10.0.0.1:80" ephemeral#1
}

// Missing parents are made.
func ExampleServer_LoadMap() {
	srv := zktest.New()
	defer srv.Close()
	err := srv.LoadMap(map[string]string{
		"/app/config/timeout": "5s",
		"/app/config/retries": "3",
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(srv.Snapshot())
	// Output:
	// /app
	// /app/config
	// /app/config/retries "3"
	// /app/config/timeout "5s"
}
