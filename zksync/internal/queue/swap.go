package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Swap lets Stand delete the node of another entry of the lock, which serves nobody any
// more, in the transaction that makes the node of e. So the next in line waits for one
// request and not for two, and no node of this session is left in front of e.
//
// Swap promises nothing: old.Remove has to be called when the node of e stands or is known
// to be gone, and deletes the old node unless a transaction has. Swap is called before
// Stand. Later calls do nothing.
func (e *Entry) Swap(old *Entry) {
	if e.old == nil {
		e.old = old
	}
}

// swap puts the entry's node in line by a swap, if one is possible. It returns false if that
// has made no node, and the entry has to be put in line in the ordinary way.
func (e *Entry) swap(ctx context.Context) (stands bool, err error) {
	old := e.old
	e.old = nil
	if old == nil || !e.maySwap() {
		return false, nil
	}
	st, err := e.c.Await(ctx)
	if err != nil {
		return false, err
	}
	select {
	case old.turn() <- struct{}{}: // until the outcome is known: Remove must not go on before
		defer func() { <-old.turn() }()
	default:
		return false, nil
	}
	left := old.Left()
	if old.session != st.Session || len(left) != 1 || len(old.nodes) != 1 || old.permit || old.torn || len(old.Open()) > 0 {
		return false, nil
	}
	err = e.sendSwap(old, left)
	switch {
	case err == nil && e.ran.Session() != 0:
		if old.ranIt(e.ran) {
			old.leaves(nil)
		}
		e.stood()
		return true, nil
	case err == nil || conn.Classify(err) == conn.Unknown:
		if stands, err = e.resolveSwap(old, left[0]); stands || err != nil {
			return stands, err
		}
	}
	// Nothing was done, or the old node had gone. Then the lock was lost, which
	// old.Remove finds out.
	e.forget()
	return false, nil
}

// maySwap reports whether the entry's node may be made by a swap. Permits stay out because
// they leave in parts, and what must not wait because a refusal has to leave no trace. The
// client of a program may run a request under the next session.
func (e *Entry) maySwap() bool {
	o := &e.order
	return e.c.Ordered() && len(o.Places) == 1 && !e.permit && !o.Try && !o.Fence
}

// sendSwap sends a swap and what goes beside it, waits for the answer, and returns the error
// of the transaction. The deletion comes first, so that the number of the new node may show
// that nobody stands before that.
func (e *Entry) sendSwap(old *Entry, left []string) error {
	paths, data := e.begin()
	b := e.c.Batch()
	t := &together{data: data}
	t.create = b.Multi(
		&zk.DeleteRequest{Path: left[0], Version: -1},
		&zk.CreateRequest{Path: paths[0], Data: data, Acl: e.order.ACL, Flags: zk.FlagEphemeral | zk.FlagSequence},
	)
	e.order.Census.leave(left)
	t.lists = e.ask(b)
	t.create.Then(func() {
		if t.create.Err() == nil && old.ranIt(t.create.Ran()) {
			e.order.Census.gone(left[0], nil) // before the answers that come later are handled
		}
	})
	b.Send(e.c.Life())
	_ = t.create.Wait(context.Background())
	return e.take(t)
}

// resolveSwap finds out what a swap of unknown outcome has done. It did both or nothing. If
// the new node is missing, perhaps it was made and deleted since, so that a missing old node
// is no proof of a loss.
func (e *Entry) resolveSwap(old *Entry, node string) (stands bool, err error) {
	old.torn = true
	if stands, err = e.resolve(); stands && e.session == old.session {
		old.leaves(nil)
		e.order.Census.gone(node, nil)
	}
	return stands, err
}
