package zksync

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/zklocker/go-zksync/zksync/internal/local"
)

// Hold is a handle on a lock that is held. It knows the fence, the node, and
// whether the lock is lost. It ends with Release, or with the loss of the lock.
//
// A Locker's Hold and TryHold return a Hold, and Do passes one to its function: the
// zero value is not usable. It must not be copied. Its methods may be called by
// several goroutines, and after its end.
type Hold struct {
	s     *Session
	begun *call // with which the holding began
	h     *local.Handle

	first    atomic.Bool   // Release was called
	released chan struct{} // closed when the first has its result
	result   error         // of Release; before released is closed

	mu    sync.Mutex
	ended error                      // guarded by mu; nil while held
	ends  map[<-chan struct{}]*ender // guarded by mu; of the contexts, by their parents' Done channels
}

// newHold returns the Hold of a handle, in a holding that began with begun.
func newHold(s *Session, begun *call, handle *local.Handle) *Hold {
	h := &Hold{s: s, begun: begun, h: handle, released: make(chan struct{}), ends: make(map[<-chan struct{}]*ender)}
	handle.OnEnd(h.end)
	return h
}

// end ends the contexts.
func (h *Hold) end(cause error) {
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
// call. Once the lock is lost it returns an error that Is ErrLost and says why.
// After Release it returns context.Canceled.
func (h *Hold) Err() error { return h.h.Err() }

// Fence returns the hold's fencing token: the zxid of the ZooKeeper transaction
// that put its node in line. It grows from each hold of a path to the next, across
// processes, restarts, and the deletion of the path. It starts again only if the
// ensemble is rebuilt with empty data directories. Send it with every write, and let
// the receiver refuse a fence smaller than the largest it has seen.
func (h *Hold) Fence() int64 { return h.h.Fence() }

// Node returns the full path of the hold's node in ZooKeeper.
func (h *Hold) Node() string { return h.h.Node() }

// Revoked returns a channel that is closed when somebody asks for the lock: with
// Session.Revoke, or by writing "__REVOKE__" (Curator's word) or "unlock" to its
// node. If an owner enters the lock again after the request, the channel of the new
// Hold is closed from the beginning if an earlier Hold of the owner knew of the
// request. Otherwise it is closed soon, after a read of the node: nobody reads the
// node while there is no Hold. The lock stays held: the holder has to comply.
func (h *Hold) Revoked() <-chan struct{} { return h.h.Revoked() }

// Release releases the lock, and ends the contexts. Only the first call does so.
// Later calls wait for its result and return the same one; if their own ctx ends
// first, the error is an *Error that Is ctx.Err(), and the first call goes on.
//
// If Release returns nil, the node is gone, and existed until now. Of the levels of
// one owner, only the last one deletes the node. Otherwise the error is an *Error.
// It Is ErrLost if the lock had been lost before. It Is ctx.Err() if ctx ended before
// the deletion was confirmed; the deletion then goes on in the background.
func (h *Hold) Release(ctx context.Context) error {
	if h.first.CompareAndSwap(false, true) {
		defer close(h.released) // also when the tracer panics
		h.result = h.failed(h.release(ctx))
		return h.result
	}
	select {
	case <-h.released:
		return h.result // also if ctx has ended
	default:
	}
	select {
	case <-h.released:
		return h.result
	case <-ctx.Done():
		return h.failed(ctxErr(ctx))
	}
}

// failed is what Release returns for err.
func (h *Hold) failed(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: "release", Path: h.begun.acq.Path, Node: h.Node(), Err: err}
}

func (h *Hold) release(ctx context.Context) error {
	b, err := h.h.Release()
	if err != nil {
		return err
	}
	b.Run()
	return h.s.wait(ctx, b)
}
