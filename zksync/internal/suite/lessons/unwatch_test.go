package lessons_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The server removes a watch that nobody waits for any more, and sets it again.
func TestServerRemovesAWatch(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Proxied(t)
		var removed, refused atomic.Int64
		p.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer && f.Op == "removeWatches" {
				removed.Add(1)
				if f.Err != 0 {
					refused.Add(1)
				}
			}
			return ensemble.Pass
		})
		c, err := conn.Dial(suite.Context(t), conn.Config{Servers: []string{p.Addr()}, Timeout: suite.SessionTimeout})
		suite.Must(t, err)
		defer c.Close(context.Background())
		node := "/unwatched-" + t.Name()[len("TestServerRemovesAWatch/"):]
		_, _, err = c.Create([]string{node}, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		suite.Must(t, err)
		w, err := c.Watch(node)
		suite.Must(t, err)
		c.Leave(w)
		suite.Eventually(t, "the watch is removed", func() bool { return removed.Load() == 1 })
		if refused.Load() != 0 {
			t.Error("the server has not removed it")
		}
		w, err = c.Watch(node)
		suite.Must(t, err)
		_, err = c.Delete(node)
		suite.Must(t, err)
		suite.Receive(t, w.Done())
		if _, deleted := w.Over(); !deleted {
			t.Error("the watch that was set again has not reported the deletion")
		}

		w, err = c.WatchCreation(node)
		suite.Must(t, err)
		c.Leave(w)
		suite.Eventually(t, "the watch on a node that is gone is removed", func() bool { return removed.Load() == 2 })
		if refused.Load() != 0 {
			t.Error("the server has not removed the watch on a node that is gone")
		}
		w, err = c.WatchCreation(node)
		suite.Must(t, err)
		_, _, err = c.Create([]string{node}, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		suite.Must(t, err)
		suite.Receive(t, w.Done())
	}, suite.Smoke)
}
