package sdktest_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/zklocker/go-zksync/zksync"
)

// A call that has its result before it asks ZooKeeper has its span and its
// metrics, too.
func TestCallsThatFailAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		call              func(ctx context.Context, r *rig, s *zksync.Session) error
		path              string
		mode, try, result string
		errorType         string
	}{
		"invalid path": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			return zksync.NewRWMutex(s, "/").RLocker().LockContext(ctx)
		}, "/", "read", "false", "error", "invalid_path"},
		"option": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			return zksync.NewMutex(s, lockPath, zksync.WithHandoff(-1)).LockContext(ctx)
		}, lockPath, "mutex", "false", "error", "_OTHER"},
		"deadlock": {func(ctx context.Context, r *rig, s *zksync.Session) error {
			o := zksync.NewOwner("o")
			m := zksync.NewMutex(s, lockPath)
			other := zksync.NewMutex(s, "/locks/y")
			ok(t, other.As(o).LockContext(ctx))
			err := zksync.NewMulti(m, other).As(o).LockContext(ctx)
			ok(t, other.As(o).UnlockContext(ctx))
			return err
		}, lockPath + ",/locks/y", "multi", "false", "error", "deadlock"},
		"closed": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			ok(t, s.Close())
			return zksync.NewMutex(s, lockPath).LockContext(ctx)
		}, lockPath, "mutex", "false", "error", "closed"},
		"not connected": {func(_ context.Context, r *rig, s *zksync.Session) error {
			r.srv.Refuse()
			r.srv.Disconnect(s.ID())
			time.Sleep(time.Second)
			if zksync.NewMutex(s, lockPath).TryLock() {
				t.Error("locked")
			}
			r.srv.Accept()
			return context.Canceled // it has none
		}, lockPath, "mutex", "true", "error", "connection_closed"},
		"too many permits": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			_, err := zksync.NewSemaphore(s, lockPath, 1).TryHold(ctx, 2)
			return err
		}, lockPath, "permit", "true", "busy", ""},
		"given up": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			gone, cancel := context.WithCancel(ctx)
			cancel()
			return zksync.NewSemaphore(s, lockPath, 1).Acquire(gone, 2)
		}, lockPath, "permit", "false", "canceled", ""},
		"no permits": {func(ctx context.Context, _ *rig, s *zksync.Session) error {
			return zksync.NewSemaphore(s, lockPath, 1).Acquire(ctx, 0)
		}, lockPath, "permit", "false", "acquired", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				err := tt.call(context.Background(), r, r.dial())
				if (err == nil) != (tt.result == "acquired") {
					t.Error(err)
				}
				list := r.named("zksync acquire")
				if len(list) == 0 {
					t.Fatal("no span")
				}
				a := list[len(list)-1] // the deadlock's is the second
				wants(t, name, a.Attributes(), map[string]string{
					"zksync.lock.path": tt.path, "zksync.lock.mode": tt.mode, "zksync.lock.try": tt.try,
					"zksync.lock.result": tt.result, "error.type": tt.errorType, "zksync.lock.node": "", "zksync.lock.queue.position": "",
				})
				if bad := a.Status().Code == codes.Error; bad != (tt.result == "error") {
					t.Errorf("status %v", a.Status())
				}
				if n := len(r.named("zksync hold")); n != len(list)-1 {
					t.Errorf("%d holds", n)
				}
				set := "zksync.lock.contended=false,zksync.lock.mode=" + tt.mode + ",zksync.lock.result=" + tt.result
				if tt.errorType != "" {
					set = "error.type=" + tt.errorType + "," + set
				}
				if all := r.points("zksync.lock.acquire.duration"); len(all) != len(list) {
					t.Errorf("durations %v", all)
				} else if _, there := all[set]; !there {
					t.Errorf("durations %v, want one of %s", all, set)
				}
				for set, n := range r.points("zksync.lock.waiting") {
					if n != 0 {
						t.Errorf("%v calls wait: %s", n, set)
					}
				}
			})
		})
	}
}
