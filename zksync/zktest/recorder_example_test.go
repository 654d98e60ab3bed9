package zktest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A program reads its configuration and watches it. The test changes it as soon as the
// program has done so.
func ExampleServer_Record() {
	srv := zktest.New()
	defer srv.Close()
	admin, program := connectTo(srv.Dial), connectTo(srv.Dial)
	defer admin.Close()
	defer program.Close()
	createNode(admin, "/config", "old", 0)
	createNode(program, "/here", "", zk.FlagEphemeral)

	rec := srv.Record()
	reloaded := make(chan struct{})
	go func() {
		_, _, changed, _ := program.GetW("/config")
		<-changed
		_, _, _ = program.Get("/config")
		close(reloaded)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := rec.Await(ctx, func(r zktest.Record) bool { return r.Op == "getData" && r.Paths[0] == "/config" })
	if err != nil {
		panic(err)
	}
	if _, err := admin.Set("/config", []byte("new"), -1); err != nil {
		panic(err)
	}
	<-reloaded
	for _, r := range rec.Requests() {
		fmt.Println(r)
	}
	// Output:
	// getData /config OK
	// setData /config OK
	// getData /config OK
}

// Reset forgets the requests that prepare a test. Without a match, Await ends with an
// error that shows what came instead.
func ExampleRecorder_Reset() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	rec := srv.Record()
	createNode(conn, "/jobs", "", 0)
	rec.Reset()
	_, _, _ = conn.Get("/none")
	fmt.Println(rec.Requests(), rec.Forgotten())
	rec.Stop() // nothing more comes, so Await does not wait
	_, err := rec.Await(context.Background(), func(r zktest.Record) bool { return r.Op == "delete" })
	fmt.Println(err != nil)
	// Output:
	// [getData /none NoNode] 0
	// true
}

// The write has come to a server that can't carry it out.
func ExampleRecorder_AwaitArrival() {
	srv := zktest.New()
	defer srv.Close()
	conn := connectTo(srv.Dial)
	defer conn.Close()
	createNode(conn, "/a", "", 0)
	rec := srv.Record()
	srv.CutFromLeader()
	written := make(chan error)
	go func() {
		_, err := conn.Create("/a/b", nil, 0, zk.WorldACL(zk.PermAll))
		written <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := rec.AwaitArrival(ctx, func(r zktest.Record) bool { return r.Op == "create" })
	fmt.Println(r, err)
	srv.RejoinLeader()
	fmt.Println(<-written)
	fmt.Println(rec.Requests())
	// Output:
	// create /a/b ... <nil>
	// <nil>
	// [create /a/b OK]
}
