package zksync

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// Owner is a token for one sequential line of work: a request, a job, an order.
// Calls that carry the owner of a held lock enter the lock again at once, and the
// lock is released after as many unlocks. Goroutines that share an owner do not
// exclude each other.
//
// The zero value is no owner. Owners are comparable, may be copied, and may be
// used by several goroutines.
type Owner struct {
	id    string
	label string

	private bool // Do's own: nobody is told of it
}

// NewOwner returns an owner that is equal to no other, even if the labels are equal.
// The label is for people: the lock's node publishes it (cut at 40 bytes), and the
// programs that wait for the lock can show it.
func NewOwner(label string) Owner {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return Owner{id: hex.EncodeToString(b[:]), label: label}
}

// Label returns the text given to NewOwner.
func (o Owner) Label() string { return o.label }

// String returns the label and the owner's id.
func (o Owner) String() string {
	if o.IsZero() {
		return "no owner"
	}
	return o.label + "#" + o.id
}

// IsZero reports whether o is no owner.
func (o Owner) IsZero() bool { return o.id == "" }

type ownerKey struct{}

// WithOwner returns a context for lock calls that are made for o. With the zero
// Owner they are made for nobody, even if parent carries an owner.
func WithOwner(parent context.Context, o Owner) context.Context {
	return context.WithValue(parent, ownerKey{}, o)
}

// OwnerFrom returns the owner that WithOwner put in ctx, if any.
func OwnerFrom(ctx context.Context) (Owner, bool) {
	o, _ := ctx.Value(ownerKey{}).(Owner)
	return o, !o.IsZero()
}

// doKey carries the owner that Do makes for its own lock. It names the lock:
// goroutines that Do's function starts with its context share the owner under that
// lock, and must still exclude each other under every other lock.
type doKey struct {
	s    *Session
	full string
}
