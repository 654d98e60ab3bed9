//go:build unix

package main

import (
	"errors"
	"log"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

const (
	// tick is the server's, and sessionTimeout what the tests ask for: more
	// than three ticks, and room for a busy machine.
	tick           = 500 * time.Millisecond
	sessionTimeout = 3 * time.Second
)

var server struct {
	once sync.Once
	dir  string
	e    *zktest.Ensemble
	err  error
}

// realServer is the one real ZooKeeper that all tests share: none harms it.
func realServer(t testing.TB) *zktest.Ensemble {
	t.Helper()
	server.once.Do(func() {
		if server.dir, server.err = os.MkdirTemp("", "zksync-cmd"); server.err == nil {
			server.e, server.err = zktest.NewEnsemble(server.dir, 1, zktest.WithTickTime(tick))
		}
		if errors.Is(server.err, zktest.ErrNoZooKeeper) {
			log.Print("NO REAL ZOOKEEPER FOUND: zksync run was not tested: ", server.err)
		}
	})
	switch {
	case errors.Is(server.err, zktest.ErrNoZooKeeper) && os.Getenv("ZKSYNC_REAL") != "required":
		t.Skip("no real ZooKeeper on this machine")
	case server.err != nil:
		t.Fatal(server.err)
	}
	return server.e
}

func stopServer() {
	if server.e != nil {
		server.e.Close()
	}
	if server.dir != "" {
		os.RemoveAll(server.dir)
	}
}

// client is a plain client, to look at the tree with.
func client(t *testing.T) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(realServer(t).Servers(), 10*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c
}

type mute struct{}

func (mute) Printf(string, ...any) {}

// lockPath is a lock that no other test uses.
func lockPath(t *testing.T) string {
	return "/test/" + strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
}

// queueLen is the number of nodes in the lock's queue.
func queueLen(t *testing.T, c *zk.Conn, lock string) int {
	t.Helper()
	nodes, _, err := c.Children(lock)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatalf("%s: %v", path.Base(lock), err)
	}
	return len(nodes)
}
