package queue

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// together are the requests of one attempt, which are sent in one write.
type together struct {
	create *conn.Call
	fresh  bool         // it creates the parent, too
	lists  []*conn.Call // one for each place; nil: the census is expected to know the line
	data   []byte       // of the nodes
	looked bool         // the numbers of the nodes were looked at
	seen   *view        // what they showed; nil: nothing
}

// isFresh reports whether the parent is created together with the node. Only one parent
// can be: of several, some exist.
func (e *Entry) isFresh() bool {
	places := e.order.Places
	for _, p := range places[1:] {
		if !p.Kazoo || p.Parent != places[0].Parent {
			return false
		}
	}
	return e.c.Ordered() && path.Dir(places[0].Parent) != places[0].Parent && e.order.Census.isNew(places[0].Parent)
}

// sendTogether sends the create of an attempt and what goes beside it, and waits for the
// answer to the create.
func (e *Entry) sendTogether(paths []string, data []byte, fresh bool) error {
	b := e.c.Batch()
	t := e.plan(b, paths, data, fresh)
	b.Send(e.c.Life())
	_ = t.create.Wait(context.Background())
	return e.take(t)
}

// plan adds the requests of an attempt to a batch.
func (e *Entry) plan(b *conn.Batch, paths []string, data []byte, fresh bool) *together {
	const flags = zk.FlagEphemeral | zk.FlagSequence
	t := &together{fresh: fresh}
	t.data = data
	if fresh {
		ops := []any{&conn.Container{Path: e.order.Places[0].Parent, Acl: e.order.ACL}}
		for _, p := range paths {
			ops = append(ops, &zk.CreateRequest{Path: p, Data: data, Acl: e.order.ACL, Flags: flags})
		}
		t.create = b.Multi(ops...)
	} else {
		t.create = b.Create(paths, data, flags, e.order.ACL)
		t.lists = e.ask(b)
	}
	return t
}

// take records what came of an attempt whose create is done, and returns the error of
// the create.
func (e *Entry) take(t *together) error {
	e.ran, e.sent, e.made, e.czxid, e.beside = t.create.Ran(), t.data, nil, 0, nil
	if err := t.create.Err(); err != nil {
		return err
	}
	e.made, e.czxid, e.beside = t.create.Made(), t.create.Zxid(), t
	if len(e.made) > len(e.order.Places) {
		e.made = e.made[1:] // without the parent, or the node that was deleted
	}
	return nil
}

// maxBeside bounds the places of which a listing is requested beside the create. The
// others are listed after it.
const maxBeside = 64

// ask adds to a batch what is to be known of each place. Of several places it asks nothing
// if some may not exist: the create would fail, and the answers would be in vain.
func (e *Entry) ask(b *conn.Batch) []*conn.Call {
	st, _ := e.c.State()
	lists := make([]*conn.Call, len(e.order.Places))
	if len(lists) > 1 && !e.order.Census.knows(e.order.Places) {
		return lists
	}
	asked := 0
	for i, p := range e.order.Places {
		if asked++; p.Kazoo || asked > maxBeside {
			continue
		}
		if e.order.Census.asks(p, st.Epoch) {
			lists[i] = b.Children(p.Parent)
		}
	}
	return lists
}

// firstViews returns what is known of the line at each place without a further request,
// once the nodes stand. Where nothing is known, the view is nil.
func (e *Entry) firstViews() []*view {
	seen := make([]*view, len(e.order.Places))
	t := e.beside
	if t == nil {
		return seen
	}
	e.beside = nil // it says nothing of later nodes
	var free []string
	for i, p := range e.order.Places {
		if p.Kazoo {
			continue
		}
		if seen[i] = t.seen; !t.looked {
			seen[i] = e.counted(i, t)
		}
		if seen[i] == nil && t.lists != nil && t.lists[i] != nil {
			_ = t.lists[i].Wait(context.Background())
			seen[i] = e.viewOf(i, t.lists[i])
			if e.isFree(i, seen[i]) && e.order.Census.wants(p.Parent) {
				free = append(free, p.Parent)
			}
		}
	}
	e.watchParents(free)
	return seen
}

// isFree reports whether it is our turn at place i, and nobody stands behind us.
func (e *Entry) isFree(i int, v *view) bool {
	return v.line != nil && len(v.line)-v.own <= len(e.ours(i)) && e.order.Places[i].turn(v.line, v.own)
}

// watchParents requests the watches that the census wants. Nobody waits for the answers.
func (e *Entry) watchParents(parents []string) {
	if len(parents) == 0 {
		return
	}
	b := e.c.Batch()
	for _, p := range parents {
		w := b.Watch(p)
		w.Then(func() { e.c.Leave(e.order.Census.watches(p, w.Watch())) })
	}
	b.Send(e.c.Life())
}

// counted returns the line at place i if the create itself shows that it is our turn there.
func (e *Entry) counted(i int, t *together) *view {
	p, ours, epoch := e.order.Places[i], e.ours(i), t.create.Ran().Before.Epoch
	if len(ours) == 0 {
		return nil
	}
	line, ok := ours, t.fresh
	if t.fresh {
		e.order.Census.met(p.Parent, false)
		e.learn(i, line, t.create.Zxid(), epoch)
	} else {
		line, ok = e.order.Census.counts(p, ours, epoch)
	}
	own := slices.IndexFunc(line, func(n znode.Name) bool { return n.Raw == ours[0].Raw })
	if !ok || !p.turn(line, own) {
		return nil
	}
	return &view{line: line, own: own, at: t.create.Sent()}
}

// ours returns the names of our nodes at place i: the one in line, and its twin.
func (e *Entry) ours(i int) (ours []znode.Name) {
	for j := i; j < len(e.nodes) && (j == i || e.order.Places[j].Kazoo); j++ {
		n, ok := znode.Parse(path.Base(e.nodes[j]))
		if !ok {
			return nil
		}
		ours = append(ours, n)
	}
	return ours
}

// learn passes a line that has our nodes to the census.
func (e *Entry) learn(i int, line []znode.Name, czxid int64, epoch uint64) {
	if ours := e.ours(i); len(ours) > 0 {
		e.c.Leave(e.order.Census.learn(e.order.Places[i], line, ours[len(ours)-1].Seq+1, czxid, epoch))
	}
}

// children lists the line at place i.
func (e *Entry) children(i int) *conn.Call {
	b := e.c.Batch()
	list := b.Children(e.order.Places[i].Parent)
	b.Send(e.c.Life())
	_ = list.Wait(context.Background())
	return list
}

// viewOf returns the line that a listing has answered.
func (e *Entry) viewOf(i int, list *conn.Call) *view {
	v := &view{at: list.Sent()}
	e.see(v, i, list.Names(), list.Ran(), list.Err())
	if v.line != nil {
		e.learn(i, v.line, list.Stat().Czxid, list.Ran().Before.Epoch)
	}
	return v
}

// watchBoth sends the requests for watches on two nodes in one write. It returns the watch
// on the first node although conn.Conn.Watch shares it: once the node is gone, that would
// ask again. The caller gets the watch on the other node from there.
func (e *Entry) watchBoth(one, other string) (*conn.Watch, error) {
	b := e.c.Batch()
	first, second := b.Watch(one), b.Watch(other)
	second.Then(func() { e.c.Leave(second.Watch()) }) // the caller uses it
	b.Send(e.c.Life())
	switch err := first.Wait(e.c.Life()); {
	case err == nil:
		return first.Watch(), nil
	case errors.Is(err, zk.ErrNoNode):
		return nil, err
	}
	return e.c.Watch(one)
}
