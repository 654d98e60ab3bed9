package zksync

import (
	"bytes"
	"context"
	"os"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// observer connects a session's table of locks with the logger and the tracer.
type observer struct{ s *Session }

// use makes the locks of the session use a connection.
func (s *Session) use(c *conn.Conn) {
	s.conn = c
	s.table.Config = local.Config{
		Conn:     c,
		Observer: observer{s},
		Writes:   s.mayWrite,
		Peers:    s.cfg.tracer.Blocked != nil,
		Told:     s.cfg.tracer.HoldEnd != nil || s.cfg.tracer.ReleaseStart != nil || s.cfg.tracer.ReleaseEnd != nil,
		Strange:  s.strange,
		Stays:    s.stays,
		During:   s.during,
	}
}

func (o observer) Lost(reason error) error { return lost(reason) }
func (o observer) Later(f func())          { o.s.events.push(f) }

// Says returns the data of a node that serves a call. All nodes that name no call share
// the data, which is not changed.
func (o observer) Says(n local.Name) []byte {
	s := o.s
	switch {
	case s.cfg.noInfo:
		return nil
	case n == (local.Name{}):
		return s.info
	}
	return s.says(n)
}

// says returns the data of a node that serves a call.
func (s *Session) says(n local.Name) []byte {
	return znode.Info{
		Identity: s.cfg.identity, Host: s.host, PID: os.Getpid(),
		OwnerID: n.OwnerID, OwnerName: n.Owner, TraceParent: n.Trace,
	}.Encode()
}

// Pending reports to the tracer that the deletion of a node has begun or is settled. The
// deletion does not wait for the tracer, which may wait for it in Close or Shutdown.
func (o observer) Pending(change int) {
	switch {
	case o.s.more == nil:
	case change > 0:
		o.s.events.push(o.s.more)
	default:
		o.s.events.push(o.s.less)
	}
}

func (o observer) Refused(node string, open bool, err error) {
	what := "zksync: ZooKeeper refuses to delete a lock's node, which blocks the lock until the session ends"
	if open {
		what = "zksync: ZooKeeper refuses to tell whether a lock's node was made, which may block the lock until the session ends"
	}
	o.s.logger().Error(what, "node", node, "error", err)
}

// LostUnseen logs the loss of a lock without a handle, unless the program itself has
// caused it with Close.
func (o observer) LostUnseen(path, node string, err error) {
	if closed(err) {
		return
	}
	o.s.logger().Error("zksync: a lock without a handle was lost: its holder does not know", "path", path, "node", node, "error", err)
}

// Limits logs that the limits differ, once for each session and path.
func (o observer) Limits(path string, limit, smallest int64) {
	if o.s.differs.first(path) {
		o.s.logger().Warn("zksync: a semaphore is used with different limits: the smallest counts",
			"path", path, "limit", limit, "smallest", smallest)
	}
}

func (o observer) Running(change int) {
	if change > 0 {
		o.s.events.begin()
	} else {
		o.s.events.end()
	}
}

// parent asks the tracer for a traceparent, where nodes carry one.
func (s *Session) parent(ctx context.Context) (tp string) {
	if f := s.cfg.tracer.Parent; f != nil && !s.cfg.noInfo {
		defer s.caught()
		tp = f(ctx)
	}
	return tp
}

// mayWrite reports whether the session is certain to have the permission to write to
// nodes with the access list. A client knows only the credentials that it was given.
func (s *Session) mayWrite(acl []zk.ACL) bool {
	for _, a := range acl {
		switch {
		case a.Perms&zk.PermWrite == 0:
		case a.Scheme == "world", a.Scheme == "auth": // auth stands for the client that made the node
			return true
		case a.Scheme == "digest":
			for _, cred := range s.cfg.auth {
				if user, password, ok := bytes.Cut(cred.Cred, []byte(":")); ok && cred.Scheme == "digest" &&
					a.ID == zk.DigestACL(0, string(user), string(password))[0].ID {
					return true
				}
			}
		}
	}
	return false
}
