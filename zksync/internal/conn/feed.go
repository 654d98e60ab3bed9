package conn

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// feed brings the events of a program's client to the watches.
//
// Such a client has no ordered stream of events, but a new channel for each request
// that sets a watch. It keeps all of them until an event comes, and sets the watch
// again on each new connection (conn.go:577-656, 883-891). So the feed uses one
// channel for each key until its event comes. After a reconnect the node is only
// read, and the channel that there is serves the new Watch.
type feed struct {
	watches *watches
	timeout time.Duration                       // T
	life    context.Context                     // the goroutines end with it
	start   func(func())                        // starts a goroutine
	stat    func(path string) (*zk.Stat, error) // reads a node
}

// follow brings the event of a watch to it: from its own channel, or from the one
// that its key had before, if hasChannel.
func (f *feed) follow(w *Watch, hasChannel bool, events <-chan zk.Event) {
	switch {
	case hasChannel:
		f.watches.schedule(w, f.timeout/6, func() { f.lookAgain(w) })
	case events != nil:
		f.watches.addChannel(w.key, func() {
			f.start(func() { f.forward(w.key, events) })
		})
	}
}

// forward waits for the event of a channel, and ends the watch that has the key by
// then.
func (f *feed) forward(key watchKey, events <-chan zk.Event) {
	select {
	case ev := <-events:
		if ev.Type == zk.EventNotWatching {
			ev.Type = 0
		}
		f.watches.channelFired(key, ev.Type)
	case <-f.life.Done():
	}
}

// lookAgain reads the node of a watch that relies on an older channel, and ends the
// watch if the node has changed. It runs first at T/6, when the client has had the time
// to set its watches again. A change before that may never be reported, since the
// client asks only for changes after its last answer (conn.go:614). The client may even
// fail to set the watches, and keeps the connection nevertheless (conn.go:636-642). So
// lookAgain runs every T until the watch is over. A timer runs it, so that no goroutine
// waits in between.
func (f *feed) lookAgain(w *Watch) {
	stat, err := f.stat(w.Path)
	switch {
	case w.key.creation && errors.Is(err, zk.ErrNoNode) && w.Stat.Czxid == 0: // as it was
		f.watches.reschedule(w, f.timeout)
	case w.key.creation && err == nil && w.Stat.Czxid == 0:
		f.watches.end(w, zk.EventNodeCreated)
	case errors.Is(err, zk.ErrNoNode):
		f.watches.end(w, zk.EventNodeDeleted)
	case err == nil && w.key.children && stat.Pzxid != w.Stat.Pzxid:
		f.watches.end(w, zk.EventNodeChildrenChanged)
	case err == nil && !w.key.children && stat.Mzxid != w.Stat.Mzxid:
		f.watches.end(w, zk.EventNodeDataChanged)
	default:
		f.watches.reschedule(w, f.timeout)
	}
}
