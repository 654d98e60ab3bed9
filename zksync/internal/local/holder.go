package local

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Holder is one holding of the lock. It lasts from a grant until as many levels and
// handles have been given back as were taken, or until its loss.
type Holder struct {
	ticket  *Ticket
	kind    Kind
	owner   string
	shared  bool          // readers without an owner share it
	handoff int           // the hand-over budget of the call that began it
	linger  time.Duration // how long the ticket may linger: the least that a call of it wants
	levels  int64         // taken without a handle: calls, or permits
	handles int
	// Calls that waited when their owner's was granted, and need a request to enter.
	entering   int
	accepted   bool // a call has taken its grant: the owner knows that it holds
	lost       error
	known      bool    // a call has a reference to it
	taken      bool    // of a permit: its call has returned, so that its levels may be given back
	next, prev *Holder // in line.held

	// The lock's data about the holder, guarded by the lock's mutex.
	first   *Call // the call that began it
	start   time.Time
	open    map[*Handle]struct{}
	guard   *conn.Guard // not nil while there are handles
	looked  []bool      // for each node: a goroutine or a callback watches it; nil before the first handle
	late    *time.Timer // calls lookAll; nil once it has
	revoked bool        // the lock was asked back
}

// holders is a list of holders that needs no memory of its own. The zero value is empty.
type holders struct {
	first, last *Holder
	n           int
}

func (l *holders) add(h *Holder) {
	h.prev, h.next = l.last, nil
	if l.last == nil {
		l.first = h
	} else {
		l.last.next = h
	}
	l.last = h
	l.n++
}

func (l *holders) remove(h *Holder) {
	if h.prev == nil {
		l.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		l.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.next, h.prev = nil, nil
	l.n--
}

// over reports whether everything has been given back, and nobody is on its way in.
func (h *Holder) over() bool { return h.levels == 0 && h.handles == 0 && h.entering == 0 }

// others reports whether the holder is another owner's: nobody's is not.
func (h *Holder) others(owner string) bool {
	return owner != "" && h.owner != "" && h.owner != owner
}

// admit adds the level or the handle that a call asks for.
func (h *Holder) admit(w *Want) {
	if w.Handle {
		h.handles++
		h.ticket.seen = true
		return
	}
	h.linger = min(h.linger, w.Linger)
	h.levels += w.size()
}
