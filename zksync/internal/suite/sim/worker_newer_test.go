package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// newer does a step of the newer kinds.
func (k *worker) newer(o op, x want, m lock, ctx context.Context) {
	path := k.p.w.paths[o.path]
	switch o.kind {
	case "inspect":
		k.inspect(o)
	case "deadlocks":
		k.deadlocks(o)
	case "nested", "then":
		k.nested(o, x, m, ctx)
	case "zero", "wrong":
		k.wrong(o, path, ctx)
	case "reenter":
		k.reenter(o, path, ctx)
	case "revoke":
		k.revoke(o, path, ctx)
	case "elect":
		k.elect(o, x, m, ctx)
	case "ask back":
		k.askBack(path, ctx)
	}
}

// newName is the name of an owner that is no other's.
func (k *worker) newName() string {
	k.owners++
	return fmt.Sprintf("%s#%d", k.name, k.owners)
}

// nested takes a lock for an owner, and then another, without the first if the
// kind is "then".
func (k *worker) nested(o op, x want, m lock, ctx context.Context) {
	w := k.p.w
	owner := zksync.NewOwner(k.newName())
	x.owner = owner.Name()
	c := k.take(o, x, k.locker(x.seats[0].path, asMutex).As(owner), ctx, false, nil)
	if c == nil {
		return
	}
	time.Sleep(o.work / 2)
	if o.kind == "then" {
		k.unlock(c)
	}
	second := w.paths[o.parts[0].path]
	ctx, cancel := context.WithTimeout(k.bg, o.wait)
	defer cancel()
	y := want{p: k.p, owner: x.owner, seats: []seat{{path: second, mode: asMutex}}}
	if d := k.take(o, y, k.locker(second, asMutex).As(owner), ctx, false, nil); d != nil {
		time.Sleep(o.work / 2)
		k.unlock(d)
	}
	if o.kind == "nested" {
		k.unlock(c)
	}
}
