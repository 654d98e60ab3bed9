package queue

import (
	"fmt"
	"path"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// MixedError reports that permits and nodes of a lock stand at one path: a mistake of one
// of the programs, whose locks do not exclude each other.
type MixedError struct {
	Kind  znode.Kind // of our node
	Other znode.Kind // of the node before it
	Node  string     // that node
}

func (e *MixedError) Error() string {
	return fmt.Sprintf("a %v node can't stand behind the %v node %s", e.Kind, e.Other, e.Node)
}

// mixed returns a *MixedError if there are permits before a node of a lock, or nodes of a
// lock before a permit. Nodes of our own session are left out: the session knows of the
// mistake without a node, and a node that it is about to delete is none. So are nodes of
// this process that nobody answers for, which are being deleted.
func (e *Entry) mixed(parent string, line []znode.Name, own int) error {
	kind := line[own].Kind
	for _, n := range line[:own] {
		if (n.Kind == znode.Permit) == (kind == znode.Permit) {
			continue
		}
		if e.isKin(n) || n.HasGUID && n.GUID.Ours() && ownerOf(n) == nil {
			continue
		}
		return &MixedError{Kind: kind, Other: n.Kind, Node: path.Join(parent, n.Raw)}
	}
	return nil
}
