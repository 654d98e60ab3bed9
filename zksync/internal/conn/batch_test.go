package conn

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The requests of a batch leave in one write, in their order, and the answers reach their
// calls.
func TestBatch(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c, w := noted(t, f)
		f.do(func() { f.nodes["/q"] = &node{data: "parent", stat: wire.Stat{Czxid: 7}} })
		w.take()
		before := c.Requests()
		b := c.Batch()
		create := b.Create([]string{"/q/x-"}, []byte("d"), zk.FlagEphemeral|zk.FlagSequence, acl)
		names := b.Children("/q")
		watch := b.Watch("/q")
		gone := b.Delete("/none")
		var thens []string
		create.Then(func() { thens = append(thens, "create") })
		gone.Then(func() { thens = append(thens, "delete") })
		b.Send(t.Context())
		for _, k := range b.calls {
			<-k.Done()
		}
		if got := w.take(); len(got) != 1 || !slices.Equal(got[0], []wire.Op{wire.OpCreate, wire.OpGetChildren2, wire.OpGetData, wire.OpDelete}) {
			t.Errorf("writes: %v", got)
		}
		if create.Err() != nil || !slices.Equal(create.Made(), []string{"/q/x-0000000000"}) || create.Ran().Session() != 1 || create.Zxid() == 0 {
			t.Errorf("create: %v, %v, %+v, zxid %d", create.Err(), create.Made(), create.Ran(), create.Zxid())
		}
		if !slices.Equal(names.Names(), []string{"x-0000000000"}) {
			t.Errorf("names: %v", names.Names())
		}
		if wa := watch.Watch(); wa == nil || wa.Stat.Czxid != 7 || string(wa.Data) != "parent" || wa.Epoch != 1 || isDone(wa) {
			t.Errorf("watch: %+v", wa)
		}
		if !errors.Is(gone.Wait(t.Context()), zk.ErrNoNode) {
			t.Errorf("delete: %v", gone.Err())
		}
		if n := c.Requests() - before; n != 4 || !slices.Equal(thens, []string{"create", "delete"}) {
			t.Errorf("%d requests; thens: %v", n, thens)
		}
		// A watch that is set already costs no request.
		b = c.Batch()
		again := b.Watch("/q")
		b.Send(t.Context())
		if err := again.Wait(t.Context()); err != nil || again.Watch() != watch.Watch() || len(w.take()) != 0 {
			t.Errorf("the same watch: %v, %v", again.Watch(), err)
		}
		f.do(func() { f.remove("/q") })
		<-watch.Watch().Done()
		if n := len(c.link.zc.State().String()); n == 0 || channels(c.link.zc) != 0 {
			t.Error("the client has a watch of ours")
		}
	})
}

// A program's client makes the requests of a batch one after the other, and none after
// one without an answer.
func TestBatchOfAProgramsClient(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := c.Batch()
		create := b.Create([]string{"/x", "/y"}, nil, zk.FlagEphemeral, acl)
		watch := b.Watch("/x")
		names := b.Children("/")
		multi := b.Multi(&Container{Path: "/c", Acl: acl})
		del := b.Delete("/x") // ends the watch: the client would set it again, with a data race
		b.Send(t.Context())
		<-del.Done()
		if !slices.Equal(create.Made(), []string{"/x", "/y"}) || watch.Watch() == nil || !slices.Equal(names.Names(), []string{"x", "y"}) {
			t.Errorf("made %v, watch %v, names %v", create.Made(), watch.Watch(), names.Names())
		}
		if !Unimplemented(multi.Err()) || del.Err() != nil {
			t.Errorf("%v, %v", multi.Err(), del.Err())
		}
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: true, cut: h.Op == wire.OpDelete} }
		})
		b = c.Batch()
		lost, not := b.Delete("/y"), b.Delete("/none")
		b.Send(t.Context())
		time.Sleep(time.Second)
		f.do(func() { f.script = nil })
		f.cut()
		<-not.Done()
		if Classify(lost.Err()) != Unknown || Classify(not.Err()) != NotSent {
			t.Errorf("%v, %v", lost.Err(), not.Err())
		}
		result := make(chan error, 1)
		if err := c.DeleteAsync("/none", Wait, func(_ Ran, err error) { result <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("DeleteAsync: %v", err)
		}
	})
}

// At most maxOutstanding requests wait for their answers. Send waits for its turn until
// its ctx ends.
func TestBatchWaitsForASlot(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() { f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpSync} } })
		for range maxOutstanding / 2 {
			b := c.Batch()
			b.Sync("/")
			b.Sync("/")
			b.Send(t.Context())
		}
		before := c.Requests()
		cause := errors.New("no patience")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		b := c.Batch()
		late := b.Delete("/x")
		b.Send(ctx)
		if err := late.Wait(t.Context()); Classify(err) != NotSent || !errors.Is(err, cause) || c.Requests() != before {
			t.Errorf("%v, %d requests", err, c.Requests()-before)
		}
		start := time.Now()
		if err := c.DeleteAsync("/x", Wait, nil); Classify(err) != NotSent || time.Since(start) != 0 {
			t.Errorf("DeleteAsync after %v: %v", time.Since(start), err)
		}
		f.do(func() { f.script = nil })
		f.cut() // all are finished, and their slots are free
		time.Sleep(time.Second)
		if err := c.slot(t.Context(), maxOutstanding); err != nil {
			t.Fatal(err)
		}
		c.slots.Release(maxOutstanding)
	})
}
