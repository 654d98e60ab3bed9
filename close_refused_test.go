package zksync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// dialUnchecked is dialTo for a test that looks at what Close returns.
func dialUnchecked(t *testing.T, servers []string, opts ...zksync.Option) *zksync.Session {
	t.Helper()
	s, err := zksync.Dial(short(t), servers, append([]zksync.Option{
		zksync.WithSessionTimeout(sessionTimeout), zksync.WithLogger(testLogger(t))}, opts...)...)
	ok(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// undeletable makes a lock's path where nobody may delete anything.
func undeletable(t *testing.T, raw *zk.Conn, p string) {
	t.Helper()
	made(t, raw, p)
	_, err := raw.SetACL(p, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
	ok(t, err)
	t.Cleanup(func() { _, _ = raw.SetACL(p, zk.WorldACL(zk.PermAll), -1) })
}

// A node that ZooKeeper refuses to delete stands after Close on a session that lives
// on: Close names it, and all of several, at once, and lets it be.
func TestCloseNamesRefusedDeletions(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, z *site) {
		l, p := z.lend(t), lockPath(t)
		undeletable(t, l.raw, p)
		undeletable(t, l.raw, p+"-given")
		undeletable(t, l.raw, p+"-a")
		given, err := zksync.NewMutex(l.Session, p+"-given").Hold(short(t))
		ok(t, err)
		isError(t, given.Release(short(t)), zk.ErrNoAuth)
		held, err := zksync.NewMutex(l.Session, p).Hold(short(t))
		ok(t, err)
		// Of a part that is gone the loss is the result of the deletion.
		multi, err := zksync.NewMulti(zksync.NewMutex(l.Session, p+"-a"), zksync.NewMutex(l.Session, p+"-0")).Hold(short(t))
		ok(t, err)
		ok(t, l.raw.Delete(p+"-0/"+children(t, l.raw, p+"-0")[0], -1))
		start := time.Now()
		err = l.Close()
		if took := time.Since(start); took > adaptedTimeout/4 {
			t.Errorf("Close took %v for what can't be done", took)
		}
		for _, node := range []string{held.Node(), given.Node(), p + "-a/" + children(t, l.raw, p+"-a")[0]} {
			closeNames(t, err, "refused to delete", node)
		}
		if strings.Contains(err.Error(), "not deleted") || strings.Contains(err.Error(), p+"-0/") {
			t.Errorf("Close: %v", err)
		}
		_ = multi
		l.p.ResetRequests()
		lineOf(t, l.raw, p, 1)
		l.lives(t)
		pass(overrun)
		if n := l.p.Requests()["delete"] + l.p.Requests()["multi"]; n != 0 {
			t.Errorf("%d deletions after Close", n)
		}
	})
}

// A node that could not be deleted goes with its session, and is not told of after
// that.
func TestCloseDoesNotNameWhatWentWithItsSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		s := via(t, srv.Dial)
		undeletable(t, s.Conn(), "/l")
		m := zksync.NewMutex(s, "/l")
		ok(t, m.LockContext(short(t)))
		isError(t, m.UnlockContext(short(t)), zk.ErrNoAuth)
		id := s.ID()
		srv.Expire(id)
		eventually(t, "the next session stands", func() bool { return s.ID() != 0 && s.ID() != id })
		ok(t, s.Close())
	})
}
