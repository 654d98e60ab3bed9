// Package workqueue is a queue of work in ZooKeeper. It is an example of code that is
// tested with package zktest.
package workqueue

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// ErrEmpty is returned by Take if all work is done or claimed.
var ErrEmpty = errors.New("workqueue: no work")

// Queue is a queue below two nodes that exist: items, and the claims of those who work on
// them. It is used by one worker, who takes one work at a time.
type Queue struct {
	Conn          *zk.Conn
	Items, Claims string
	Worker        string // no other worker has the same name
}

// Work is work that was taken.
type Work struct {
	Data    []byte
	name    string
	version int32 // of the item: each claim adds one
}

// Put adds work. The caller chooses the id, which has no "#" in it. After an error Put
// may be called again with the same id: the work is added once.
func (q *Queue) Put(id string, data []byte) error {
	if _, err := q.Conn.Sync(q.Items); err != nil { // the server has all that was done before
		return err
	}
	names, _, err := q.Conn.Children(q.Items)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, id+"#") }) {
		return nil // by a call whose answer was lost
	}
	_, err = q.Conn.Create(path.Join(q.Items, id+"#"), data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

// Take claims the oldest work that nobody has claimed. The claim ends with the session.
// After another error than ErrEmpty, Take may be called again.
func (q *Queue) Take() (Work, error) {
	names, _, err := q.Conn.Children(q.Items)
	if err != nil {
		return Work{}, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	for _, name := range names {
		data, stat, err := q.Conn.Get(path.Join(q.Items, name))
		if err == nil {
			err = q.claim(name, data, stat.Version)
		}
		switch {
		case err == nil:
			return Work{data, name, stat.Version + 1}, nil
		case errors.Is(err, zk.ErrNodeExists) && q.isMine(name): // by a call whose answer was lost
			return Work{data, name, stat.Version}, nil
		case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
			continue // another worker has claimed it, or has done it
		}
		return Work{}, err
	}
	return Work{}, ErrEmpty
}

func (q *Queue) claim(name string, data []byte, version int32) error {
	_, err := q.Conn.Multi(
		&zk.CreateRequest{Path: path.Join(q.Claims, name), Data: []byte(q.Worker), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: path.Join(q.Items, name), Data: data, Version: version},
	)
	return err
}

func (q *Queue) isMine(name string) bool {
	worker, stat, err := q.Conn.Get(path.Join(q.Claims, name))
	return err == nil && string(worker) == q.Worker && stat.EphemeralOwner == q.Conn.SessionID()
}

// Done removes work that was taken, and the claim. If the claim has ended and another
// worker has taken the work, it removes nothing and returns zk.ErrBadVersion. If that one
// has done it, it returns zk.ErrNoNode; so does a second call, if the answer to the first
// was lost.
func (q *Queue) Done(w Work) error {
	_, err := q.Conn.Multi(
		&zk.DeleteRequest{Path: path.Join(q.Items, w.name), Version: w.version},
		&zk.DeleteRequest{Path: path.Join(q.Claims, w.name), Version: -1},
	)
	return err
}

// number returns the number that ZooKeeper has appended to the name of an item.
func number(name string) string {
	_, n, _ := strings.Cut(name, "#")
	return n
}
