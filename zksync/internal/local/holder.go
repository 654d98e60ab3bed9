package local

import (
	"container/list"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Holder is one holding of the lock: from a grant until as many levels and
// handles have been given back as were taken, or until its loss.
type Holder struct {
	ticket  *Ticket
	kind    Kind
	owner   string
	shared  bool  // by readers of nobody in particular
	handoff int   // budget of the value that took it
	levels  int64 // taken without a handle: calls, or permits
	handles int
	// Calls that waited when their owner's was granted, and need a request to enter.
	entering int
	lost     error
	taken    bool // of a permit: its call has returned, so that its levels may be given back
	elem     *list.Element

	// What the lock knows of it. All is guarded by the lock's mutex.
	first   *Call // that it was granted to
	start   time.Time
	open    map[*Handle]struct{}
	guard   *conn.Guard // while there are handles
	looked  []bool      // by node: somebody looks at it; nil before the first handle
	revoked bool        // asked back
}

// over reports whether everything has been given back, and nobody is on its way in.
func (h *Holder) over() bool { return h.levels == 0 && h.handles == 0 && h.entering == 0 }

// others reports whether the holder is another owner's: nobody's is not.
func (h *Holder) others(owner string) bool {
	return owner != "" && h.owner != "" && h.owner != owner
}

// admit adds what a call has asked for.
func (h *Holder) admit(w *Want) {
	if w.Handle {
		h.handles++
		h.ticket.seen = true
		return
	}
	h.levels += w.size()
}
