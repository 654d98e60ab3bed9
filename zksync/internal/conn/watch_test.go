package conn

import (
	"bytes"
	"context"
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

// All who wait for a node share one watch and one request.
func TestWatchIsShared(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() {
			f.nodes["/node"] = &node{data: string(bytes.Repeat([]byte("x"), 5000)), stat: wire.Stat{Czxid: 77}}
		})
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) (a act) {
				if h.Op == wire.OpGetData {
					a.delay = time.Second // for the others to come meanwhile
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
		told := make(chan bool, 2)
		tell := func() { told <- isDone(w) }
		c.After(w, tell)
		f.do(func() { f.remove("/node") })
		<-w.Done()
		c.After(w, tell) // late
		for range 2 {
			if !<-told {
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

// A watch ends with its connection, and the next one is asked for anew.
func TestWatchEndsWithItsConnection(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
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
		// An answer that is lost with the connection is no watch.
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

// An event that overtakes the answer to its watch is not lost; that a node was
// made ends no watch on it.
func TestWatchEvents(t *testing.T) {
	event := func(kind int32, path string) []byte {
		return frame(header(wire.XidEvent, 0), wire.Event{Type: kind, State: wire.StateConnected, Path: path}.Append(nil))
	}
	bubble(t, "", func(t *testing.T) {
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

// foreign opens a client as a program does, and adapts it.
func foreign(t *testing.T, f *fake, onState func(State)) (*zk.Conn, *Conn) {
	t.Helper()
	zc, events, err := zk.Connect([]string{"127.0.0.1:2181"}, T, zk.WithDialer(f.dial), zk.WithLogInfo(false),
		zk.WithLogger(quiet{newConn(Config{}).Logger()}))
	if err != nil {
		t.Fatal(err)
	}
	c := Adapt(zc, Config{Timeout: T, OnState: onState})
	t.Cleanup(func() {
		c.Close(context.Background())
		if s := zc.State(); s != zk.StateHasSession {
			t.Errorf("the program's client is %v after Close", s)
		}
		zc.Close()
		for range events {
		}
		f.cut()
		f.wg.Wait()
	})
	return zc, c
}

// A client of the program's: its state is polled, its watches are forwarded,
// and it stays open.
func TestForeignClient(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		var states []State
		var mu sync.Mutex
		zc, c := foreign(t, f, func(st State) { mu.Lock(); states = append(states, st); mu.Unlock() })
		st, err := c.Await(t.Context())
		if err != nil || st.Session != 1 || st.Epoch != 1 || c.Zk() != zc || c.Ordered() {
			t.Errorf("%+v, %v", st, err)
		}
		if c.Alive(1) {
			t.Error("alive before anything was proven")
		}
		l := newLossLog()
		node := ephemeral(t, c, "/node")
		if !c.Alive(1) {
			t.Error("not alive after a write")
		}
		c.Guard([]string{node}, 1, l.lost)
		w, err := c.Watch(node)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.Watch("/")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(T)
		l.never(t)
		if _, err := c.Delete(node); err != nil {
			t.Fatal(err)
		}
		<-w.Done()
		if _, deleted := w.Over(); !deleted {
			t.Error("the deletion was not told")
		}
		if at := l.at(t, ErrNodeGone); at > T+T/6 {
			t.Errorf("told after %v", at)
		}
		last := newLossLog()
		c.Guard([]string{"/"}, 1, last.lost)
		f.expire()
		last.at(t, ErrSessionOver)
		<-other.Done()
		if _, deleted := other.Over(); deleted {
			t.Error("the end of the session counts as a deletion")
		}
		if st, err := c.Await(t.Context()); err != nil || st.Session != 2 {
			t.Errorf("%+v, %v", st, err)
		}
		mu.Lock()
		defer mu.Unlock()
		expired := 0
		for _, st := range states {
			if st.Expired {
				expired++
			}
		}
		if expired != 1 {
			t.Errorf("%d expiries in %+v", expired, states)
		}
	})
	bubble(t, "WatchOutlivesTheAdapter", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		w, err := c.Watch("/")
		if err != nil {
			t.Fatal(err)
		}
		c.Close(t.Context())
		if !isDone(w) {
			t.Error("a watch outlives Close")
		}
		if _, err := c.Watch("/"); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
	// Its connection is not ours to cut: the loss is told all the same.
	bubble(t, "Silent", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		node := ephemeral(t, c, "/node")
		l := newLossLog()
		c.Guard([]string{node}, 1, l.lost)
		f.do(func() {
			f.script = func(_ *peer, h wire.RequestHeader) act { return act{silent: h.Op == wire.OpMulti} }
		})
		if at := l.at(t, ErrNoContact); at != T/2 {
			t.Errorf("told after %v, want %v", at, T/2)
		}
		f.do(func() { f.script = nil })
		if n := f.dials(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}
