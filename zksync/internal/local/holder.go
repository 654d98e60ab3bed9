package local

import "container/list"

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
	lost    error
	elem    *list.Element
}

// over reports whether everything has been given back.
func (h *Holder) over() bool { return h.levels == 0 && h.handles == 0 }

// admit adds what a call has asked for.
func (h *Holder) admit(w Want) {
	switch {
	case w.Handle:
		h.handles++
		h.ticket.seen = true
	case w.Kind == Permit:
		h.levels += w.Weight
	default:
		h.levels++
	}
}
