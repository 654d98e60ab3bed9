package queue

import (
	"context"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// StandSoon does the same as Stand if one request may be enough, which it sends without a
// wait for the answer. done gets the result of Stand, once, perhaps before StandSoon
// returns. If the answer to that request shows that it is the entry's turn, done is called
// by the goroutine that reads the answers: done must not block if the result is nil.
// Otherwise another goroutine goes on as Stand does, with the context that next returns,
// and calls done.
//
// If more than that request is needed in any case, or if nothing could be sent, StandSoon
// does nothing and returns false.
func (e *Entry) StandSoon(next func() context.Context, done func(error)) bool {
	if len(e.order.Places) > 1 || e.order.After != nil || e.order.Try || !e.c.Ordered() {
		return false
	}
	fresh := e.isFresh()
	paths, data := e.begin()
	b := e.c.Batch()
	t := e.plan(b, paths, data, fresh)
	e.begun = t
	t.create.Then(func() { e.answered(t, next, done) })
	forget := e.reports(paths)
	sent := b.SendSoon()
	forget() // Sent was called, if the request is one that it is called for
	if !sent {
		e.begun = nil
		e.forget()
	}
	return sent
}

// answered handles the answer to the create of StandSoon. It must not block.
func (e *Entry) answered(t *together, next func() context.Context, done func(error)) {
	if e.isTurn(t) {
		done(nil)
		return
	}
	go func() {
		ctx := next()
		if e.begun == nil { // the node stands
			done(e.stand(ctx, nil))
			return
		}
		done(e.stand(ctx, e.create(ctx)))
	}()
}

// isTurn reports whether the answer to a create shows that it is the entry's turn. It makes
// no request and calls no function of the program.
func (e *Entry) isTurn(t *together) bool {
	if err := e.take(t); err != nil || e.ran.Session() == 0 {
		return false
	}
	e.begun = nil
	e.stood()
	t.seen, t.looked = e.counted(0, t), true
	st, _ := e.c.State()
	v := t.seen
	if v == nil || limitsDiffer(v) || !st.Up || st.Session != e.session || !e.c.AliveFor(e.session, e.c.Timeout()/6) {
		return false
	}
	if now, err := e.decide(0, v); err != nil || !now.Held {
		return false
	}
	e.announce(v.line, v.own)
	e.succeeded()
	return true
}

// limitsDiffer reports whether a permit before ours has another limit, which the program is
// to be told of.
func limitsDiffer(v *view) bool {
	own := v.line[v.own]
	return own.Kind == znode.Permit && slices.ContainsFunc(v.line[:v.own], func(n znode.Name) bool {
		return n.Kind == znode.Permit && n.Limit != own.Limit
	})
}
