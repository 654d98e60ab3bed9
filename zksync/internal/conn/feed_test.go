package conn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// channels is how many channels for events a client keeps. Nothing may be going on.
func channels(zc *zk.Conn) (n int) {
	for it := reflect.ValueOf(zc).Elem().FieldByName("watchers").MapRange(); it.Next(); {
		n += it.Value().Len()
	}
	return n
}

// running is how many goroutines there are, counted while the world stands still:
// runtime.NumGoroutine counts some that have ended as running, by the dozen, while
// the runtime moves its records of them.
func running() int {
	all := make([]runtime.StackRecord, 10_000)
	n, _ := runtime.GoroutineProfile(all)
	return n
}

// Each reconnect has everybody watch again what was watched before. On a client of the
// program's that costs no more of it, nor of us.
func TestForeignWatchesDoNotPileUp(t *testing.T) {
	const paths, times = 20, 50
	bubble(t, "", func(t *testing.T) {
		f := newFake(T)
		zc, c := foreign(t, f, nil)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		var nodes []string
		for i := range paths {
			nodes = append(nodes, ephemeral(t, c, fmt.Sprint("/", i)))
		}
		goroutines := 0
		for i := range times {
			for _, node := range nodes {
				if _, err := c.Watch(node); err != nil {
					t.Fatal(err)
				}
				if _, err := c.WatchChildren(node); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(T)
			synctest.Wait()
			if i == 0 {
				goroutines = running()
			}
			if got, n := running(), channels(zc); got > goroutines+paths/2 || n != 2*paths {
				t.Fatalf("after %d reconnects %d goroutines, %d at first, and %d channels for %d watches", i, got, goroutines, n, 2*paths)
			}
			f.cut()
			time.Sleep(2 * time.Second) // the client's own pause
		}
		// The channels that were kept bring the events.
		for _, node := range nodes {
			w, err := c.Watch(node)
			if err != nil {
				t.Fatal(err)
			}
			f.do(func() { f.remove(node) })
			<-w.Done()
			if _, deleted := w.Over(); !deleted {
				t.Errorf("the end of %s was not told", node)
			}
		}
		synctest.Wait()
		if n := channels(zc); n != 0 {
			t.Errorf("%d channels left", n)
		}
	})
}

// inherits returns a watch that a client of the program's has from the connection
// before, and did not set again.
func inherits(t *testing.T) (*fake, *Conn, *Watch) {
	t.Helper()
	f := newFake(T)
	_, c := foreign(t, f, nil)
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	ephemeral(t, c, "/node")
	if _, err := c.Watch("/node"); err != nil {
		t.Fatal(err)
	}
	f.do(func() { f.losesWatches = true })
	f.cut()
	time.Sleep(2 * time.Second)
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch("/node")
	if err != nil {
		t.Fatal(err)
	}
	return f, c, w
}

// The client may set a watch again as of an answer that came after the change: the
// node is looked at once more.
func TestForeignWatchIsLookedAtAgain(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(f *fake)
		ends    bool
		deleted bool
	}{
		"Nothing": {change: func(*fake) {}},
		"Data":    {change: func(f *fake) { f.nodes["/node"].stat.Mzxid++ }, ends: true},
		"Gone":    {change: func(f *fake) { delete(f.nodes, "/node") }, ends: true, deleted: true},
	} {
		bubble(t, name, func(t *testing.T) {
			f, _, w := inherits(t)
			f.do(func() { test.change(f) })
			time.Sleep(T/6 + time.Second)
			if over, deleted := w.Over(); over != test.ends || deleted != test.deleted {
				t.Errorf("over %v, deleted %v", over, deleted)
			}
		})
	}
}

// The client may fail to set its watches again, and keep the connection: the node is
// looked at for as long as the watch serves, at a bounded rate, and not longer.
func TestForeignWatchIsLookedAtWhileItServes(t *testing.T) {
	const times = 5
	for name, ends := range map[string]func(f *fake, c *Conn){
		"Changed": func(f *fake, _ *Conn) { f.do(func() { f.nodes["/node"].stat.Mzxid++ }) },
		"Cut":     func(f *fake, _ *Conn) { f.cut(); time.Sleep(2 * time.Second) },
		"Closed":  func(_ *fake, c *Conn) { c.Close(context.Background()) },
	} {
		bubble(t, name, func(t *testing.T) {
			f, c, w := inherits(t)
			// An answer that says nothing does not end it.
			f.do(func() {
				f.script = func(_ *peer, h wire.RequestHeader) (a act) {
					if h.Op == wire.OpExists {
						a.code = wire.CodeThrottledOp
					}
					return a
				}
			})
			time.Sleep(T * times)
			f.do(func() { f.script = nil })
			if n := f.countOf(wire.OpExists); n != times {
				t.Errorf("%d looks in %v, want %d", n, T*times, times)
			}
			if over, _ := w.Over(); over {
				t.Error("over while nothing has changed")
			}
			ends(f, c)
			time.Sleep(T)
			if over, _ := w.Over(); !over {
				t.Error("the watch goes on")
			}
			time.Sleep(times * T)
			found := 0
			if name == "Changed" {
				found = 1
			}
			if n := f.countOf(wire.OpExists) - times; n != found {
				t.Errorf("%d looks after that, want %d", n, found)
			}
		})
	}
}

// That the program has closed its client is found out, soon, and ends every wait; a
// client that is only cut off is not taken for closed, whatever it is asked.
func TestClosedForeignClient(t *testing.T) {
	bubble(t, "Closed", func(t *testing.T) {
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
	bubble(t, "ComesAndGoes", func(t *testing.T) {
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
