package conn

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

func isDone(w *Watch) bool {
	select {
	case <-w.Done():
		return true
	default:
		return false
	}
}

// All callers that watch a node share one watch and one request.
func TestWatchIsShared(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() {
			f.nodes["/node"] = &node{data: string(bytes.Repeat([]byte("x"), 5000)), stat: wire.Stat{Czxid: 77}}
		})
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpGetData {
					a.delay = time.Second // for the others to join meanwhile
				}
				return a
			}
		})
		var wg sync.WaitGroup
		got := make([]*Watch, 50)
		for i := range got {
			wg.Go(func() {
				w, err := c.Watch("/node")
				if err != nil {
					t.Error(err)
				}
				got[i] = w
			})
		}
		wg.Wait()
		w := got[0]
		for _, other := range got {
			if other != w {
				t.Fatal("two watches on one node")
			}
		}
		if n := f.countOf(wire.OpGetData); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
		if len(w.Data) != keepData || w.Stat.Czxid != 77 || w.Epoch != 1 || w.Path != "/node" {
			t.Errorf("%d bytes, %+v, epoch %d, %s", len(w.Data), w.Stat, w.Epoch, w.Path)
		}
		if over, deleted := w.Over(); over || deleted {
			t.Error("over before its event")
		}
		ended := make(chan bool, 2)
		notify := func() { ended <- isDone(w) }
		c.After(w, notify)
		f.do(func() { f.remove("/node") })
		<-w.Done()
		c.After(w, notify) // it is over already
		for range 2 {
			if !<-ended {
				t.Error("After came before the end")
			}
		}
		if over, deleted := w.Over(); !over || !deleted {
			t.Errorf("after its deletion: over %v, deleted %v", over, deleted)
		}
		if _, err := c.Watch("/node"); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("on no node: %v", err)
		}
		if n := c.watches.len(); n != 0 {
			t.Errorf("%d watches left", n)
		}
	})
}

// A watch ends with its connection, and the next caller gets a new one.
func TestWatchEndsWithItsConnection(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		w, err := c.Watch("/node")
		if err != nil {
			t.Fatal(err)
		}
		f.cut()
		<-w.Done()
		if over, deleted := w.Over(); !over || deleted {
			t.Errorf("over %v, deleted %v", over, deleted)
		}
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		next, err := c.Watch("/node")
		if err != nil || next == w || next.Epoch != 2 {
			t.Errorf("%+v, %v", next, err)
		}
		// If the answer is lost with the connection, there is no watch.
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpGetData && p.n == 2} }
		})
		ephemeral(t, c, "/other")
		go func() { time.Sleep(time.Second); f.cut() }()
		if w, err := c.Watch("/other"); err == nil {
			t.Errorf("%+v without an answer", w)
		}
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Watch("/other"); err != nil {
			t.Error(err)
		}
	})
}

// An event that comes before the answer to its watch is not lost. The creation of a node
// ends no watch.
func TestWatchEvents(t *testing.T) {
	event := func(kind int32, path string) []byte {
		return frame(header(wire.XidEvent, 0), wire.Event{Type: kind, State: wire.StateConnected, Path: path}.Append(nil))
	}
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) act {
				if h.Op == wire.OpGetData {
					p.out <- event(wire.EventDeleted, "/node")
				}
				return act{}
			}
		})
		w, err := c.Watch("/node")
		if err != nil {
			t.Fatal(err)
		}
		<-w.Done()
		f.do(func() { f.script = nil })
		w, err = c.Watch("/node")
		if err != nil {
			t.Fatal(err)
		}
		f.do(func() {
			f.peers[0].out <- event(wire.EventCreated, "/node")
			f.peers[0].out <- event(wire.EventDeleted, "/another")
		})
		time.Sleep(time.Second)
		if isDone(w) {
			t.Error("ended by another's event")
		}
		f.do(func() { f.peers[0].out <- event(wire.EventDataChanged, "/node") })
		<-w.Done()
		if _, deleted := w.Over(); deleted {
			t.Error("a change counts as a deletion")
		}
	})
}
