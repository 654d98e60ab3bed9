package queue

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// view is a line as it was listed. If there was no answer, line is nil. If our node
// was not in it, err is errAgain.
type view struct {
	line []znode.Name
	own  int       // the index of our node
	at   time.Time // when the request was sent
	err  error
}

// list lists the line at place i.
func (e *Entry) list(i int) *view {
	v := &view{at: time.Now()}
	p := e.order.Places[i]
	var fence chan error
	if e.order.Fence && i == 0 && e.fence.Load() == 0 {
		fence = make(chan error, 1) // beside the listing, not after it
		go func() { fence <- e.readFence(i) }()
	}
	if fence == nil && e.c.Ordered() {
		return e.viewOf(i, e.children(i))
	}
	names, ran, err := e.c.Children(p.Parent)
	if fence != nil {
		if ferr := <-fence; err == nil && ferr != nil {
			err = ferr
		}
	}
	e.see(v, i, names, ran, err)
	return v
}

// see records the answer to a listing.
func (e *Entry) see(v *view, i int, names []string, ran conn.Ran, err error) {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		v.err = errAgain // our node is gone, with its parent or without
	case errors.Is(err, conn.ErrClosed), errors.Is(err, errAgain):
		v.err = err
	case conn.Classify(err) != conn.Answered:
	case err != nil:
		v.err = err
	case ran.Session() == e.session:
		v.err = v.find(e.parse(e.order.Places[i], names), path.Base(e.nodes[i]))
	}
}

// find stores the line and the index of our node in it.
func (v *view) find(line []znode.Name, mine string) error {
	for own := range line {
		if line[own].Raw == mine {
			v.line, v.own = line, own
			return nil
		}
	}
	return errAgain // without our node it is not our turn, even if the line is empty
}

// parse returns the lock nodes among names, in order, and deletes nodes that this
// process has forgotten there.
func (e *Entry) parse(p Place, names []string) []znode.Name {
	line := make([]znode.Name, 0, len(names))
	var strange []string
	for _, n := range names {
		name, ok := znode.ParseAny(n, p.Foreign)
		switch {
		case !ok:
			if e.order.Strange != nil && znode.Numbered(n) {
				strange = append(strange, n)
			}
			continue
		case name.HasGUID && name.GUID.Ours() && !isOwned(name.GUID):
			go sweep(e.c, path.Join(p.Parent, n), name.GUID)
		}
		line = append(line, name)
	}
	if len(strange) > 0 {
		e.order.Strange(p.Parent, strange)
	}
	znode.Sort(line)
	return line
}

// listAll lists all places that were not seen at once: if they are free, several cost the
// time of one.
func (e *Entry) listAll(ctx context.Context, seen []*view) {
	if st, err := e.c.Await(ctx); err != nil || st.Session != e.session {
		return
	}
	var wg sync.WaitGroup
	for i, p := range e.order.Places {
		if !p.Kazoo && seen[i] == nil {
			wg.Go(func() { seen[i] = e.list(i) })
		}
	}
	wg.Wait()
}
