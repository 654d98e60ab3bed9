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

// data is what the nodes of an entry say. Entry.mu guards it.
type data struct {
	want     []byte  // what nodes say that are made from now on
	said     []byte  // what this entry wrote to the nodes that stand
	versions []int32 // of these nodes' data, as far as known; keep: not to be written
}

// keep is the version of a node whose data is not the entry's to change: somebody
// has asked for the lock back on it.
const keep = -1

// standing notes that n new nodes say what was sent with their creation.
func (d *data) standing(sent []byte, n int) {
	d.said, d.versions = sent, make([]int32, n)
}

// Said returns what the entry last wrote to its nodes; false if none stand. It
// may be called at any time.
func (e *Entry) Said() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.data.said, e.data.versions != nil
}

// wanted returns what a node made now has to say.
func (e *Entry) wanted() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.data.want
}

// Publish writes data to the nodes of the entry, and has the nodes say it that
// the entry makes later. It writes at the versions known, so that it overwrites
// nothing but the entry's own words: a node with a request to give the lock back
// keeps it. It is called by one goroutine at a time, at any time while the entry
// may stand. It waits for a connection until the session is over.
//
// It returns conn.ErrNodeGone if a node does not exist, conn.ErrSessionOver,
// conn.ErrClosed, or the refusal of the server.
func (e *Entry) Publish(data []byte) error {
	e.mu.Lock()
	e.data.want = data
	session, nodes, versions := e.session, e.nodes, slices.Clone(e.data.versions)
	e.mu.Unlock()
	for p := (pause{}); len(versions) > 0; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return err
		}
		if st.Session != session {
			return conn.ErrSessionOver
		}
		err = e.write(nodes, versions, data)
		switch {
		case err == nil:
			e.mu.Lock()
			if len(e.nodes) > 0 && len(nodes) > 0 && &e.nodes[0] == &nodes[0] { // no others have come to stand
				e.data.said, e.data.versions = data, versions
			}
			e.mu.Unlock()
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return conn.ErrNodeGone
		case errors.Is(err, conn.ErrClosed):
			return err
		case errors.Is(err, zk.ErrBadVersion):
			if err := e.present(nodes, versions, data); errors.Is(err, zk.ErrNoNode) {
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

// write writes data to the nodes that may be written, in one transaction, and
// notes their new versions.
func (e *Entry) write(nodes []string, versions []int32, data []byte) error {
	var at []int
	var paths []string
	var olds []int32
	for i, v := range versions {
		if v != keep {
			at, paths, olds = append(at, i), append(paths, nodes[i]), append(olds, v)
		}
	}
	if len(at) == 0 {
		return nil
	}
	stats, _, err := e.c.SetAll(paths, data, olds)
	if err != nil {
		return err
	}
	for k, i := range at {
		versions[i] = stats[k].Version
	}
	return nil
}

// present reads the nodes' versions, after a write was refused because of one.
func (e *Entry) present(nodes []string, versions []int32, data []byte) error {
	for i, node := range nodes {
		if versions[i] == keep {
			continue
		}
		now, st, err := e.c.Get(node)
		if err != nil {
			return err
		}
		if versions[i] = st.Version; znode.IsRevoke(now) {
			versions[i] = keep
		}
	}
	return nil
}

// saidAt returns what the first node says, and the version at which it does, as
// far as the entry knows.
func (e *Entry) saidAt() ([]byte, int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.data.versions) == 0 {
		return e.data.want, 0
	}
	return e.data.said, e.data.versions[0]
}

// setSaid notes what the first node says.
func (e *Entry) setSaid(said []byte, version int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.data.said = bytes.Clone(said)
	if len(e.data.versions) > 0 {
		e.data.versions[0] = version
	}
}
