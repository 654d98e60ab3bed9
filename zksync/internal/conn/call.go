package conn

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// maxOutstanding bounds the calls that wait for an answer at one time. The client
// has no bound of its own: it queues 16 requests in a channel, and every further
// call blocks in the send, without a limit (conn.go:40, 918).
const maxOutstanding = 1024

// Ran says in which states a request was made. On a client of the Conn's own both are
// the state of the one connection that carried the request; if there was none, both are
// the state at that moment. On a program's client, Before is the state when the request
// was handed to the client, and After the state when its answer came. If the sessions
// are equal, that session ran it. If not, either may have: when a session expires, the
// client sends the requests that are still queued in the next session (conn.go:435-437,
// 500).
type Ran struct{ Before, After State }

// Session returns the session that ran the request, or 0 if that is not certain.
func (r Ran) Session() int64 {
	if r.Before.Session == r.After.Session {
		return r.Before.Session
	}
	return 0
}

// do makes one request. It blocks until the request is answered or has failed with
// its connection, or until the Conn is closed. A caller that can't wait calls do in a
// goroutine of its own, which then has to deal with a late answer. A request that is
// too large is not made, and the error is a *SizeError.
func (c *Conn) do(rq request) (answer, Ran, error) {
	if err := c.fits(rq.size()); err != nil {
		return answer{}, Ran{}, err
	}
	if err := c.slots.Acquire(c.life, 1); err != nil {
		return answer{}, Ran{}, ErrClosed
	}
	defer c.slots.Release(1)
	return c.doUnbound(rq)
}

// doUnbound does the same as do for requests that are made even if maxOutstanding others
// wait, and whose size is known to fit.
func (c *Conn) doUnbound(rq request) (answer, Ran, error) {
	by, ran, err := c.carrier()
	if err != nil {
		return answer{}, ran, err
	}
	return by.carry(&rq)
}

// carrier returns what carries a request at this moment. If there is no connection, or
// if the Conn is closed, nothing does, and the request was not sent.
func (c *Conn) carrier() (carrier, Ran, error) {
	if c.foreign != nil {
		return clientCarrier{c}, Ran{}, nil
	}
	if p := c.pipe.Load(); p != nil {
		return p, Ran{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ran := Ran{Before: c.state, After: c.state}
	if err := c.closedLocked(); err != nil {
		return nil, ran, err
	}
	return nil, ran, errNotSent
}

// proved records the result of a request that a session has run.
func (c *Conn) proved(op wire.Op, err error, session int64, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.provedLocked(op, err, session, sent)
}

// provedLocked does the same as proved. Only the answer to a write of the quorum, in the
// session that exists, proves that this session lives.
func (c *Conn) provedLocked(op wire.Op, err error, session int64, sent time.Time) {
	if op.Write() && proves(err) && session != 0 && session == c.state.Session {
		c.clock.proved(sent, time.Now())
	}
}

// multi carries out several operations in one transaction.
func (c *Conn) multi(ops ...any) (res []zk.MultiResponse, ran Ran, err error) {
	a, ran, err := c.do(request{op: wire.OpMulti, ops: ops})
	return a.parts, ran, err
}

// Create creates one node for each path, in one transaction if there are several.
// flags are those of package zk. It returns the paths of the nodes.
func (c *Conn) Create(paths []string, data []byte, flags int32, acl []zk.ACL) (made []string, ran Ran, err error) {
	made, _, ran, err = c.Make(paths, data, flags, acl)
	return made, ran, err
}

// Make does the same as Create, and returns the czxid of the nodes: that of their
// transaction, which the servers put into the answer. It is 0 with a program's client,
// which drops it.
func (c *Conn) Make(paths []string, data []byte, flags int32, acl []zk.ACL) (made []string, czxid int64, ran Ran, err error) {
	rq := request{op: wire.OpMulti}
	if len(paths) == 1 {
		rq = request{op: wire.OpCreate, path: paths[0], data: data, acl: acl, flags: flags}
	} else {
		rq.ops = creates(paths, data, flags, acl)
	}
	a, ran, err := c.do(rq)
	if err != nil {
		return nil, 0, ran, err
	}
	return rq.made(&a), a.zxid, ran, nil
}

// made returns the paths of the nodes that a request has created.
func (rq *request) made(a *answer) (made []string) {
	if rq.op == wire.OpCreate {
		return []string{a.path}
	}
	for _, r := range a.parts {
		made = append(made, r.String)
	}
	return made
}

// CanCreate returns the *SizeError that Create would return, or nil.
func (c *Conn) CanCreate(paths []string, data []byte, acl []zk.ACL) error {
	return c.fits(sizeOf(creates(paths, data, 0, acl)...))
}

// CreateBeside creates an ephemeral node if another node exists, in one transaction.
// It fails with zk.ErrNoNode if the other node does not exist.
func (c *Conn) CreateBeside(node, path string, data []byte, acl []zk.ACL) (Ran, error) {
	_, ran, err := c.multi(
		&zk.CheckVersionRequest{Path: node, Version: -1},
		&zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: zk.FlagEphemeral},
	)
	return ran, err
}

// CreateParent creates a container node, or a plain one if the server has no
// containers.
func (c *Conn) CreateParent(path string, acl []zk.ACL) error {
	_, _, err := c.do(request{op: wire.OpCreateContainer, path: path, acl: acl, flags: zk.FlagContainer})
	if Unimplemented(err) {
		_, _, err = c.Create([]string{path}, nil, 0, acl)
	}
	return err
}

// Delete deletes one node, whatever its version.
func (c *Conn) Delete(path string) (Ran, error) {
	_, ran, err := c.do(request{op: wire.OpDelete, path: path, version: -1})
	return ran, err
}

// DeleteAll deletes all of the nodes, whatever their versions, or none.
func (c *Conn) DeleteAll(paths []string) (Ran, error) {
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.DeleteRequest{Path: p, Version: -1}
	}
	_, ran, err := c.multi(ops...)
	return ran, err
}

// SetAt writes a node's data if that has the version; -1 is any. It fails with
// zk.ErrBadVersion if the data has another version.
func (c *Conn) SetAt(path string, data []byte, version int32) (stat *zk.Stat, ran Ran, err error) {
	a, ran, err := c.do(request{op: wire.OpSetData, path: path, data: data, version: version})
	return &a.stat, ran, err
}

// SetAll writes to all of the nodes if the data of each has its version. Otherwise it
// writes to none, and fails with zk.ErrBadVersion or zk.ErrNoNode. It returns their new
// Stats.
func (c *Conn) SetAll(paths []string, data [][]byte, versions []int32) (stats []zk.Stat, ran Ran, err error) {
	if len(paths) == 1 {
		stat, ran, err := c.SetAt(paths[0], data[0], versions[0])
		if err != nil {
			return nil, ran, err
		}
		return []zk.Stat{*stat}, ran, nil
	}
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.SetDataRequest{Path: p, Data: data[i], Version: versions[i]}
	}
	res, ran, err := c.multi(ops...)
	if err != nil {
		return nil, ran, err
	}
	for _, r := range res {
		stats = append(stats, *r.Stat)
	}
	return stats, ran, nil
}

// Replace creates an ephemeral node and deletes the one at old, if the data of that
// has the version, in one transaction. Otherwise it does nothing, and fails with
// zk.ErrNodeExists, zk.ErrNoNode or zk.ErrBadVersion.
func (c *Conn) Replace(old string, version int32, path string, data []byte, acl []zk.ACL) (Ran, error) {
	_, ran, err := c.multi(
		&zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: zk.FlagEphemeral},
		&zk.DeleteRequest{Path: old, Version: version},
	)
	return ran, err
}

// Children returns the names below path.
func (c *Conn) Children(path string) (names []string, ran Ran, err error) {
	a, ran, err := c.do(request{op: wire.OpGetChildren2, path: path})
	return a.names, ran, err
}

// Stat returns the Stat of a node. It fails with zk.ErrNoNode if there is none.
func (c *Conn) Stat(path string) (stat *zk.Stat, ran Ran, err error) {
	a, ran, err := c.do(request{op: wire.OpExists, path: path})
	return &a.stat, ran, err
}

// Get returns a node's data and Stat.
func (c *Conn) Get(path string) (data []byte, stat *zk.Stat, err error) {
	a, _, err := c.do(request{op: wire.OpGetData, path: path})
	return a.data, &a.stat, err
}

// Sync waits until the connected server is up to date with its leader.
func (c *Conn) Sync(path string) (Ran, error) {
	_, ran, err := c.do(request{op: wire.OpSync, path: path})
	return ran, err
}

// Check asks the quorum, in one transaction, whether all of the nodes exist. Any
// answer proves that the session lives. gone is the index of the first node that does
// not exist, or -1. If the session may not read a node, the answer says nothing about
// the nodes after it.
func (c *Conn) Check(paths ...string) (gone int, ran Ran, err error) {
	at, why, ran, err := c.check(paths)
	if errors.Is(why, zk.ErrNoNode) {
		return at, ran, err
	}
	return -1, ran, err
}

// check does the same as Check, and returns which node ended the transaction, and why. The nodes
// before that one exist; about those after it nothing is known. zk.ErrNoAuth means
// that the node exists.
func (c *Conn) check(paths []string) (at int, why error, ran Ran, err error) {
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.CheckVersionRequest{Path: p, Version: -1}
	}
	if err := c.fits(sizeMulti(ops)); err != nil {
		return 0, nil, ran, err
	}
	a, ran, err := c.doUnbound(request{op: wire.OpMulti, ops: ops})
	at = slices.IndexFunc(a.parts, func(r zk.MultiResponse) bool { return r.Error != nil })
	if proves(err) {
		err, why = nil, err
	}
	return max(at, 0), why, ran, err
}
