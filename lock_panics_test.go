package zksync_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Lock has no error to return. Each one that it panics with is in its comment.
func TestLockPanicsWithWhatItsCommentNames(t *testing.T) {
	text, err := os.ReadFile("zksync/locker.go")
	ok(t, err)
	_, comment, _ := strings.Cut(string(text), "// Lock waits until")
	comment, _, found := strings.Cut(comment, "// Unlock gives")
	if !found {
		t.Fatal("no comment of Lock")
	}
	inVirtualTime(t, func(t *testing.T, srv *zktest.Server) {
		ctx := short(t)
		s, closed := via(t, srv.Dial), via(t, srv.Dial)
		ok(t, closed.Close())
		free(t, zksync.NewMutex(s, "/full"))
		ok(t, srv.SetSequence("/full", -1))
		_, err := s.Conn().Create("/private", nil, 0, zk.DigestACL(zk.PermAll, "user", "secret"))
		ok(t, err)
		o := zksync.NewOwner("o")
		held, lost := zksync.NewRWMutex(s, "/held"), zksync.NewMutex(s, "/lost")
		ok(t, lost.As(o).LockContext(ctx))
		srv.Expire(s.ID())
		lostBy(t, s, 1)
		ok(t, held.RLocker().As(o).LockContext(ctx))
		for name, tt := range map[string]struct {
			l    zksync.Locker
			want error
		}{
			"ErrClosed":            {zksync.NewMutex(closed, "/l"), zksync.ErrClosed},
			"ErrInvalidPath":       {zksync.NewMutex(s, "l"), zksync.ErrInvalidPath},
			"ErrSequenceExhausted": {zksync.NewMutex(s, "/full"), zksync.ErrSequenceExhausted},
			"zk.ErrNoAuth":         {zksync.NewMutex(s, "/private"), zk.ErrNoAuth},
			"ErrDeadlock":          {held.As(o), zksync.ErrDeadlock},
			"ErrLost":              {lost.As(o), zksync.ErrLost},
			"option":               {zksync.NewMutex(s, "/l", zksync.WithHandoff(-1)), nil},
		} {
			err, _ := panicOf(tt.l.Lock).(error)
			isError(t, err)
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(comment, name) {
				t.Errorf("the comment of Lock does not name %s, with which it panics", name)
			}
		}
		isError(t, lost.As(o).UnlockContext(ctx), zksync.ErrLost)
		ok(t, held.RLocker().As(o).UnlockContext(ctx))
	})
}
