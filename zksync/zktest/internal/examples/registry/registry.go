// Package registry announces a service in ZooKeeper. It is an example of code that is
// tested with package zktest.
package registry

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Register keeps an ephemeral node of the client's present session at path until ctx ends,
// and then deletes it. Each instance of the service needs a path of its own.
func Register(ctx context.Context, conn *zk.Conn, path, address string) error {
	for ctx.Err() == nil {
		exists, stat, changed, err := conn.ExistsW(path)
		switch {
		case errors.Is(err, zk.ErrClosing):
			return err
		case err != nil: // there is no connection, or the session is over
			pause(ctx)
			continue
		case !exists:
			// Whatever the answer is, the next look at the node tells what stands.
			conn.Create(path, []byte(address), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			pause(ctx)
			continue
		case stat.EphemeralOwner != conn.SessionID():
			// This instance has been started again, and its former session has not
			// timed out yet. Its node will go, and ours is made then.
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return conn.Delete(path, -1)
		}
	}
	return ctx.Err()
}

// pause waits before a request is sent again.
func pause(ctx context.Context) {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
}
