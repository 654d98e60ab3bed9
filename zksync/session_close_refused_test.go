package zksync_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// undeletable makes a lock's path where nobody may delete anything.
func undeletable(t *testing.T, raw *zk.Conn, p string) {
	t.Helper()
	suite.MakePath(t, raw, p)
	_, err := raw.SetACL(p, zk.WorldACL(zk.PermAll&^zk.PermDelete), -1)
	suite.Must(t, err)
	t.Cleanup(func() { _, _ = raw.SetACL(p, zk.WorldACL(zk.PermAll), -1) })
}

// A node that ZooKeeper refuses to delete stands after Close on a session that lives
// on: Close names it, and all of several, at once, and lets it be.
func TestCloseNamesRefusedDeletions(t *testing.T) {
	suite.Parallel(t)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		l, p := z.Lend(t), z.Path(t)
		undeletable(t, l.Raw, p)
		undeletable(t, l.Raw, p+"-given")
		undeletable(t, l.Raw, p+"-a")
		given, err := zksync.NewMutex(l.Session, p+"-given").Hold(suite.Context(t))
		suite.Must(t, err)
		suite.IsError(t, given.Release(suite.Context(t)), zk.ErrNoAuth, zksync.ErrNoAuth)
		held, err := zksync.NewMutex(l.Session, p).Hold(suite.Context(t))
		suite.Must(t, err)
		// Of a part that is gone the loss is the result of the deletion.
		multi, err := zksync.NewMulti(zksync.NewMutex(l.Session, p+"-a"), zksync.NewMutex(l.Session, p+"-0")).Hold(suite.Context(t))
		suite.Must(t, err)
		suite.Must(t, l.Raw.Delete(p+"-0/"+suite.Children(t, l.Raw, p+"-0")[0], -1))
		start := time.Now()
		err = l.Close()
		if took := time.Since(start); took > suite.AdaptedTimeout/4 {
			t.Errorf("Close took %v for what can't be done", took)
		}
		for _, node := range []string{held.Node(), given.Node(), p + "-a/" + suite.Children(t, l.Raw, p+"-a")[0]} {
			suite.CloseNames(t, err, "refused to delete", node)
		}
		if strings.Contains(err.Error(), "not deleted") || strings.Contains(err.Error(), p+"-0/") {
			t.Errorf("Close: %v", err)
		}
		_ = multi
		l.P.ResetRequests()
		suite.InLine(t, l.Raw, p, 1)
		l.Lives(t)
		suite.SleepReal(suite.Overrun)
		if n := l.P.Requests()["delete"] + l.P.Requests()["multi"]; n != 0 {
			t.Errorf("%d deletions after Close", n)
		}
	})
}

// A node that could not be deleted goes with its session, and is not reported after
// that.
func TestCloseDoesNotNameWhatWentWithItsSession(t *testing.T) {
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		s := z.Via(t, srv.Dial)
		undeletable(t, s.Conn(), "/l")
		m := zksync.NewMutex(s, "/l")
		suite.Must(t, m.LockContext(suite.Context(t)))
		suite.IsError(t, m.UnlockContext(suite.Context(t)), zk.ErrNoAuth, zksync.ErrNoAuth)
		id := s.ID()
		srv.Expire(id)
		suite.Eventually(t, "the next session stands", func() bool { return s.ID() != 0 && s.ID() != id })
		suite.Must(t, s.Close())
	})
}
