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
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

const (
	// tick is the server's, and sessionTimeout what the tests ask for: more
	// than three ticks, and room for a busy machine.
	tick           = 500 * time.Millisecond
	sessionTimeout = 3 * time.Second
)

// site is the ZooKeeper that all tests share. No test stops it.
type site struct {
	addr   string
	expire func(session int64) error
	close  func()
}

var shared struct {
	once sync.Once
	*site
	err error
}

// zookeeper returns a real server. If there is none, and none is required, it
// returns an embedded one.
func zookeeper(t testing.TB) *site {
	t.Helper()
	shared.once.Do(func() {
		shared.site, shared.err = realSite()
		if errors.Is(shared.err, ensemble.ErrNoZooKeeper) && os.Getenv("ZKSYNC_REAL") != "required" {
			log.Print("NO REAL ZOOKEEPER FOUND: zksync run was tested on an embedded one: ", shared.err)
			shared.site, shared.err = embeddedSite(), nil
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.site
}

func realSite() (*site, error) {
	dir, err := os.MkdirTemp("", "zksync-cmd")
	if err != nil {
		return nil, err
	}
	e, err := ensemble.New(dir, 1, ensemble.WithTick(tick))
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &site{addr: e.Addr(0), expire: e.Expire, close: func() {
		e.Close()
		os.RemoveAll(dir)
	}}, nil
}

func embeddedSite() *site {
	s := zktest.New(zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))
	return &site{addr: s.Addr(), close: s.Close, expire: func(session int64) error {
		if !s.Expire(session) {
			return errors.New("no such session")
		}
		return nil
	}}
}

func stopServer() {
	if shared.site != nil {
		shared.close()
	}
}

// client returns a plain client, to look at the nodes.
func client(t *testing.T) *zk.Conn {
	t.Helper()
	return clientOf(t, zookeeper(t))
}

// clientOf returns a plain client of a server.
func clientOf(t *testing.T, z *site) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{z.addr}, 20*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
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

// lockPath returns the path of a lock that no other test uses.
func lockPath(t *testing.T) string {
	return "/test/" + strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
}

// queueLen returns the number of nodes in the lock's queue.
func queueLen(t *testing.T, c *zk.Conn, lock string) int {
	t.Helper()
	nodes, _, err := c.Children(lock)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatalf("%s: %v", path.Base(lock), err)
	}
	return len(nodes)
}
