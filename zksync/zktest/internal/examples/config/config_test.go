package config_test

import (
	"context"
	"io"
	"log"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/examples/config"
)

// quiet keeps go-zookeeper's client from logging each attempt to connect.
var quiet = log.New(io.Discard, "", 0)

func TestWatchSurvivesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(quiet))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		admin, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(quiet))
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close()

		var applied []string
		go config.Watch(t.Context(), conn, "/config", func(data []byte) { applied = append(applied, string(data)) })
		time.Sleep(time.Second)
		if _, err := admin.Create("/config", []byte("one"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)

		srv.Refuse() // nobody gets a new connection
		srv.Expire(conn.SessionID())
		if _, err := admin.Set("/config", []byte("two"), -1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		srv.Accept()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"one", "two"}; !slices.Equal(applied, want) {
			t.Errorf("applied %q, want %q", applied, want)
		}
	})
}

// Each change is applied once, and the watch of the last read is the only one.
func TestWatchAppliesEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		conn, _, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogger(quiet))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Create("/config", []byte("one"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var applied []string
		done := make(chan error)
		go func() {
			done <- config.Watch(ctx, conn, "/config", func(data []byte) { applied = append(applied, string(data)) })
		}()
		time.Sleep(time.Second)
		srv.DisconnectAll() // in the same session: the client sets the watch again
		time.Sleep(time.Minute)
		if _, err := conn.Set("/config", []byte("two"), -1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(srv.Watches()); n != 1 {
			t.Errorf("%d watches, want 1", n)
		}
		cancel()
		if err := <-done; err != context.Canceled {
			t.Error(err)
		}
		if want := []string{"one", "two"}; !slices.Equal(applied, want) {
			t.Errorf("applied %q, want %q", applied, want)
		}
	})
}
