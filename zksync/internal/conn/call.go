package conn

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Outcome is what an error says of the request.
type Outcome int

const (
	// Answered means that a server said so, and the request did what the error
	// says.
	Answered Outcome = iota
	// NotSent means that the request did not leave; trying again is safe.
	NotSent
	// Unknown means that it may have been carried out, or may be yet.
	Unknown
)

// Classify tells what err says of the request that returned it. An error that is
// not known to be definite is Unknown: the client returns the network's error when
// a write fails (conn.go:754), and makes a new error of each server code that it
// has no name for (constants.go:154).
func Classify(err error) Outcome {
	var size *SizeError
	switch {
	case err == nil, errors.As(err, &size): // it is refused here, as by a server
		return Answered
	case errors.Is(err, zk.ErrNoServer), errors.Is(err, ErrClosed),
		errors.Is(err, zk.ErrSessionExpired): // a server told before we are: the next session may ask again
		return NotSent
	}
	for _, e := range definite {
		if errors.Is(err, e) {
			return Answered
		}
	}
	switch Code(err) {
	case codeUnimplemented, codeQuotaExceeded:
		return Answered
	case codeThrottled:
		return NotSent
	}
	return Unknown
}

var definite = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNotEmpty,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrInvalidFlags,
	zk.ErrBadArguments, zk.ErrAuthFailed,
}

const (
	codeUnimplemented = -6
	codeQuotaExceeded = -125
	codeThrottled     = -127
)

// Code returns the number in the client's text for a server code it has no
// name for, or 0.
func Code(err error) int {
	const prefix = "unknown error: "
	if err == nil || !strings.HasPrefix(err.Error(), prefix) {
		return 0
	}
	n, _ := strconv.Atoi(err.Error()[len(prefix):])
	return n
}

// Unimplemented reports whether the server does not know the operation.
func Unimplemented(err error) bool { return Code(err) == codeUnimplemented }

// proves reports whether an answer of this kind came from the quorum: success,
// and the refusals that are transactions of their own.
func proves(err error) bool {
	return err == nil || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) ||
		errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNotEmpty)
}

// Ran says which state a request was made under: Before it was handed to the
// client, After its answer came. Equal sessions prove which one ran it. The client
// keeps requests that it has not sent, and sends them under the next session when
// theirs expires (conn.go:435-437, 500).
type Ran struct{ Before, After State }

// Session is the session that ran the request, or 0 when that is not sure.
func (r Ran) Session() int64 {
	if r.Before.Session == r.After.Session {
		return r.Before.Session
	}
	return 0
}

// do makes one request of a size, and blocks until it is answered, flushed or the
// client is closed: whoever can't wait calls it in a goroutine of its own, which
// then owns the late answer. A request that is too large is not made: *SizeError.
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

func (c *Conn) doUnbound(quorum bool, f func(zc *zk.Conn) error) (ran Ran, err error) {
	c.refresh()
	c.mu.Lock()
	zc, closed := c.link.zc, c.closedLocked()
	ran.Before = c.state
	c.mu.Unlock()
	if closed != nil {
		return ran, closed
	}
	c.request.Add(1)
	start := time.Now()
	err = f(zc)
	c.refresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	ran.After = c.state
	if quorum && proves(err) && ran.Session() != 0 {
		c.answered = time.Now()
		c.contact = later(c.contact, start)
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

// Create makes one node for each path, in one transaction if there are
// several. flags as in package zk. It returns the paths made.
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

// CanCreate returns a *SizeError if Create would.
func (c *Conn) CanCreate(paths []string, data []byte, acl []zk.ACL) error {
	return c.fits(sizeOf(creates(paths, data, 0, acl)...))
}

// CreateBeside makes an ephemeral node, in one transaction with a check that
// another node is there: zk.ErrNoNode if it is not.
func (c *Conn) CreateBeside(node, path string, data []byte, acl []zk.ACL) (Ran, error) {
	_, ran, err := c.multi(
		&zk.CheckVersionRequest{Path: node, Version: -1},
		&zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: zk.FlagEphemeral},
	)
	return ran, err
}

// CreateParent makes a container node, or a plain one where the server has no
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

// Delete removes one node, whatever its version.
func (c *Conn) Delete(path string) (Ran, error) {
	op := &zk.DeleteRequest{Path: path, Version: -1}
	return c.do(true, sizeOf(op), func(zc *zk.Conn) error { return zc.Delete(path, -1) })
}

// DeleteAll removes all of the nodes, whatever their versions, or none.
func (c *Conn) DeleteAll(paths []string) (Ran, error) {
	ops := make([]any, len(paths))
	for i, p := range paths {
		ops[i] = &zk.DeleteRequest{Path: p, Version: -1}
	}
	_, ran, err := c.multi(ops...)
	return ran, err
}

// SetAt writes a node's data if that has the version; -1 is any. zk.ErrBadVersion
// means that it has another one.
func (c *Conn) SetAt(path string, data []byte, version int32) (stat *zk.Stat, ran Ran, err error) {
	op := &zk.SetDataRequest{Path: path, Data: data, Version: version}
	ran, err = c.do(true, sizeOf(op), func(zc *zk.Conn) (err error) {
		stat, err = zc.Set(path, data, version)
		return err
	})
	return stat, ran, err
}

// SetAll writes to all of the nodes if each has its version, or to none: zk.ErrBadVersion or zk.ErrNoNode. It returns their new Stats.
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

// Replace makes an ephemeral node and removes another, whose data has the
// version, in one transaction: zk.ErrNodeExists, zk.ErrNoNode or
// zk.ErrBadVersion, and nothing is done, if that can't be.
func (c *Conn) Replace(old string, version int32, path string, data []byte, acl []zk.ACL) (Ran, error) {
	_, ran, err := c.multi(
		&zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: zk.FlagEphemeral},
		&zk.DeleteRequest{Path: old, Version: version},
	)
	return ran, err
}

// Children lists the names below path.
func (c *Conn) Children(path string) (names []string, ran Ran, err error) {
	ran, err = c.do(false, sizeRead(path), func(zc *zk.Conn) (err error) {
		names, _, err = zc.Children(path)
		return err
	})
	return names, ran, err
}

// Stat returns the Stat of path; zk.ErrNoNode where there is no node.
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

// Sync brings the server connected to up to date with its leader.
func (c *Conn) Sync(path string) (Ran, error) {
	return c.do(false, sizeRead(path), func(zc *zk.Conn) error {
		_, err := zc.Sync(path)
		return err
	})
}

// Check asks the quorum, in one transaction, whether all of the nodes exist.
// An answer, whatever it says, proves that the session lives; gone is the
// first node that does not exist, or -1. Without permission to read a node
// nothing is said of those after it.
func (c *Conn) Check(paths ...string) (gone int, ran Ran, err error) {
	at, why, ran, err := c.check(paths)
	if errors.Is(why, zk.ErrNoNode) {
		return at, ran, err
	}
	return -1, ran, err
}

// check is Check, and says which node ended the transaction, and why: of those
// before it, all exist, and of those after it nothing is known. zk.ErrNoAuth is
// said of a node that exists.
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
