package queue

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// ErrNotAlone is returned by Renew when somebody else is in line.
var ErrNotAlone = errors.New("somebody else is in line")

// Lease makes an entry whose turn it is fit for another tenure without a request. The
// zero value is no lease.
type Lease struct {
	own    *conn.Watch // on the entry's node
	twin   *conn.Watch // on the node that kazoo sees; nil without one
	crowd  *conn.Watch // on the line, when the entry was alone in it; may be nil
	looked time.Time   // when the line was listed last
}

// Watches returns the watches on the entry's nodes. The zero lease has none.
func (l Lease) Watches() []*conn.Watch {
	switch {
	case l.own == nil:
		return nil
	case l.twin == nil:
		return []*conn.Watch{l.own}
	}
	return []*conn.Watch{l.own, l.twin}
}

// Own returns the watch on the entry's node, or nil.
func (l Lease) Own() *conn.Watch { return l.own }

// Crowd returns the watch on the line, when the entry was alone in it, or nil.
func (l Lease) Crowd() *conn.Watch { return l.crowd }

// Asked reports whether the watches found that the lock was asked back.
func (l Lease) Asked() bool {
	return slices.ContainsFunc(l.Watches(), func(w *conn.Watch) bool { return znode.IsRevoke(w.Data) })
}

// With returns the lease with the watches on the nodes of another one.
func (l Lease) With(other Lease) Lease {
	l.own, l.twin = other.own, other.twin
	return l
}

// fresh reports whether a watch has had no event, and was set on the connection that
// is up.
func (e *Entry) fresh(w *conn.Watch) bool {
	return w != nil && e.c.Current(w, e.session)
}

// Fit reports whether the entry may serve another tenure at this moment: its node is
// watched, the watch has had no event, and its session is alive.
func (e *Entry) Fit(l Lease) bool { return e.FitAt(l, time.Now()) }

// FitAt does the same as Fit for a time that the caller has just read.
func (e *Entry) FitAt(l Lease, now time.Time) bool {
	return e.fresh(l.own) && (l.twin == nil || e.fresh(l.twin)) && e.c.AliveAt(e.session, now)
}

// Undisturbed reports whether no event has come on the watches of the lease since the
// entry was alone in line. The lease may lack the watches on the nodes.
func (e *Entry) Undisturbed(l Lease) bool {
	if !e.fresh(l.crowd) {
		return false
	}
	return (l.own == nil || e.fresh(l.own)) && (l.twin == nil || e.fresh(l.twin))
}

// Alone reports whether nobody else is known to stand in line: the line was listed
// less than T/6 ago, and no event has reported a change since. The time is limited
// because an event may get lost: without the limit a session that uses the lock all
// the time would keep other sessions out for ever.
func (e *Entry) Alone(l Lease) bool {
	return e.fresh(l.crowd) && time.Since(l.looked) < e.c.Timeout()/6
}

// Watched watches the entry's nodes from now on, and returns the lease with those
// watches.
func (e *Entry) Watched() (l Lease, err error) {
	defer e.alterPermit()()
	nodes := e.Nodes()
	if l.own, err = e.c.Watch(nodes[0]); err == nil && len(nodes) > 1 {
		l.twin, err = e.c.Watch(nodes[1])
	}
	return l, err
}

// Renew makes the entry fit, with as many requests as that takes. With alone, it
// returns ErrNotAlone if anybody else stands in line. While there is no connection it
// waits, until ctx ends.
func (e *Entry) Renew(ctx context.Context, alone bool) (Lease, error) {
	for p := (pause{}); ; p.wait(ctx) {
		if err := e.awaitSession(ctx); err != nil {
			return Lease{}, err
		}
		l, err := e.Watched()
		if err == nil && alone {
			l.looked = time.Now()
			l.crowd, err = e.alone()
		}
		if err == nil && !e.c.Alive(e.session) {
			err = e.Confirm()
		}
		switch {
		case err == nil && e.Fit(l):
			return l, nil
		case errors.Is(err, zk.ErrNoNode):
			return Lease{}, conn.ErrNodeGone
		case errors.Is(err, ErrNotAlone), errors.Is(err, conn.ErrNodeGone), errors.Is(err, conn.ErrSessionOver):
			return Lease{}, err
		case errors.Is(err, conn.ErrClosed):
			return Lease{}, err
		case err != nil && conn.Classify(err) == conn.Answered:
			return Lease{}, err
		}
	}
}

// alone lists the line and keeps a watch on it. Only a session that hands a lock over
// has such a watch, so that other sessions do not wake when nodes come and go.
func (e *Entry) alone() (*conn.Watch, error) {
	place := e.order.Places[0]
	start := time.Now()
	w, err := e.c.WatchChildren(place.Parent)
	if err != nil {
		return nil, err
	}
	names := w.Names
	if w.Since.Before(start) { // the watch is old, and so are its names
		if names, _, err = e.c.Children(place.Parent); err != nil {
			return nil, err
		}
	}
	line, own := e.parse(place, names), path.Base(e.Node())
	if !slices.ContainsFunc(line, func(n znode.Name) bool { return n.Raw == own }) {
		return nil, conn.ErrNodeGone
	}
	switch {
	case place.Kind == znode.Permit:
		if e.othersWait(line) {
			return nil, ErrNotAlone
		}
	case len(line) > len(e.Nodes()):
		return nil, ErrNotAlone
	case line[0].Raw != own:
		return nil, conn.ErrNodeGone
	}
	return w, nil
}

// othersWait reports whether a permit of another lock or session waits in line: one with
// another Order.Of.
func (e *Entry) othersWait(line []znode.Name) bool {
	for i, blocker := range Blockers(line) {
		n := line[i]
		if n.Kind != znode.Permit || blocker < 0 {
			continue
		}
		if o := ownerOf(n); o == nil || o.order.Of != e.order.Of {
			return true
		}
	}
	return false
}
