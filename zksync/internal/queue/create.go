package queue

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// create puts the entry's nodes in line. When create fails, either the nodes are known
// not to exist, or Remove finds what is known of them.
func (e *Entry) create(ctx context.Context) error {
	if stands, err := e.swap(ctx); stands || err != nil {
		return err
	}
	fresh, ordinary := e.isFresh(), false
	if e.begun != nil {
		fresh = e.begun.fresh
	}
	for p := (pause{}); ; p.wait(ctx) {
		if e.begun == nil {
			if _, err := e.c.Await(ctx); err != nil {
				return err
			}
		}
		err := e.attempt(fresh)
		switch {
		case err == nil && e.ran.Session() != 0:
			e.stood()
			return nil
		case err == nil || conn.Classify(err) == conn.Unknown:
			// Perhaps the nodes were made: by the session before, or by the one
			// after, under which the client sends its queue.
			if found, unclear := e.resolve(); found || unclear != nil {
				return unclear
			}
			if errors.Is(err, zk.ErrShortBuffer) {
				// This is a client of the program, whose buffer does not grow.
				e.forget()
				return err
			}
		case fresh && conn.Classify(err) == conn.Answered:
			// Only a refusal of the ordinary way is one: who may not create the parent
			// may still lock there.
			if fresh, ordinary = e.ancestors(ctx, err), true; !fresh {
				p = pause{}
			}
		case errors.Is(err, zk.ErrNoNode) && !ordinary && e.isVanished():
			fresh = true
		case errors.Is(err, zk.ErrNoNode):
			if err := e.parents(ctx); err != nil {
				e.forget()
				return err
			}
		case conn.Classify(err) == conn.Answered, errors.Is(err, conn.ErrClosed):
			e.forget()
			return err
		}
		e.forget()
	}
}

// stood records that the nodes of an attempt stand.
func (e *Entry) stood() {
	e.stands(e.ran.Session(), e.made, e.sent)
	e.fence.Store(e.czxid)
}

// attempt requests the nodes once, and records what came of it. If an attempt has begun,
// it records what came of that.
func (e *Entry) attempt(fresh bool) (err error) {
	if t := e.begun; t != nil {
		e.begun = nil
		return e.take(t)
	}
	paths, data := e.begin()
	forget := e.reports(paths)
	if e.beside = nil; e.c.Ordered() {
		err = e.sendTogether(paths, data, fresh)
	} else {
		e.sent = data
		e.made, e.czxid, e.ran, err = e.createAlone(paths, data)
	}
	forget()
	return err
}

// begin records an attempt before it is sent. Each attempt has its own GUID: with one GUID
// for all, a search could find the node of an older attempt or session.
func (e *Entry) begin() (paths []string, data []byte) {
	e.claim(znode.NewGUID())
	e.attempted = new(attempted)
	paths, data = e.paths(e.guid), e.wanted()
	e.tries(paths)
	return paths, data
}

// reports has the order's Sent called when a create of the first of the paths is sent, until
// forget is called.
func (e *Entry) reports(paths []string) (forget func()) {
	if e.order.Sent == nil {
		return func() {}
	}
	return e.c.Sent(paths[0], e.order.Sent)
}

// createAlone requests the nodes with nothing beside them. A program's client would wait
// for each answer before it sends the next request.
func (e *Entry) createAlone(paths []string, data []byte) ([]string, int64, conn.Ran, error) {
	return e.c.Make(paths, data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)
}

// paths returns the paths by which the nodes of an attempt are requested.
func (e *Entry) paths(g znode.GUID) []string {
	paths := make([]string, len(e.order.Places))
	for i, p := range e.order.Places {
		paths[i] = path.Join(p.Parent, p.prefix(g))
	}
	return paths
}

// mostData returns bytes as long as the longest data that nodes with this data may
// get. Nodes without data never get any (WithoutNodeInfo).
func mostData(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	return make([]byte, min(len(data)+znode.MaxNamed, max(len(data), znode.MaxInfo)))
}

// resolve finds out whether a create of unknown outcome has made its nodes, and takes
// them over if they belong to the present session.
func (e *Entry) resolve() (found bool, err error) {
	if found, err = e.trace(); found || err != nil {
		return found, err
	}
	// The nodes belong to the session that is ending, and would vanish while we use
	// them; or they are only some of the requested nodes.
	if err := e.Remove(nil); errors.Is(err, conn.ErrClosed) {
		return false, err
	}
	return false, nil
}

// trace looks for the nodes of the open attempt until it knows them, and records them
// for Remove before it reads them. found means that all nodes stand and belong to the
// present session. It has no ctx, because the entry answers for the nodes however long
// that takes. It fails when the connection is closed, and when the servers
// refuse to answer: then the attempt stays open, or its nodes stay recorded.
func (e *Entry) trace() (found bool, err error) {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return false, err
		}
		if st.Session != e.ran.Before.Session && st.Session != e.ran.After.Session {
			e.tries(nil)
			return false, nil // every session it may belong to is over
		}
		nodes, sure, err := e.find()
		if err != nil {
			return false, err
		}
		if now, _ := e.c.State(); !sure || now.Epoch != st.Epoch {
			continue
		}
		if len(nodes) == 0 {
			e.tries(nil)
			return false, nil
		}
		e.stands(st.Session, nodes, e.sent)
		stat, _, err := e.c.Stat(nodes[0])
		switch {
		case err == nil:
			e.mu.Lock()
			e.session = stat.EphemeralOwner
			e.mu.Unlock()
		case errors.Is(err, zk.ErrNoNode):
			return false, nil // perhaps deleted by hand: the others may stand
		case conn.Classify(err) != conn.Answered:
			continue
		case e.ran.Before.Session != st.Session:
			return false, err
		default:
			// We may not read the node, but no other session can have made it.
		}
		return e.session == st.Session && len(nodes) == len(e.order.Places), nil
	}
}

// find looks for the nodes of the present GUID. First it makes the server catch up
// with its leader (Sync): a server that lags would hide the node, and the next
// attempt would wait behind it. sure is false when the connection failed. If the
// servers have answered with the names, find uses these: listing may be forbidden.
func (e *Entry) find() (nodes []string, sure bool, err error) {
	if e.made != nil {
		return e.made, true, nil
	}
	for _, p := range e.order.Places {
		_, err := e.c.Sync(p.Parent)
		var names []string
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			names, _, err = e.c.Children(p.Parent)
		}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case errors.Is(err, conn.ErrClosed):
			return nil, false, err
		case conn.Classify(err) != conn.Answered:
			return nil, false, nil
		case err != nil:
			return nil, false, err
		}
		for _, n := range names {
			if strings.HasPrefix(n, p.prefix(e.guid)) {
				nodes = append(nodes, path.Join(p.Parent, n))
				break
			}
		}
	}
	return nodes, true, nil
}

// ancestors handles a refusal to create the parent together with the nodes, and reports
// whether to try that again.
func (e *Entry) ancestors(ctx context.Context, refusal error) bool {
	parent := e.order.Places[0].Parent
	if errors.Is(refusal, zk.ErrNoNode) && e.makePath(ctx, path.Dir(parent)) == nil {
		return true
	}
	e.order.Census.met(parent, true)
	return false
}

// isVanished records that the parents do not exist, though this was expected, and
// reports whether to create the only one together with the nodes.
func (e *Entry) isVanished() bool {
	e.order.Census.vanished(e.order.Places[0].Parent)
	return e.isFresh()
}

// parents makes the queues' paths. Containers may vanish again at any time, so the
// caller repeats this.
func (e *Entry) parents(ctx context.Context) error {
	for _, p := range e.order.Places {
		if p.Kazoo {
			continue // it has the parent of the place before
		}
		if err := e.makePath(ctx, p.Parent); err != nil {
			return err
		}
	}
	return nil
}

func (e *Entry) makePath(ctx context.Context, p string) error {
	for rest := (pause{}); ; rest.wait(ctx) {
		if _, err := e.c.Await(ctx); err != nil {
			return err
		}
		err := e.c.CreateParent(p, e.order.ACL)
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			return nil
		case errors.Is(err, zk.ErrNoNode) && path.Dir(p) != "/":
			if err := e.makePath(ctx, path.Dir(p)); err != nil {
				return err
			}
		case errors.Is(err, conn.ErrClosed), conn.Classify(err) == conn.Answered:
			return err
		}
	}
}
