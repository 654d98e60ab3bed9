package zksync

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/local"
)

// Hold is a handle on a lock that is held. It knows the fence, the node, and
// whether the lock is lost. It ends with Release, or with the loss of the lock.
//
// A Locker's Hold and TryHold return a Hold, and Do passes one to its function: the
// zero value is not usable, and its methods panic. It must not be copied. Its methods may be called by
// several goroutines, and after its end.
type Hold struct {
	s     *Session
	begun *call // with which the holding began
	h     *local.Handle

	first    atomic.Bool   // Release was called
	released chan struct{} // closed when the first has its result
	result   error         // of Release; before released is closed

	mu    sync.Mutex
	ended error                      // guarded by mu; nil while held; a loss as the program sees it, made once
	ends  map[<-chan struct{}]*ender // guarded by mu; of the contexts, by their parents' Done channels
}

// newHold returns the Hold of a handle, in a holding that began with begun.
func newHold(s *Session, begun *call, handle *local.Handle) *Hold {
	h := &Hold{s: s, begun: begun, h: handle, released: make(chan struct{}), ends: make(map[<-chan struct{}]*ender)}
	handle.OnEnd(h.end)
	return h
}

func (h *Hold) check() {
	if h == nil || h.h == nil {
		panic("zksync: use of zero Hold")
	}
}

// why returns what the program sees as the end of the hold, for nil, a loss, or
// context.Canceled. It makes one *Error for a loss.
func (h *Hold) why(end error) error {
	if !errors.Is(end, ErrLost) {
		return end
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended = h.named("hold", end)
	}
	return h.ended
}

// named adds to an error which hold it is about.
func (h *Hold) named(op string, err error) error {
	return &Error{Op: op, Path: h.begun.acq.Path, Node: h.Node(), Err: err}
}

// end ends the contexts.
func (h *Hold) end(cause error) {
	cause = h.why(cause)
	h.mu.Lock()
	h.ended = cause
	ends := h.ends
	h.ends = nil
	for _, e := range ends {
		if e.stop != nil {
			e.stop() // there is nothing left to take it out of
		}
	}
	h.mu.Unlock()
	for _, e := range ends {
		e.cancel(cause)
	}
}

// Err returns nil while the lock is held, which it checks against the clock at each
// call. Once the lock is lost it returns an *Error that Is ErrLost, names the lock and
// the node, and says why. After Release it returns context.Canceled.
func (h *Hold) Err() error {
	h.check()
	return h.why(h.h.Err())
}

// Fence returns the hold's fencing token: the zxid of the ZooKeeper transaction
// that put its node in line. It grows from each hold of a path to the next, across
// processes, restarts, and the deletion of the path. It starts again only if the
// ensemble is rebuilt with empty data directories. Send it with every write, and let
// the receiver refuse a fence smaller than the largest it has seen.
func (h *Hold) Fence() int64 {
	h.check()
	return h.h.Fence()
}

// Node returns the full path of the hold's node in ZooKeeper. A Multi has several nodes;
// then it is the first of them.
func (h *Hold) Node() string {
	h.check()
	return h.h.Node()
}

// Check returns operations that make a ZooKeeper transaction of the program's own
// succeed only if the lock is held: one *zk.CheckVersionRequest for each node of the
// hold. Put them in front of the program's operations:
//
//	_, err := s.Conn().Multi(append(h.Check(), &zk.SetDataRequest{Path: p, Data: d, Version: -1})...)
//
// ZooKeeper carries out all operations or none. Once the lock is lost, or its node was
// deleted by Release, the error Is zk.ErrNoNode, and nothing is written: the writes of a
// late holder are refused as with a fence. That covers only what is written in the
// transaction, to the ensemble of the lock. The nodes are named by their full paths, so a
// client with a root of its own can't use them. Check makes no request and does not look
// at the clock. The result is the caller's to keep and to change.
func (h *Hold) Check() []any {
	h.check()
	nodes := h.h.Nodes()
	ops := make([]any, len(nodes), len(nodes)+1)
	for i, node := range nodes {
		ops[i] = &zk.CheckVersionRequest{Path: node, Version: -1}
	}
	return ops
}

// Revoked returns a channel that is closed when somebody asks for the lock: with
// Session.Revoke, or by writing "__REVOKE__" (Curator's word) or "unlock" to its
// node. If an owner enters the lock again after the request, the channel of the new
// Hold is closed from the beginning if an earlier Hold of the owner knew of the
// request. Otherwise it is closed soon, after a read of the node: nobody reads the
// node while there is no Hold. The lock stays held: the holder has to comply.
func (h *Hold) Revoked() <-chan struct{} {
	h.check()
	return h.h.Revoked()
}
