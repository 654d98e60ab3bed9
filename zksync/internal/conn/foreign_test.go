package conn

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// A client is suspected to be closed at the second look in a row that finds it idle,
// and when it has had no session for T/2.
func TestAbsence(t *testing.T) {
	const (
		session = zk.StateHasSession
		dials   = zk.StateConnecting
		idle    = zk.StateDisconnected
	)
	for name, looks := range map[string][]struct {
		at    time.Duration
		state zk.State
		want  bool
	}{
		"Connected":     {{0, session, false}, {T, session, false}, {2 * T, session, false}},
		"Idle":          {{0, session, false}, {1, idle, false}, {2, idle, true}, {3, idle, true}},
		"IdleInBetween": {{0, idle, false}, {1, dials, false}, {2, idle, false}, {3, session, false}, {4, idle, false}},
		"Long":          {{0, dials, false}, {T/2 - 1, dials, false}, {T / 2, dials, true}},
		"Short":         {{0, dials, false}, {T/2 - 1, session, false}, {T / 2, dials, false}, {T - 1, dials, false}, {T, dials, true}},
	} {
		start := time.Now()
		var a absence
		for i, look := range looks {
			if got := a.suspicious(look.state, start.Add(look.at), T); got != look.want {
				t.Errorf("%s: look %d: suspicious %v", name, i, got)
			}
		}
	}
}

// foreign makes a client as a program does, and adapts it.
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

// The state of a program's client is polled, its events end the watches, and Close
// leaves it open.
func TestForeignClient(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
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
			t.Error("the deletion was not reported")
		}
		if at := l.at(t, ErrNodeGone); at > T+T/6 {
			t.Errorf("reported after %v", at)
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
	inBubble(t, "WatchOutlivesTheAdapter", func(t *testing.T) {
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
	// Its connection is never cut. The loss is reported all the same.
	inBubble(t, "Silent", func(t *testing.T) {
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
			t.Errorf("reported after %v, want %v", at, T/2)
		}
		f.do(func() { f.script = nil })
		if n := f.dials(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// If the program closes its client, the Conn notices soon, and every wait ends. A client
// that has only lost its connection is never taken for closed.
func TestClosedForeignClient(t *testing.T) {
	inBubble(t, "Closed", func(t *testing.T) {
		for _, refused := range []bool{false, true} {
			f := newFake(T)
			zc, c := foreignUntil(t, f)
			if _, err := c.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := newLossLog()
			c.Guard([]string{ephemeral(t, c, "/node")}, 1, l.lost)
			if refused {
				f.do(func() { f.refuse = errRefused })
				f.cut()
				time.Sleep(time.Second)
			}
			zc.Close()
			ctx, cancel := context.WithTimeout(t.Context(), T/6)
			for {
				if _, err := c.Await(ctx); errors.Is(err, ErrClientClosed) && errors.Is(err, ErrClosed) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			cancel()
			if _, _, err := c.Create([]string{"/x"}, nil, 0, acl); !errors.Is(err, ErrClientClosed) {
				t.Errorf("Create: %v", err)
			}
			if at := l.at(t, ErrNoContact); at != T/2 {
				t.Errorf("lost after %v, want %v", at, T/2)
			}
			c.Close(t.Context())
			if _, err := c.Await(t.Context()); !errors.Is(err, ErrClosed) || errors.Is(err, ErrClientClosed) {
				t.Errorf("after Close: %v", err)
			}
			f.cut()
			f.wg.Wait()
		}
	})
	inBubble(t, "ComesAndGoes", func(t *testing.T) {
		f := newFake(T)
		_, c := foreign(t, f, nil)
		for i := range 200 {
			f.do(func() {
				f.refuse = []error{nil, errRefused}[i%2]
				f.script = []func(*peer, wire.RequestHeader) act{nil, allMute, func(*peer, wire.RequestHeader) act { return act{cut: true} }}[i%3]
			})
			f.cut()
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
		}
		f.do(func() { f.refuse, f.script = nil, nil })
		if _, err := c.Await(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// foreignUntil is foreign for a client that the test closes.
func foreignUntil(t *testing.T, f *fake) (*zk.Conn, *Conn) {
	t.Helper()
	zc, _, err := zk.Connect([]string{"127.0.0.1:2181"}, T, zk.WithDialer(f.dial), zk.WithLogInfo(false),
		zk.WithLogger(quiet{newConn(Config{}).Logger()}))
	if err != nil {
		t.Fatal(err)
	}
	return zc, Adapt(zc, Config{Timeout: T})
}
