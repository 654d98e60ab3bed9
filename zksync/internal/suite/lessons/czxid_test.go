package lessons_test

import (
	"context"
	"fmt"
	stdpath "path"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The zxid of the answer to a create is the czxid of the node, also of each node of a
// transaction, and whatever else the servers do at that time. The fence of a hold relies
// on it.
func TestAnswerHasTheZxidOfTheNode(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) { answersHaveCzxids(t, z.Servers, z.Path(t)) }, suite.Smoke)
	t.Run("ThreeServers", func(t *testing.T) {
		suite.Long(t)
		answersHaveCzxids(t, ensemble.Run(t, 3).Addrs(), "/czxids")
	})
}

func answersHaveCzxids(t *testing.T, servers []string, path string) {
	const sessions, rounds = 6, 200
	acl := zk.WorldACL(zk.PermAll)
	conns := make([]*conn.Conn, sessions)
	for i := range conns {
		c, err := conn.Dial(suite.Context(t), conn.Config{Servers: servers, Timeout: 10 * time.Second})
		suite.Must(t, err)
		defer c.Close(context.Background())
		conns[i] = c
	}
	if dir := stdpath.Dir(path); dir != "/" {
		_ = conns[0].CreateParent(dir, acl) // perhaps it exists
	}
	suite.Must(t, conns[0].CreateParent(path, acl))
	for _, c := range conns { // a follower may not know the parent yet
		_, err := c.Sync("/")
		suite.Must(t, err)
	}
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			for round := range rounds {
				b := c.Batch()
				one := b.Create([]string{fmt.Sprintf("%s/%d-", path, i)}, []byte("d"), zk.FlagEphemeral|zk.FlagSequence, acl)
				b.Get(path) // a read beside, whose answer has some other zxid
				two := b.Create([]string{fmt.Sprintf("%s/%d-a-", path, i), fmt.Sprintf("%s/%d-b-", path, i)}, nil, zk.FlagEphemeral|zk.FlagSequence, acl)
				b.Send(context.Background())
				for _, k := range []*conn.Call{one, two} {
					<-k.Done()
					if k.Err() != nil {
						t.Error(k.Err())
						return
					}
					for _, node := range k.Made() {
						st, _, err := c.Stat(node)
						if err != nil || st.Czxid != k.Zxid() || k.Zxid() == 0 {
							t.Errorf("%s in round %d: %v, czxid %#x, the answer has %#x", node, round, err, st.Czxid, k.Zxid())
							return
						}
						if err := c.DeleteAsync(node, conn.Wait, func(conn.Ran, error) {}); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
}
