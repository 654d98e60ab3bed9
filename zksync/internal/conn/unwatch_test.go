package conn

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// onServer opens a connection to an embedded server, in a bubble.
func onServer(t *testing.T) (*zktest.Server, *Conn) {
	t.Helper()
	srv := zktest.Run(t)
	c, err := Dial(t.Context(), Config{Servers: []string{"10.0.0.1:2181"}, Timeout: T,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			limit, _ := ctx.Deadline()
			return srv.Dial(network, addr, time.Until(limit))
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	for _, p := range []string{"/n", "/m"} {
		if _, _, err := c.Create([]string{p}, nil, 0, acl); err != nil {
			t.Fatal(err)
		}
	}
	return srv, c
}

// A watch that nobody has used for T is removed from the server, and can be set again.
func TestUnusedWatchIsRemoved(t *testing.T) {
	for name, watch := range map[string]func(*Conn) (*Watch, error){
		"Data":     func(c *Conn) (*Watch, error) { return c.Watch("/n") },
		"Children": func(c *Conn) (*Watch, error) { return c.WatchChildren("/n") },
	} {
		inBubble(t, name, func(t *testing.T) {
			srv, c := onServer(t)
			removals := func(want int) {
				t.Helper()
				synctest.Wait()
				if n := srv.Requests()["removeWatches"]; n != want {
					t.Errorf("%d removals, want %d", n, want)
				}
			}
			get := func() *Watch {
				t.Helper()
				w, err := watch(c)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			first, second := get(), get()
			if first != second {
				t.Fatal("two watches")
			}
			c.Leave(first)
			time.Sleep(2 * c.Timeout())
			removals(0) // there is one more user
			c.Leave(second)
			time.Sleep(c.Timeout() - 1)
			if third := get(); third != first {
				t.Error("a watch that still stands is set again")
			}
			time.Sleep(2 * c.Timeout())
			removals(0)
			c.Leave(first)
			time.Sleep(c.Timeout() + time.Second)
			removals(1)
			before := c.Requests()
			again := get()
			if again == first || c.Requests() != before+1 {
				t.Errorf("the removed watch is shared, after %d requests", c.Requests()-before)
			}
			if _, err := c.Delete("/n"); err != nil {
				t.Fatal(err)
			}
			<-again.Done()
			if _, deleted := again.Over(); !deleted {
				t.Error("the new watch has not reported the deletion")
			}
			c.Leave(again) // it is over
			c.Leave(nil)
			time.Sleep(2 * c.Timeout())
			removals(1)
		})
	}
}

// A watch on a path that the program watches, too, is not removed: the server knows one
// watch for both.
func TestWatchOfTheProgramIsKept(t *testing.T) {
	for name, watch := range map[string]func(zc *zk.Conn) (<-chan zk.Event, error){
		"Get":      func(zc *zk.Conn) (<-chan zk.Event, error) { _, _, ch, err := zc.GetW("/n"); return ch, err },
		"Exists":   func(zc *zk.Conn) (<-chan zk.Event, error) { _, _, ch, err := zc.ExistsW("/n"); return ch, err },
		"Children": func(zc *zk.Conn) (<-chan zk.Event, error) { _, _, ch, err := zc.ChildrenW("/n"); return ch, err },
	} {
		for _, reconnect := range []bool{false, true} {
			inBubble(t, name, func(t *testing.T) {
				srv, c := onServer(t)
				events, err := watch(c.Zk())
				if err != nil {
					t.Fatal(err)
				}
				if reconnect { // the client sets it again
					srv.DisconnectAll()
					time.Sleep(time.Second)
				}
				for _, path := range []string{"/n", "/m"} {
					w, err := c.Watch(path)
					if err != nil {
						t.Fatal(err)
					}
					c.Leave(w)
				}
				time.Sleep(c.Timeout() + time.Second)
				if n := srv.Requests()["removeWatches"]; n != 1 {
					t.Errorf("%d removals, want that of the other path", n)
				}
				if _, err := c.Delete("/n"); err != nil {
					t.Fatal(err)
				}
				if ev := <-events; ev.Type != zk.EventNodeDeleted {
					t.Errorf("event %v", ev)
				}
			})
		}
	}
}

// The program may have watches on any of very many paths.
func TestProgramWatchesAreBounded(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		srv, c := onServer(t)
		zc := c.Zk()
		for i := range maxTheirs + 1 {
			if _, _, _, err := zc.ExistsW("/none" + string(rune('a'+i%26)) + time.Duration(i).String()); err != nil {
				t.Fatal(err)
			}
		}
		w, err := c.Watch("/n")
		if err != nil {
			t.Fatal(err)
		}
		c.Leave(w)
		time.Sleep(2 * c.Timeout())
		if n := srv.Requests()["removeWatches"]; n != 0 || !c.pipe.Load().theirs.any || c.pipe.Load().theirs.paths != nil {
			t.Errorf("%d removals", n)
		}
	})
}

// A watch on a node that does not exist ends when the node is created, and is removed when
// nobody uses it.
func TestWatchCreation(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		srv, c := onServer(t)
		watch := func() *Watch {
			t.Helper()
			w, err := c.WatchCreation("/new")
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w := watch()
		if isDone(w) || w.Stat.Czxid != 0 || watch() != w {
			t.Errorf("over %v, stat %+v", isDone(w), w.Stat)
		}
		if _, _, err := c.Create([]string{"/new"}, nil, 0, acl); err != nil {
			t.Fatal(err)
		}
		<-w.Done()
		if _, deleted := w.Over(); deleted || w.Changed() {
			t.Error("that was a creation")
		}
		if w = watch(); isDone(w) || w.Stat.Czxid == 0 {
			t.Errorf("of a node that exists: over %v, stat %+v", isDone(w), w.Stat)
		}
		if _, err := c.Delete("/new"); err != nil {
			t.Fatal(err)
		}
		<-w.Done()
		w = watch()
		c.Leave(w)
		time.Sleep(c.Timeout() + time.Second)
		if n := srv.Requests()["removeWatches"]; n != 1 || !isDone(w) || len(srv.Watches()) != 0 {
			t.Errorf("%d removals, over %v, watches %v", n, isDone(w), srv.Watches())
		}
	})
}

// The server has one watch on a node for a connection. So a watch on its creation is not
// removed while there is another one on its data, and the other way round.
func TestUnusedWatchIsNotRemovedWithItsTwin(t *testing.T) {
	for _, creation := range []bool{false, true} {
		inBubble(t, "", func(t *testing.T) {
			srv, c := onServer(t)
			key := watchKey{path: "/n", creation: creation}
			unused, err := c.sharedWatch(key)
			if err != nil {
				t.Fatal(err)
			}
			used, err := c.sharedWatch(key.twin())
			if err != nil {
				t.Fatal(err)
			}
			c.Leave(unused)
			time.Sleep(c.Timeout() + time.Second)
			if !isDone(unused) || isDone(used) || len(srv.Watches()) != 1 {
				t.Errorf("unused over %v, used over %v, watches %v", isDone(unused), isDone(used), srv.Watches())
			}
			if _, err := c.Delete("/n"); err != nil {
				t.Fatal(err)
			}
			<-used.Done()
		})
	}
}
