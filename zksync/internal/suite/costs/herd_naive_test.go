package costs_test

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
)

// A waiter is one session that takes a lock once.
type waiter interface {
	// lock returns what gives the lock back.
	lock(ctx context.Context, p string) (unlock func() error, err error)
}

// naive is the first recipe that comes to mind: each waiter watches the lock's node, and
// lists its children again whenever one comes or goes.
type naive struct{ *zk.Conn }

func (c naive) lock(ctx context.Context, p string) (unlock func() error, err error) {
	node, err := c.Create(p+"/naive-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		return nil, err
	}
	for {
		children, _, changed, err := c.ChildrenW(p)
		if err != nil {
			return nil, err
		}
		children = slices.DeleteFunc(children, func(name string) bool { return !strings.HasPrefix(name, "naive-") })
		if slices.Min(children) == path.Base(node) {
			return func() error { return c.Delete(node, -1) }, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// inLine is the library: each waiter watches the node before its own.
type inLine struct{ *zksync.Session }

func (s inLine) lock(ctx context.Context, p string) (unlock func() error, err error) {
	m := zksync.NewMutex(s.Session, p)
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() error { return m.UnlockContext(context.Background()) }, nil
}
