package view

import (
	"time"
)

// Event is something that has happened to a node in line.
type Event struct {
	At      time.Time `json:"at"`
	Path    string    `json:"path"`
	Event   string    `json:"event"` // one of the constants below
	Node    Node      `json:"node"`
	Waiters int       `json:"waiters"` // of the lock, afterwards
}

// What can happen to a node.
const (
	EventWaits   = "waits"   // it came, and waits
	EventHolds   = "holds"   // it has its turn
	EventRevoked = "revoked" // somebody has asked for the lock
	EventLeft    = "left"    // it left the line
)

// Changes returns what has happened between two looks at the lock at a path, in the
// order of the line, those that left first. Either queue may be nil, for an empty one.
func Changes(path string, before, after *Queue, at time.Time) []Event {
	var events []Event
	waiters := 0
	if after != nil {
		waiters = after.Waiters()
	}
	add := func(what string, n *Node) {
		if !n.Second {
			events = append(events, Event{At: at.UTC(), Path: path, Event: what, Node: *n, Waiters: waiters})
		}
	}
	was, is := byNode(before), byNode(after)
	if before != nil {
		for i := range before.Nodes {
			if n := &before.Nodes[i]; is[n.id()] == nil {
				add(EventLeft, n)
			}
		}
	}
	if after == nil {
		return events
	}
	for i := range after.Nodes {
		n := &after.Nodes[i]
		old := was[n.id()]
		switch {
		case n.Held && (old == nil || !old.Held):
			add(EventHolds, n)
		case old == nil:
			add(EventWaits, n)
		}
		if n.Revoked && (old == nil || !old.Revoked) {
			add(EventRevoked, n)
		}
	}
	return events
}

// nodeID tells a node from all others, be it one that has the same path later.
type nodeID struct {
	node  string
	fence int64
}

func (n *Node) id() nodeID { return nodeID{n.Node, n.Fence} }

func byNode(q *Queue) map[nodeID]*Node {
	if q == nil {
		return nil
	}
	nodes := make(map[nodeID]*Node, len(q.Nodes))
	for i := range q.Nodes {
		nodes[q.Nodes[i].id()] = &q.Nodes[i]
	}
	return nodes
}
