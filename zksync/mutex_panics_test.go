package zksync_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Lock has no error to return. Each one that it panics with is in its comment.
func TestLockPanicsWithWhatItsCommentNames(t *testing.T) {
	text, err := os.ReadFile("locker.go")
	suite.Must(t, err)
	_, comment, _ := strings.Cut(string(text), "// Lock waits until")
	comment, _, found := strings.Cut(comment, "// Unlock gives")
	if !found {
		t.Fatal("no comment of Lock")
	}
	suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
		srv := z.Server
		ctx := suite.Context(t)
		s, closed := z.Via(t, srv.Dial), z.Via(t, srv.Dial)
		suite.Must(t, closed.Close())
		suite.LockAndUnlock(t, zksync.NewMutex(s, "/full"))
		suite.Must(t, srv.SetSequence("/full", -1))
		_, err := s.Conn().Create("/private", nil, 0, zk.DigestACL(zk.PermAll, "user", "secret"))
		suite.Must(t, err)
		o := zksync.NewOwner("o")
		held, lost := zksync.NewRWMutex(s, "/held"), zksync.NewMutex(s, "/lost")
		suite.Must(t, lost.As(o).LockContext(ctx))
		srv.Expire(s.ID())
		lostBy(t, s, 1)
		suite.Must(t, held.RLocker().As(o).LockContext(ctx))
		for name, tt := range map[string]struct {
			l    zksync.Locker
			want error
		}{
			"ErrClosed":            {zksync.NewMutex(closed, "/l"), zksync.ErrClosed},
			"ErrInvalidPath":       {zksync.NewMutex(s, "l"), zksync.ErrInvalidPath},
			"ErrSequenceExhausted": {zksync.NewMutex(s, "/full"), zksync.ErrSequenceExhausted},
			"ErrNoAuth":            {zksync.NewMutex(s, "/private"), zksync.ErrNoAuth},
			"ErrDeadlock":          {held.As(o), zksync.ErrDeadlock},
			"ErrLost":              {lost.As(o), zksync.ErrLost},
			"option":               {zksync.NewMutex(s, "/l", zksync.WithHandoff(-1)), nil},
		} {
			err, _ := suite.PanicOf(tt.l.Lock).(error)
			suite.IsError(t, err)
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(comment, name) {
				t.Errorf("the comment of Lock does not name %s, with which it panics", name)
			}
		}
		suite.IsError(t, lost.As(o).UnlockContext(ctx), zksync.ErrLost)
		suite.Must(t, held.RLocker().As(o).UnlockContext(ctx))
	})
}
