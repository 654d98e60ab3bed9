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

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// The feed reads the node of a watch that has no channel of its own: first after T/6,
// and then every T until the node has changed.
func TestFeed(t *testing.T) {
	same := &zk.Stat{Mzxid: 5, Pzxid: 5}
	for name, test := range map[string]struct {
		key   watchKey
		stat  *zk.Stat // at the third look
		err   error
		event zk.EventType // the event that ends the watch; 0: none does
	}{
		"Same":            {dataKey, same, nil, 0},
		"SameChildren":    {childrenKey, same, nil, 0},
		"Error":           {dataKey, nil, zk.ErrConnectionClosed, 0},
		"Gone":            {dataKey, nil, zk.ErrNoNode, zk.EventNodeDeleted},
		"Data":            {dataKey, &zk.Stat{Mzxid: 6, Pzxid: 5}, nil, zk.EventNodeDataChanged},
		"OnlyData":        {childrenKey, &zk.Stat{Mzxid: 6, Pzxid: 5}, nil, 0},
		"Children":        {childrenKey, &zk.Stat{Mzxid: 5, Pzxid: 6}, nil, zk.EventNodeChildrenChanged},
		"OnlyChildren":    {dataKey, &zk.Stat{Mzxid: 5, Pzxid: 6}, nil, 0},
		"ChildrenAndGone": {childrenKey, nil, zk.ErrNoNode, zk.EventNodeDeleted},
		"Missing":         {creationKey, nil, zk.ErrNoNode, 0},
		"Created":         {creationKey, same, nil, zk.EventNodeCreated},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				table := newWatches()
				w, _, _ := table.get(test.key)
				before, missing := same, error(nil)
				if test.key.creation {
					before, missing = new(zk.Stat), zk.ErrNoNode
				}
				w.Stat = *before
				start := time.Now()
				var looks []time.Duration
				f := &feed{watches: table, timeout: T, life: t.Context(), start: func(f func()) { go f() },
					stat: func(string) (*zk.Stat, error) {
						if looks = append(looks, time.Since(start)); len(looks) == 3 {
							return test.stat, test.err
						}
						return before, missing
					}}
				f.follow(w, true, nil)
				time.Sleep(4 * T)
				synctest.Wait()
				over, _ := w.Over()
				want := 4
				if test.event != 0 {
					want = 3
				}
				if len(looks) != want || looks[0] != T/6 || looks[2] != T/6+2*T || over != (test.event != 0) || w.event != test.event {
					t.Errorf("looks after %v, over %v with event %v", looks, over, w.event)
				}
				table.close()
			})
		})
	}
}

// The event of a channel ends the watch. The client also reports the end of the session
// on the channel, which ends the watch without an event. A watch that could not be set
// waits for nothing.
func TestFeedOfAChannel(t *testing.T) {
	for name, test := range map[string]struct{ sent, want zk.EventType }{
		"Deleted": {zk.EventNodeDeleted, zk.EventNodeDeleted},
		"Expired": {zk.EventNotWatching, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				table := newWatches()
				f := &feed{watches: table, timeout: T, life: t.Context(), start: func(f func()) { go f() },
					stat: func(string) (*zk.Stat, error) { t.Error("the node is read"); return nil, nil }}
				failed, _, _ := table.get(childrenKey)
				table.answered(failed, 1, errors.New("no answer"), false)
				f.follow(failed, true, nil)
				f.follow(failed, false, nil)

				w, _, _ := table.get(dataKey)
				events := make(chan zk.Event, 1)
				f.follow(w, false, events)
				time.Sleep(T)
				if over, _ := w.Over(); over {
					t.Error("over before its event")
				}
				events <- zk.Event{Type: test.sent}
				synctest.Wait()
				if over, _ := w.Over(); !over || w.event != test.want {
					t.Errorf("over %v, with event %v", over, w.event)
				}
			})
		})
	}
}

// channels returns how many channels for events a client keeps. The client must be idle.
func channels(zc *zk.Conn) (n int) {
	for it := reflect.ValueOf(zc).Elem().FieldByName("watchers").MapRange(); it.Next(); {
		n += it.Value().Len()
	}
	return n
}

// running returns the number of goroutines, counted while the runtime stops them all.
// runtime.NumGoroutine is not exact: it counts dozens that have ended, while the runtime
// moves its records of them.
func running() int {
	all := make([]runtime.StackRecord, 10_000)
	n, _ := runtime.GoroutineProfile(all)
	return n
}

// After each reconnect all watches are requested again. With a program's client that
// adds neither channels nor goroutines.
func TestForeignWatchesDoNotPileUp(t *testing.T) {
	const paths, times = 20, 50
	inBubble(t, "", func(t *testing.T) {
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
		// The old channels bring the events.
		for _, node := range nodes {
			w, err := c.Watch(node)
			if err != nil {
				t.Fatal(err)
			}
			f.do(func() { f.remove(node) })
			<-w.Done()
			if _, deleted := w.Over(); !deleted {
				t.Errorf("the end of %s was not reported", node)
			}
		}
		synctest.Wait()
		if n := channels(zc); n != 0 {
			t.Errorf("%d channels left", n)
		}
	})
}

// inherits returns a watch that relies on the channel of the connection before, and
// that a program's client has not set again.
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

// The client may set a watch again as of an answer that came after a change. So the
// node is read once more.
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
		inBubble(t, name, func(t *testing.T) {
			f, _, w := inherits(t)
			f.do(func() { test.change(f) })
			time.Sleep(T/6 + time.Second)
			if over, deleted := w.Over(); over != test.ends || deleted != test.deleted {
				t.Errorf("over %v, deleted %v", over, deleted)
			}
		})
	}
}

// The client may fail to set its watches again, and keep the connection. So the node is
// read every T until the watch is over, and not longer.
func TestForeignWatchIsLookedAtWhileItServes(t *testing.T) {
	const times = 5
	for name, ends := range map[string]func(f *fake, c *Conn){
		"Changed": func(f *fake, _ *Conn) { f.do(func() { f.nodes["/node"].stat.Mzxid++ }) },
		"Cut":     func(f *fake, _ *Conn) { f.cut(); time.Sleep(2 * time.Second) },
		"Closed":  func(_ *fake, c *Conn) { c.Close(context.Background()) },
	} {
		inBubble(t, name, func(t *testing.T) {
			f, c, w := inherits(t)
			// An error that says nothing about the node does not end the watch.
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
