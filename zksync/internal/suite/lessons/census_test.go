package lessons_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Somebody deletes the path that a session has locked again and again, makes it anew and
// creates as many nodes as it takes for the count to be where it was. Another session
// takes the lock. Its node has the number before the one that the first session expects.
func TestPathMadeAnewToTheSameCount(t *testing.T) {
	rounds := suite.LongOr(1000, 15)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s, rival, c := z.Dial(t), z.Dial(t), z.Raw(t)
		madeAnew(t, s, rival, c, z.Path(t), rounds)
	}, suite.Smoke)
	t.Run("ThreeServers", func(t *testing.T) {
		suite.Long(t)
		addrs := ensemble.Run(t, 3).Addrs()
		s, rival := suite.DialTo(t, addrs[:1]), suite.DialTo(t, addrs[1:2])
		adversary := suite.DialTo(t, addrs[2:])
		madeAnew(t, s, rival, adversary.Conn(), "/anew", rounds)
	})
}

func madeAnew(t *testing.T, s, rival *zksync.Session, c *zk.Conn, p string, rounds int) {
	t.Helper()
	mine, theirs := zksync.NewMutex(s, p), zksync.NewMutex(rival, p)
	for round := range rounds {
		for range 1 + round%4 { // so that the path is known, watched, or relied on
			suite.LockAndUnlock(t, mine)
		}
		err := anew(c, p)
		if errors.Is(err, zk.ErrNoNode) {
			continue // the servers have removed the container, since it was empty
		}
		suite.Must(t, err)
		h, err := theirs.Hold(suite.Context(t))
		suite.Must(t, err)
		ctx, cancel := context.WithTimeout(suite.Context(t), 20*time.Millisecond)
		if err := mine.LockContext(ctx); err == nil {
			t.Fatalf("round %d: both hold", round)
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		cancel()
		suite.Must(t, h.Release(suite.Context(t)))
		suite.AtRest(t, s)
		suite.LockAndUnlock(t, mine)
		suite.Eventually(t, "the count begins again", func() bool { return c.Delete(p, -1) == nil })
	}
}

// anew deletes a path, makes it again, and has it count up to one below the number that was
// due.
func anew(c *zk.Conn, p string) error {
	acl := zk.WorldACL(zk.PermAll)
	_, err := c.Sync(p)
	if err != nil {
		return err
	}
	_, st, err := c.Get(p)
	if err != nil {
		return err
	}
	due := (int(st.Cversion) + int(st.NumChildren)) / 2
	ops := []any{&zk.DeleteRequest{Path: p, Version: -1}, &zk.CreateRequest{Path: p, Acl: acl}}
	for range due - 1 {
		ops = append(ops, &zk.CreateRequest{Path: p + "/x", Acl: acl}, &zk.DeleteRequest{Path: p + "/x", Version: -1})
	}
	_, err = c.Multi(ops...)
	return err
}
