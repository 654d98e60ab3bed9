package zksync_test

import (
	"path"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// Whoever may make nodes but not read them has to get rid of its own all the same.

// unreadable lets everybody do everything but read.
var unreadable = zk.WorldACL(zk.PermAll &^ zk.PermRead)

// steward is a client that may do everything where others may not read.
func (z *site) steward(t *testing.T) (*zk.Conn, []zk.ACL) {
	t.Helper()
	c := z.raw(t)
	ok(t, c.AddAuth("digest", []byte("steward:secret")))
	return c, append(zk.DigestACL(zk.PermAll, "steward", "secret"), unreadable...)
}

// The answer to the create is lost, and the node is not for its maker to read: a
// plain lock needs no look at it, and a Hold that does leaves nothing.
func TestUnreadableNodeOfALostReply(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		ctx, p, raw := short(t), lockPath(t), z.raw(t)
		made(t, raw, p)
		proxy, s := z.behind(t)
		id := s.ID()
		m := zksync.NewMutex(s, p, zksync.WithACL(unreadable...))
		loseCreateReply(proxy, nil)
		ok(t, m.LockContext(ctx))
		lineOf(t, raw, p, 1)
		ok(t, m.UnlockContext(ctx))
		z.empty(t, p)

		loseCreateReply(proxy, nil)
		_, err := m.Hold(ctx)
		isError(t, err, zk.ErrNoAuth)
		atRest(t, s)
		z.empty(t, p)
		if s.ID() != id {
			t.Error("another session")
		}
	})
}

// The answer to the create is lost, and the servers refuse to list the path: the
// node stays on record until they do.
func TestUnlistableNodeOfALostReply(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, z *site) {
		ctx, p := short(t), lockPath(t)
		steward, acl := z.steward(t)
		made(t, steward, path.Dir(p))
		_, err := steward.Create(p, nil, 0, acl)
		ok(t, err)
		proxy := z.proxied(t)
		through := *z
		through.servers = []string{proxy.Addr()}
		s := through.dial(t)
		id := s.ID()
		loseCreateReply(proxy, nil)
		isError(t, zksync.NewMutex(s, p).LockContext(ctx), zk.ErrNoAuth)
		lineOf(t, steward, p, 1)
		if n := s.Stats().CleanupPending; n != 1 {
			t.Errorf("%d nodes to be deleted, want 1", n)
		}
		_, err = steward.SetACL(p, zk.WorldACL(zk.PermAll), -1)
		ok(t, err)
		z.empty(t, p)
		atRest(t, s)
		if s.ID() != id {
			t.Error("it took the end of the session")
		}
	})
}

// Close names it, too; on a client that lives on it goes as soon as it can.
func TestCloseNamesAnUnlistableNode(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		p := lockPath(t)
		steward, acl := z.steward(t)
		made(t, steward, path.Dir(p))
		_, err := steward.Create(p, nil, 0, acl)
		ok(t, err)
		l := z.lend(t)
		loseCreateReply(l.p, nil)
		isError(t, zksync.NewMutex(l.Session, p).LockContext(short(t)), zk.ErrNoAuth)
		lineOf(t, steward, p, 1)
		node := children(t, steward, p)[0]
		closeNames(t, l.Close(), "created perhaps", p+"/"+node[:len(node)-10])
		_, err = steward.SetACL(p, zk.WorldACL(zk.PermAll), -1)
		ok(t, err)
		l.gone(t, p)
	})
}
