package zksync

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Revoke asks the holder of a lock node for the lock: see Hold.Revoked, and
// makeRevocable in Curator. It is only a request, and only a Hold or a Do learns of
// it: a holder by Lock, LockContext or TryLock never does.
//
// On a node of this library it adds "revoke":true to the node's data, so that the
// holder's name stays readable. On every other node, and where the data is not
// this library's or can't be read, Curator's word "__REVOKE__" replaces the data.
// A node that has the request already is not written to again.
//
// node is a full path, as Inspect and Hold.Node return it. A path that is not a lock
// node's is refused. The error is an *Error; it Is zk.ErrNoNode when the node is
// gone. If ctx ends first, the request may have been made or not.
func (s *Session) Revoke(ctx context.Context, node string) error {
	s.check()
	for p := (queue.Pause{}); ; p.Wait(ctx) {
		err := s.onNode(ctx, "revoke", node, func() error { return s.askBack(ctx, node) })
		if !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
		// Somebody else wrote to the node after it was read, as when the name of
		// a new holder is put there.
	}
}

// askBack makes one try to write the request into a node. A write whose answer
// was lost shows in the next one.
func (s *Session) askBack(ctx context.Context, node string) error {
	data, stat, err := s.conn.Get(node)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		_, _, err = s.conn.SetAt(node, []byte(znode.RevokeWord), -1)
		return err
	case err != nil:
		return err
	case znode.IsRevoke(data):
		return nil
	case ctx.Err() != nil: // the call has returned
		return ctxErr(ctx)
	}
	word := []byte(znode.RevokeWord)
	if name, _ := znode.Parse(path.Base(node)); name.Form == znode.FormOwn {
		if named, ok := znode.AddRevoke(data); ok {
			word = named
		}
	}
	_, _, err = s.conn.SetAt(node, word, stat.Version)
	return err
}

// Break deletes a lock node, whoever made it: the holder loses the lock, or the
// waiter its place in line. A holder without a Hold is not told. Break is for an
// operator who knows that the holder is gone. If the holder may be alive, only
// fences stop its late writes. node and the errors are those of Revoke.
func (s *Session) Break(ctx context.Context, node string) error {
	s.check()
	tried := false
	return s.onNode(ctx, "break", node, func() error {
		_, err := s.conn.Delete(node)
		if errors.Is(err, zk.ErrNoNode) && tried {
			err = nil // an earlier try, whose answer was lost, deleted it
		}
		tried = true
		return err
	})
}

func (s *Session) onNode(ctx context.Context, op, node string, f func() error) error {
	_, isLock := znode.Parse(path.Base(node))
	var err error = errNotLockNode
	if isLock && znode.ValidPath(node) == nil {
		err = s.ask(ctx, f)
	}
	if err != nil {
		return &Error{Op: op, Node: node, Err: err}
	}
	return nil
}
