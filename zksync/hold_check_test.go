package zksync_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// A transaction behind Hold.Check is carried out while the lock is held, and not after
// its loss or its release.
func TestCheck(t *testing.T) {
	suite.EachSession(t, func(t *testing.T, z *suite.Ground) {
		ctx, s, c := suite.Context(t), z.Dial(t), z.Raw(t)
		p := z.Path(t)
		suite.MakePath(t, c, p+"/data")
		q := p + "/data/locks"
		for name, tt := range map[string]struct {
			hold  func() (*zksync.Hold, error)
			nodes int
		}{
			"mutex":  {func() (*zksync.Hold, error) { return zksync.NewMutex(s, q).Hold(ctx) }, 1},
			"kazoo":  {func() (*zksync.Hold, error) { return zksync.NewMutex(s, q, zksync.WithKazooName()).Hold(ctx) }, 2},
			"read":   {func() (*zksync.Hold, error) { return zksync.NewRWMutex(s, q).RLocker().Hold(ctx) }, 1},
			"permit": {func() (*zksync.Hold, error) { return zksync.NewSemaphore(s, q, 3).Hold(ctx, 2) }, 1},
			"multi": {func() (*zksync.Hold, error) {
				return zksync.NewMulti(zksync.NewMutex(s, q), zksync.NewMutex(s, q+"-2"), zksync.NewMutex(s, q+"-3")).Hold(ctx)
			}, 3},
		} {
			t.Run(name, func(t *testing.T) {
				write := func(h *zksync.Hold, by *zk.Conn) error {
					_, err := by.Multi(append(h.Check(), &zk.SetDataRequest{Path: p + "/data", Data: []byte(name), Version: -1})...)
					return err
				}
				version := func() int32 {
					_, st, err := c.Get(p + "/data")
					suite.Must(t, err)
					return st.Version
				}
				was := version()
				h, err := tt.hold()
				suite.Must(t, err)
				checks := h.Check()
				if len(checks) != tt.nodes {
					t.Errorf("%d checks, want %d", len(checks), tt.nodes)
				}
				if first := checks[0].(*zk.CheckVersionRequest); first.Path != h.Node() || first.Version != -1 {
					t.Errorf("%+v", first)
				}
				suite.Must(t, write(h, s.Conn()))
				suite.Must(t, write(h, c)) // whoever asks
				if now := version(); now != was+2 {
					t.Errorf("version %d, was %d", now, was)
				}
				clear(checks) // the caller's
				suite.Must(t, h.Release(ctx))
				if err := write(h, s.Conn()); err != zk.ErrNoNode {
					t.Errorf("after the release: %v", err)
				}

				h, err = tt.hold()
				suite.Must(t, err)
				ops := h.Check()
				suite.Must(t, c.Delete(ops[len(ops)-1].(*zk.CheckVersionRequest).Path, -1))
				if err := write(h, s.Conn()); err != zk.ErrNoNode {
					t.Errorf("after the loss: %v", err)
				}
				if now := version(); now != was+2 {
					t.Errorf("written to by a holder that was late: version %d", now)
				}
				suite.IsError(t, h.Release(ctx), zksync.ErrLost)
			})
		}
	}, suite.Smoke)
}

// The nodes of a hold are named by their full paths, whatever the root of the session's
// locks.
func TestCheckBelowARoot(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		s := z.Dial(t, zksync.WithChroot(z.Path(t)))
		suite.Must(t, zksync.NewMutex(s, "/a").Do(suite.Context(t), func(_ context.Context, h *zksync.Hold) error {
			_, err := s.Conn().Multi(h.Check()...)
			return err
		}))
	})
}
