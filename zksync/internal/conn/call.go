package conn

import (
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// maxOutstanding bounds the calls that wait for an answer at one time. The client
// has no bound of its own: it queues 16 requests in a channel, and every further
// call blocks in the send, without a limit (conn.go:40, 918).
const maxOutstanding = 1024

// Ran says in which states a request was made: Before it was handed to the client,
// and After its answer came. If the sessions are equal, that session ran it. If not,
// either may have: when a session expires, the client sends the requests that are
// still queued in the next session (conn.go:435-437, 500).
type Ran struct{ Before, After State }

// Session returns the session that ran the request, or 0 if that is not certain.
func (r Ran) Session() int64 {
	if r.Before.Session == r.After.Session {
		return r.Before.Session
	}
	return 0
}

// do makes one request, which has a size. It blocks until the request is answered or
// has failed with its connection, or until the client is closed. A caller that can't
// wait calls do in a goroutine of its own, which then has to deal with a late answer.
// A request that is too large is not made, and the error is a *SizeError.
func (c *Conn) do(quorum bool, size int, f func(zc *zk.Conn) error) (Ran, error) {
	if err := c.fits(size); err != nil {
		return Ran{}, err
	}
	if err := c.slots.Acquire(c.life, 1); err != nil {
		return Ran{}, ErrClosed
	}
	defer c.slots.Release(1)
	return c.doUnbound(quorum, f)
}

// doUnbound does the same as do for requests that are made even if maxOutstanding others
// wait, and whose size is known to fit.
func (c *Conn) doUnbound(quorum bool, f func(zc *zk.Conn) error) (ran Ran, err error) {
	c.refresh()
	c.mu.Lock()
	zc, closed := c.link.zc, c.closedLocked()
	ran.Before = c.state
	c.mu.Unlock()
	if closed != nil {
		return ran, closed
	}
	c.requests.Add(1)
	sent := time.Now()
	err = f(zc)
	c.refresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	ran.After = c.state
	if quorum && proves(err) && ran.Session() != 0 {
		c.clock.proved(sent, time.Now())
		c.keepMomentLocked()
	}
	return ran, err
}

// multi carries out several operations in one transaction.
func (c *Conn) multi(ops ...any) (res []zk.MultiResponse, ran Ran, err error) {
	ran, err = c.do(true, sizeMulti(ops), func(zc *zk.Conn) (err error) {
		res, err = zc.Multi(ops...)
		return err
	})
	return res, ran, err
}

// Create creates one node for each path, in one transaction if there are several.
// flags are those of package zk. It returns the paths of the nodes.
func (c *Conn) Create(paths []string, data []byte, flags int32, acl []zk.ACL) (made []string, ran Ran, err error) {
	ops := creates(paths, data, flags, acl)
	if len(paths) == 1 {
		made = []string{""}
		ran, err = c.do(true, sizeOf(ops...), func(zc *zk.Conn) (err error) {
			made[0], err = zc.Create(paths[0], data, flags, acl)
			return err
		})
		return made, ran, err
	}
	res, ran, err := c.multi(ops...)
	if err != nil {
		return nil, ran, err
	}
	for _, r := range res {
		made = append(made, r.String)
	}
	return made, ran, nil
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
	op := &zk.CreateRequest{Path: path, Acl: acl}
	_, err := c.do(true, sizeOf(op), func(zc *zk.Conn) error {
		_, err := zc.CreateContainer(path, nil, zk.FlagContainer, acl)
		return err
	})
	if Unimplemented(err) {
		_, _, err = c.Create([]string{path}, nil, 0, acl)
	}
	return err
}

// Delete deletes one node, whatever its version.
func (c *Conn) Delete(path string) (Ran, error) {
	op := &zk.DeleteRequest{Path: path, Version: -1}
	return c.do(true, sizeOf(op), func(zc *zk.Conn) error { return zc.Delete(path, -1) })
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
	op := &zk.SetDataRequest{Path: path, Data: data, Version: version}
	ran, err = c.do(true, sizeOf(op), func(zc *zk.Conn) (err error) {
		stat, err = zc.Set(path, data, version)
		return err
	})
	return stat, ran, err
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
	ran, err = c.do(false, sizeRead(path), func(zc *zk.Conn) (err error) {
		names, _, err = zc.Children(path)
		return err
	})
	return names, ran, err
}

// Stat returns the Stat of a node. It fails with zk.ErrNoNode if there is none.
func (c *Conn) Stat(path string) (stat *zk.Stat, ran Ran, err error) {
	ran, err = c.do(false, sizeRead(path), func(zc *zk.Conn) error {
		ok, st, err := zc.Exists(path)
		if err == nil && !ok {
			err = zk.ErrNoNode
		}
		stat = st
		return err
	})
	return stat, ran, err
}

// Get returns a node's data and Stat.
func (c *Conn) Get(path string) (data []byte, stat *zk.Stat, err error) {
	_, err = c.do(false, sizeRead(path), func(zc *zk.Conn) (err error) {
		data, stat, err = zc.Get(path)
		return err
	})
	return data, stat, err
}

// Sync waits until the connected server is up to date with its leader.
func (c *Conn) Sync(path string) (Ran, error) {
	return c.do(false, sizeRead(path), func(zc *zk.Conn) error {
		_, err := zc.Sync(path)
		return err
	})
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
	ran, err = c.doUnbound(true, func(zc *zk.Conn) error {
		res, err := zc.Multi(ops...)
		at = slices.IndexFunc(res, func(r zk.MultiResponse) bool { return r.Error != nil })
		return err
	})
	if proves(err) {
		err, why = nil, err
	}
	return max(at, 0), why, ran, err
}
