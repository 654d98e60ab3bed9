package zksync_test

import (
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// The answer to the create is lost, and the node is not for its maker to read: a
// plain lock needs no look at it, and a Hold that does leaves nothing.
func TestUnreadableNodeOfALostReply(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		ctx, p, raw := suite.Context(t), z.Path(t), z.Raw(t)
		suite.MakePath(t, raw, p)
		proxy, s := z.Behind(t)
		id := s.ID()
		m := zksync.NewMutex(s, p, zksync.WithACL(suite.Unreadable...))
		suite.LoseCreateReply(proxy, nil)
		suite.Must(t, m.LockContext(ctx))
		suite.InLine(t, raw, p, 1)
		suite.Must(t, m.UnlockContext(ctx))
		z.Empty(t, p)

		suite.LoseCreateReply(proxy, nil)
		_, err := m.Hold(ctx)
		suite.IsError(t, err, zk.ErrNoAuth, zksync.ErrNoAuth)
		suite.AtRest(t, s)
		z.Empty(t, p)
		if s.ID() != id {
			t.Error("another session")
		}
	})
}

// The answer to the create is lost, and the servers refuse to list the path: the
// node stays on record until they do.
func TestUnlistableNodeOfALostReply(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, p := suite.Context(t), z.Path(t)
		steward, acl := z.Steward(t)
		suite.MakePath(t, steward, path.Dir(p))
		_, err := steward.Create(p, nil, 0, acl)
		suite.Must(t, err)
		proxy := z.Proxied(t)
		through := *z
		through.Servers = []string{proxy.Addr()}
		s := through.Dial(t)
		id := s.ID()
		suite.LoseCreateReply(proxy, nil)
		suite.IsError(t, zksync.NewMutex(s, p).LockContext(ctx), zk.ErrNoAuth, zksync.ErrNoAuth)
		suite.InLine(t, steward, p, 1)
		if n := s.Stats().CleanupPending; n != 1 {
			t.Errorf("%d nodes to be deleted, want 1", n)
		}
		_, err = steward.SetACL(p, zk.WorldACL(zk.PermAll), -1)
		suite.Must(t, err)
		z.Empty(t, p)
		suite.AtRest(t, s)
		if s.ID() != id {
			t.Error("it took the end of the session")
		}
	})
}

// Close names it, too; on a client that lives on it goes as soon as it can.
func TestCloseNamesAnUnlistableNode(t *testing.T) {
	suite.Long(t)
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		p := z.Path(t)
		steward, acl := z.Steward(t)
		suite.MakePath(t, steward, path.Dir(p))
		_, err := steward.Create(p, nil, 0, acl)
		suite.Must(t, err)
		l := z.Lend(t)
		suite.LoseCreateReply(l.P, nil)
		suite.IsError(t, zksync.NewMutex(l.Session, p).LockContext(suite.Context(t)), zk.ErrNoAuth, zksync.ErrNoAuth)
		suite.InLine(t, steward, p, 1)
		node := suite.Children(t, steward, p)[0]
		suite.CloseNames(t, l.Close(), "created perhaps", p+"/"+node[:len(node)-10])
		_, err = steward.SetACL(p, zk.WorldACL(zk.PermAll), -1)
		suite.Must(t, err)
		l.Gone(t, p)
	})
}
