package zksync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// tooLarge checks that err is a *SizeError.
func tooLarge(t testing.TB, err error) *zksync.SizeError {
	t.Helper()
	var size *zksync.SizeError
	if !errors.As(err, &size) {
		t.Fatalf("error %v, want a *SizeError", err)
	}
	if size.Size <= size.Limit || size.Limit > 1_048_575 ||
		!strings.Contains(err.Error(), fmt.Sprint(size.Size)) || !strings.Contains(err.Error(), fmt.Sprint(size.Limit)) {
		t.Errorf("%v: %+v", err, size)
	}
	if e := suite.IsError(t, err); e.ErrorType() != "request_too_large" {
		t.Errorf("error type %s", e.ErrorType())
	}
	return size
}

// locksOf returns n locks with paths of some bytes below root.
func locksOf(s *zksync.Session, root string, n, size int) []zksync.Locker {
	var locks []zksync.Locker
	for i := range n {
		locks = append(locks, zksync.NewMutex(s, fmt.Sprintf("%s/%0*d", root, size-len(root)-1, i)))
	}
	return locks
}

// A Multi that is too large for one transaction fails before it asks ZooKeeper for
// anything, and names its size; the largest that is not works. What its nodes publish
// moves it byte by byte over the end of the client's buffer, where the client would
// end the process.
func TestMultiTooLarge(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		n, size, identities := 1100, 50, 40
		if z.Adapted {
			n, size, identities = 600, 2000, 1
		}
		root, c := fmt.Sprintf("/%d", len(z.Path(t))), z.Raw(t)
		for identity := range identities {
			s := z.Dial(t, zksync.WithIdentity(strings.Repeat("i", identity+1)))
			m, was := zksync.NewMulti(locksOf(s, root, n, size)...), s.Stats()
			for _, call := range suite.Calls {
				_, err := call.Take(suite.Context(t), m)
				tooLarge(t, err)
			}
			tooLarge(t, suite.PanicsWith(t, m.Lock))
			if m.TryLock() {
				t.Error("TryLock")
			}
			if now := s.Stats(); now.Requests != was.Requests || now.Disconnects != 0 || now.CleanupPending != 0 {
				t.Errorf("%+v, was %+v", now, was)
			}
		}
		if there := suite.Children(t, c, root); len(there) != 0 {
			t.Errorf("left: %d nodes below %s", len(there), root)
		}
	}, suite.Timeless)
}

// The largest Multi that is let pass is carried out, and none of the requests that
// follow for its nodes is too large. A lock more is refused.
func TestLargestMulti(t *testing.T) {
	suite.Long(t)
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		n, size := 300, 400
		if z.Adapted {
			n, size = 500, 2000
		}
		ctx, root, s := suite.Context(t), z.Path(t), z.Dial(t)
		locks := locksOf(s, root, n, size)
		limit := 0
		for ; ; n-- {
			m := zksync.NewMulti(locks[:n]...)
			h, err := m.Hold(ctx)
			if err != nil {
				limit = tooLarge(t, err).Limit
				continue
			}
			suite.Must(t, h.Err())
			suite.Must(t, h.Release(ctx))
			suite.Must(t, m.LockContext(ctx))
			suite.Must(t, m.UnlockContext(ctx))
			break
		}
		t.Logf("%d locks of %d bytes", n, limit)
		if limit == 0 {
			t.Error("none was too large")
		}
		// A server ends the connection on which a request is too large, each time that it
		// is sent: then none of the calls would have come to an end.
		if st := s.Stats(); st.Losses != 0 || st.Disconnects > 1 {
			t.Errorf("%+v", st)
		}
	})
}

// The access list counts, too.
func TestMultiTooLargeByItsAccessList(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t)
		list := zksync.WithACL(zk.ACL{Perms: zk.PermAll, Scheme: "digest", ID: strings.Repeat("i", 30<<10)})
		var locks []zksync.Locker
		for i := range 40 {
			locks = append(locks, zksync.NewMutex(s, fmt.Sprint(z.Path(t), "-", i), list))
		}
		_, err := zksync.NewMulti(locks...).Hold(suite.Context(t))
		if size := tooLarge(t, err); size.Size < 40*30<<10 {
			t.Errorf("%+v", size)
		}
	})
}
