package conn

import (
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// RefusalError is zk.ErrNoAuth with the operation and the path that an access list refuses.
type RefusalError struct {
	Op   string // a verb: "create a node below", say
	Path string // whose access list refuses it
}

func (e *RefusalError) Error() string { return e.Op + " " + e.Path + ": " + zk.ErrNoAuth.Error() }

// Unwrap returns zk.ErrNoAuth.
func (e *RefusalError) Unwrap() error { return zk.ErrNoAuth }

// refused returns the error of a request that was answered: a *RefusalError in place of
// zk.ErrNoAuth. parts are the results of a transaction.
func (rq *request) refused(parts []zk.MultiResponse, err error) error {
	if err != error(zk.ErrNoAuth) {
		return err
	}
	if rq.op != wire.OpMulti {
		return refusalOf(rq.op, rq.path)
	}
	i := slices.IndexFunc(parts, func(r zk.MultiResponse) bool { return errors.Is(r.Error, zk.ErrNoAuth) })
	if i < 0 || i >= len(rq.ops) {
		return err
	}
	switch o := rq.ops[i].(type) {
	case *zk.CreateRequest:
		return refusalOf(wire.OpCreate, o.Path)
	case *Container:
		return refusalOf(wire.OpCreate, o.Path)
	case *zk.DeleteRequest:
		return refusalOf(wire.OpDelete, o.Path)
	case *zk.SetDataRequest:
		return refusalOf(wire.OpSetData, o.Path)
	case *zk.CheckVersionRequest:
		return refusalOf(wire.OpGetData, o.Path)
	}
	return err
}

// refusalOf describes a refused operation on a node. Creating and deleting need the
// permission of the parent.
func refusalOf(op wire.Op, node string) error {
	switch op {
	case wire.OpCreate, wire.OpCreateContainer:
		return &RefusalError{Op: "create a node below", Path: path.Dir(node)}
	case wire.OpDelete:
		return &RefusalError{Op: "delete a node below", Path: path.Dir(node)}
	case wire.OpSetData:
		return &RefusalError{Op: "write to", Path: node}
	case wire.OpGetChildren2:
		return &RefusalError{Op: "list", Path: node}
	}
	return &RefusalError{Op: "read", Path: node}
}
