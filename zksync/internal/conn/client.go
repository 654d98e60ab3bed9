package conn

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// clientCarrier makes requests with the calls of a program's client. Such a client
// carries a request over to its next connection, and even to its next session.
type clientCarrier struct{ c *Conn }

func (v clientCarrier) carry(rq *request) (answer, Ran, error) {
	a, ran, err := v.with(rq.op, rq.call)
	return a, ran, rq.refused(a.parts, err)
}

// with makes a request of a kind with calls of the client.
func (v clientCarrier) with(op wire.Op, f func(zc *zk.Conn) (answer, error)) (a answer, ran Ran, err error) {
	c := v.c
	c.refresh()
	c.mu.Lock()
	zc, closed := c.link.zc, c.closedLocked()
	ran.Before = c.state
	c.mu.Unlock()
	if closed != nil {
		return a, ran, closed
	}
	c.requests.Add(1)
	sent := time.Now()
	a, err = f(zc)
	c.refresh()
	c.mu.Lock()
	defer c.mu.Unlock()
	ran.After = c.state
	c.provedLocked(op, err, ran.Session(), sent)
	return a, ran, err
}

// call makes the request with a call of a client.
func (rq *request) call(zc *zk.Conn) (a answer, err error) {
	var stat *zk.Stat
	switch rq.op {
	case wire.OpMulti:
		if slices.ContainsFunc(rq.ops, isContainer) {
			return a, toError(wire.CodeUnimplemented)
		}
		a.parts, err = zc.Multi(rq.ops...)
	case wire.OpCreate:
		a.path, err = zc.Create(rq.path, rq.data, rq.flags, rq.acl)
	case wire.OpCreateContainer:
		// The result is not used: the client may write it at this moment, if it is
		// being closed (conn.go:1098-1099).
		_, err = zc.CreateContainer(rq.path, nil, zk.FlagContainer, rq.acl)
	case wire.OpSetData:
		stat, err = zc.Set(rq.path, rq.data, rq.version)
	case wire.OpDelete:
		err = zc.Delete(rq.path, rq.version)
	case wire.OpSync:
		_, err = zc.Sync(rq.path)
	case wire.OpExists:
		stat, a.events, err = statOf(zc, rq.path, rq.watch)
	case wire.OpGetData:
		a.data, stat, a.events, err = dataOf(zc, rq.path, rq.watch)
	case wire.OpGetChildren2:
		a.names, stat, a.events, err = childrenOf(zc, rq.path, rq.watch)
	default:
		panic(fmt.Sprintf("zksync: the client makes no %v", rq.op))
	}
	if stat != nil {
		a.stat = *stat
	}
	return a, err
}

// isContainer reports whether an operation creates a container, which the client can't
// do in a transaction (structs.go:372-374).
func isContainer(op any) bool { _, is := op.(*Container); return is }

// statOf returns the Stat of a node, and sets a watch on it if watch is true, whether it
// exists or not.
func statOf(zc *zk.Conn, path string, watch bool) (stat *zk.Stat, events <-chan zk.Event, err error) {
	var ok bool
	if watch {
		ok, stat, events, err = zc.ExistsW(path)
	} else {
		ok, stat, err = zc.Exists(path)
	}
	if err == nil && !ok {
		return nil, events, zk.ErrNoNode
	}
	return stat, events, err
}

// dataOf reads a node, and sets a watch on it if watch is true.
func dataOf(zc *zk.Conn, path string, watch bool) (data []byte, stat *zk.Stat, events <-chan zk.Event, err error) {
	if watch {
		return zc.GetW(path)
	}
	data, stat, err = zc.Get(path)
	return data, stat, nil, err
}

// childrenOf reads the names below a node, and sets a watch on them if watch is true.
func childrenOf(zc *zk.Conn, path string, watch bool) (names []string, stat *zk.Stat, events <-chan zk.Event, err error) {
	if watch {
		return zc.ChildrenW(path)
	}
	names, stat, err = zc.Children(path)
	return names, stat, nil, err
}
