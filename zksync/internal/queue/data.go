package queue

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// data is the data of an entry's nodes. Entry.mu guards it.
type data struct {
	want  []byte // the data of nodes that are made from now on
	said  []byte // the data that this entry wrote to the nodes that stand
	nodes []said // one for each node that stands
}

// said records what is known of one node's data.
type said struct {
	version int32
	asked   bool // the data has a request for the lock beside the name, which must be kept
	foreign bool // another program has written a request there, which must not be changed
}

// standing records that n new nodes have the data that was sent with their creation.
func (d *data) standing(sent []byte, n int) {
	d.said, d.nodes = sent, make([]said, n)
}

// Said returns the data that the entry last wrote to its nodes, or false if none
// stand. It may be called at any time.
func (e *Entry) Said() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.data.said, e.data.nodes != nil
}

// wanted returns the data for a node that is made now.
func (e *Entry) wanted() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.data.want
}

// Publish writes data to the nodes of the entry, and to the nodes that the entry makes
// later. It writes at the known versions, so that it overwrites nothing that it has
// not seen: a node with a request for the lock keeps the request. One goroutine at a
// time may call it, at any time while the entry may stand. It waits for a connection
// until the session is over.
//
// It returns conn.ErrNodeGone if a node does not exist, conn.ErrSessionOver,
// conn.ErrClosed, or the refusal of the server.
func (e *Entry) Publish(data []byte) error {
	defer e.alterPermit()()
	e.mu.Lock()
	e.data.want = data
	session, nodes, known := e.session, e.nodes, slices.Clone(e.data.nodes)
	e.mu.Unlock()
	for p := (pause{}); len(known) > 0; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return err
		}
		if st.Session != session {
			return conn.ErrSessionOver
		}
		err = e.write(nodes, known, data)
		switch {
		case err == nil:
			e.mu.Lock()
			if len(e.nodes) > 0 && len(nodes) > 0 && &e.nodes[0] == &nodes[0] { // the entry has no new nodes
				e.data.said, e.data.nodes = data, known
			}
			e.mu.Unlock()
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return conn.ErrNodeGone
		case errors.Is(err, conn.ErrClosed):
			return err
		case errors.Is(err, zk.ErrBadVersion):
			if err := e.present(nodes, known); errors.Is(err, zk.ErrNoNode) {
				return conn.ErrNodeGone
			} else if err != nil && conn.Classify(err) == conn.Answered || errors.Is(err, conn.ErrClosed) {
				return err
			}
		case conn.Classify(err) == conn.Answered:
			return err
		}
	}
	return nil
}

// write writes data to the nodes that may be changed, in one transaction, and records
// their new versions.
func (e *Entry) write(nodes []string, known []said, data []byte) error {
	var at []int
	var paths []string
	var says [][]byte
	var versions []int32
	for i, k := range known {
		now := data
		writes := !k.foreign
		if k.asked {
			now, writes = znode.AddRevoke(data)
		}
		if writes {
			at, paths, says, versions = append(at, i), append(paths, nodes[i]), append(says, now), append(versions, k.version)
		}
	}
	if len(at) == 0 {
		return nil
	}
	stats, _, err := e.c.SetAll(paths, says, versions)
	if err != nil {
		return err
	}
	for k, i := range at {
		known[i].version = stats[k].Version
	}
	return nil
}

// present reads the nodes after a write was refused because of a version. It records
// the versions, and whether another program has written to them.
func (e *Entry) present(nodes []string, known []said) error {
	for i, node := range nodes {
		now, st, err := e.c.Get(node)
		if err != nil {
			return err
		}
		info, ours := znode.DecodeInfo(now)
		known[i] = said{version: st.Version, asked: ours && info.Revoke, foreign: !ours && znode.IsRevoke(now)}
	}
	return nil
}

// saidAt returns the data of the first node and its version, as far as the entry
// knows.
func (e *Entry) saidAt() ([]byte, int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.data.nodes) == 0 {
		return e.data.want, 0
	}
	return e.data.said, e.data.nodes[0].version
}

// setSaid records the data of the first node and its version.
func (e *Entry) setSaid(says []byte, version int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.data.said = bytes.Clone(says)
	if len(e.data.nodes) > 0 {
		e.data.nodes[0].version = version
	}
}
