package queue

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/defect"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// create puts the entry's nodes in line, under a GUID that no other attempt
// has (lesson 4). When it fails, the nodes are known not to exist, or recorded
// for Remove.
func (e *Entry) create(ctx context.Context) error {
	for p := (pause{}); ; p.wait(ctx) {
		if _, err := e.c.Await(ctx); err != nil {
			return err
		}
		e.own(znode.NewGUID())
		paths := make([]string, len(e.order.Places))
		for i, p := range e.order.Places {
			paths[i] = path.Join(p.Parent, p.prefix(e.guid))
		}
		data := e.wanted()
		made, ran, err := e.c.Create(paths[:e.together()], data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)
		for _, p := range paths[e.together():] {
			var next []string
			if err == nil {
				next, ran, err = e.c.Create([]string{p}, data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)
				made = append(made, next...)
			}
		}
		switch {
		case err == nil && ran.Session() != 0:
			e.stands(ran.Session(), made, data)
			return nil
		case err == nil || conn.Classify(err) == conn.Unknown:
			// Made, perhaps; by the session before or by the one after (G3).
			cerr := err
			if defect.On(defect.NoLookup) {
				break
			}
			found, err := e.resolve(ran, data)
			if err != nil {
				return err
			}
			if found {
				return nil
			}
			if errors.Is(cerr, zk.ErrShortBuffer) {
				// A client of the program's, whose buffer will not grow.
				e.disown()
				return cerr
			}
		case errors.Is(err, zk.ErrNoNode):
			if err := e.parents(ctx); err != nil {
				e.disown()
				return err
			}
		case conn.Classify(err) == conn.Answered, errors.Is(err, conn.ErrClosed):
			e.disown()
			return err
		}
		e.disown()
	}
}

// together is how many of the nodes one transaction makes: all, but for the defect
// OneByOne.
func (e *Entry) together() int {
	if defect.On(defect.OneByOne) {
		return 1
	}
	return len(e.order.Places)
}

// resolve finds out what became of a create whose outcome is not known, and
// takes over the nodes if they are of the present session. It does not look at
// any ctx: somebody has to answer for the nodes, however long it takes.
func (e *Entry) resolve(ran conn.Ran, data []byte) (found bool, err error) {
	for p := (pause{}); ; p.wait(e.c.Life()) {
		st, err := e.c.Await(context.Background())
		if err != nil {
			return false, err
		}
		if st.Session != ran.Before.Session && st.Session != ran.After.Session && !defect.On(defect.NoOwnerCheck) {
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
			return false, nil
		}
		stat, _, err := e.c.Stat(nodes[0])
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if defect.On(defect.ForgottenParts) {
				return false, nil
			}
			// Deleted by hand, perhaps: the others may stand.
			e.stands(st.Session, nodes, data)
			if err := e.Remove(); errors.Is(err, conn.ErrClosed) {
				return false, err
			}
			return false, nil
		case err != nil:
			if conn.Classify(err) == conn.Answered {
				return false, err
			}
			continue
		}
		e.stands(ownerOf(stat, st.Session), nodes, data)
		if e.session == st.Session && len(nodes) == len(e.order.Places) {
			return true, nil
		}
		// Of the session that is dying: it would vanish under us (lesson 3).
		if err := e.Remove(); errors.Is(err, conn.ErrClosed) {
			return false, err
		}
		return false, nil
	}
}

// find looks for the nodes of the present GUID. Without the Sync a server that
// lags would hide them, and the client would wait behind itself (lesson 2).
// sure is false when the connection failed.
func (e *Entry) find() (nodes []string, sure bool, err error) {
	for _, p := range e.order.Places {
		var err error
		if !defect.On(defect.NoSync) {
			_, err = e.c.Sync(p.Parent)
		}
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

// parents makes the queues' paths. They may vanish again at any time, which is
// what containers do: the caller loops.
func (e *Entry) parents(ctx context.Context) error {
	for _, p := range e.order.Places {
		if p.Kazoo {
			continue // it is the place before's
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
