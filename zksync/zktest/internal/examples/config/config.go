// Package config keeps the configuration of a program up to date with a node of
// ZooKeeper. It is an example of code that is tested with package zktest.
package config

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Watch calls apply with the data of a node, at once and after each change, until ctx
// ends. While the node does not exist, it waits for it.
func Watch(ctx context.Context, conn *zk.Conn, path string, apply func(data []byte)) error {
	var applied int64 // the transaction whose data was applied
	for ctx.Err() == nil {
		data, stat, changed, err := conn.GetW(path)
		if errors.Is(err, zk.ErrNoNode) {
			var exists bool
			if exists, _, changed, err = conn.ExistsW(path); exists {
				continue // it was made between the two requests
			}
		}
		switch {
		case errors.Is(err, zk.ErrClosing):
			return err
		case err != nil: // there is no connection, or the session is over
			pause(ctx)
			continue
		case stat != nil && stat.Mzxid != applied:
			apply(data)
			applied = stat.Mzxid
		}
		select {
		// The event may also say that the session is over, and the watch with it: the
		// next read looks at the node either way.
		case <-changed:
		case <-ctx.Done():
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
