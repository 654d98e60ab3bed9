package registry_test

import (
	"context"
	"io"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/examples/registry"
)

// quiet keeps go-zookeeper's client from logging each attempt to connect.
var quiet = log.New(io.Discard, "", 0)

func TestRegisterAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		connect := func() *zk.Conn {
			conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(quiet))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			return conn
		}

		crashed := connect()
		if _, err := crashed.Create("/api-1", []byte("10.0.0.1:80"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		conn := connect() // of the process that takes its place
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- registry.Register(ctx, conn, "/api-1", "10.0.0.2:80") }()
		time.Sleep(time.Second)
		srv.Expire(crashed.SessionID()) // at last
		time.Sleep(time.Minute)
		if data, _, _ := srv.Get("/api-1"); string(data) != "10.0.0.2:80" {
			t.Errorf("registered %q", data)
		}

		srv.Expire(conn.SessionID())
		time.Sleep(time.Minute)
		if _, stat, ok := srv.Get("/api-1"); !ok || stat.EphemeralOwner != conn.SessionID() {
			t.Error("the session that stands has no node")
		}

		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if tree := srv.Tree(); tree != "" {
			t.Errorf("left:\n%s", tree)
		}
	})
}
