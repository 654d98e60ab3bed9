package conn

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
)

var (
	dataKey     = watchKey{path: "/node"}
	childrenKey = watchKey{path: "/node", children: true}
	creationKey = watchKey{path: "/node", creation: true}
)

// Each event ends the watches that it is for, and a watch that has ended is replaced.
func TestTableOfWatches(t *testing.T) {
	for _, test := range []struct {
		name                     string
		event                    zk.EventType
		path                     string
		data, children, creation bool // it ends
	}{
		{"Deleted", zk.EventNodeDeleted, "/node", true, true, true},
		{"DataChanged", zk.EventNodeDataChanged, "/node", true, false, true},
		{"ChildrenChanged", zk.EventNodeChildrenChanged, "/node", false, true, false},
		{"Created", zk.EventNodeCreated, "/node", false, false, true},
		{"OfAnotherNode", zk.EventNodeDeleted, "/node/x", false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := newWatches()
			ends := map[watchKey]bool{dataKey: test.data, childrenKey: test.children, creationKey: test.creation}
			got := make(map[watchKey]*Watch)
			for key := range ends {
				w, isNew, hasChannel := table.get(key)
				again, againNew, _ := table.get(key)
				if !isNew || againNew || hasChannel || again != w {
					t.Fatalf("%+v: new %v, then %v, with a channel %v", key, isNew, againNew, hasChannel)
				}
				table.answered(w, 7, nil, true)
				got[key] = w
			}
			table.notify(test.path, test.event)
			for key, want := range ends {
				w := got[key]
				over, deleted := w.Over()
				if over != want || deleted != (want && test.event == zk.EventNodeDeleted) || w.Epoch != 7 {
					t.Errorf("%+v: over %v, deleted %v, epoch %d", key, over, deleted, w.Epoch)
				}
				if changed := w.Changed(); changed != (want && test.event == zk.EventNodeDataChanged) {
					t.Errorf("%+v: changed %v", key, changed)
				}
				next, isNew, _ := table.get(key)
				if isNew != want || isNew == (next == w) {
					t.Errorf("%+v: a new watch %v, want %v", key, isNew, want)
				}
				if want {
					table.end(w, 0) // again
					if same, isNew, _ := table.get(key); same != next || isNew {
						t.Errorf("%+v: the new watch is gone", key)
					}
				}
			}
		})
	}
}

// A watch ends without an event when its answer is not valid, and when its connection
// is lost. It ends once.
func TestWatchEndsOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		table := newWatches()
		for name, end := range map[string]func(w *Watch){
			"InvalidAnswer": func(w *Watch) { table.answered(w, 1, zk.ErrNoNode, false) },
			"Drop":          func(*Watch) { table.drop() },
			"Close":         func(*Watch) { table.close() },
			"End":           func(w *Watch) { table.end(w, 0) },
		} {
			w, _, _ := table.get(dataKey)
			other, _, _ := table.get(watchKey{path: "/other"})
			calls, looks := 0, 0
			table.after(w, func() { calls++ })
			table.schedule(w, time.Second, func() { looks++ })
			end(w)
			synctest.Wait()
			if calls != 1 {
				t.Errorf("%s: %d calls after its end", name, calls)
			}
			table.end(w, zk.EventNodeDeleted)
			table.notify(w.Path, zk.EventNodeDeleted)
			table.after(w, func() { calls++ })
			table.schedule(w, time.Second, func() { looks++ })
			time.Sleep(time.Minute)
			synctest.Wait()
			if over, deleted := w.Over(); !over || deleted || calls != 2 || looks != 0 {
				t.Errorf("%s: over %v, deleted %v, %d calls, %d looks", name, over, deleted, calls, looks)
			}
			table.end(other, 0)
			if n := table.len(); n != 0 {
				t.Errorf("%s: %d watches left", name, n)
			}
		}
	})
}

// A look that is scheduled comes in time, and again when it is scheduled again.
func TestScheduledLook(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		table := newWatches()
		w, _, _ := table.get(dataKey)
		start := time.Now()
		var at []time.Duration
		look := func() {
			at = append(at, time.Since(start))
			if len(at) == 3 {
				table.end(w, 0)
			}
			table.reschedule(w, time.Minute)
		}
		table.schedule(w, time.Second, look)
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != 3 || at[0] != time.Second || at[1] != time.Second+time.Minute || at[2] != time.Second+2*time.Minute {
			t.Errorf("looks after %v", at)
		}
	})
}

// A key has one channel at a time. Its event ends the watch that has the key by then,
// which may be another one than the channel came with.
func TestChannelsOfWatches(t *testing.T) {
	table := newWatches()
	starts := 0
	start := func() { starts++ }
	first, _, _ := table.get(dataKey)
	table.addChannel(dataKey, start)
	table.addChannel(dataKey, start)
	if starts != 1 {
		t.Errorf("%d channels for one key", starts)
	}
	table.drop()
	second, isNew, hasChannel := table.get(dataKey)
	if !isNew || !hasChannel || second == first {
		t.Errorf("after a reconnect: new %v, with a channel %v", isNew, hasChannel)
	}
	if _, _, hasChannel := table.get(childrenKey); hasChannel {
		t.Error("the channel counts for another key")
	}
	table.channelFired(dataKey, zk.EventNodeDeleted)
	if over, deleted := second.Over(); !over || !deleted {
		t.Errorf("over %v, deleted %v", over, deleted)
	}
	if _, deleted := first.Over(); deleted {
		t.Error("the watch of the connection before gets the event")
	}
	if _, isNew, hasChannel := table.get(dataKey); !isNew || hasChannel {
		t.Errorf("after the event: new %v, with a channel %v", isNew, hasChannel)
	}
	table.drop()
	table.channelFired(dataKey, zk.EventNodeDeleted) // for no watch
	table.close()
	table.addChannel(dataKey, start)
	if starts != 1 {
		t.Error("a goroutine starts after close")
	}
}
