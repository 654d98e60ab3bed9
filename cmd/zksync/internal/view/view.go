// Package view has what the command shows of locks: the documents that -o json
// prints, and words for them.
//
// Invariants: the names of the fields are promised to scripts by the schema beside this
// package's source, and a field that exists keeps its name and meaning. Texts of other
// programs are in the documents as they came.
package view

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/zksync"
)

// Node is a node in line.
type Node struct {
	Node      string `json:"node"` // its full path in ZooKeeper, with the chroot
	Name      string `json:"name"` // the last element of the path
	Mode      string `json:"mode"` // mutex, write, read or permit
	Form      string `json:"form"` // the library that makes such names
	Sequence  int64  `json:"sequence"`
	Weight    int64  `json:"weight,omitempty"`
	Limit     int64  `json:"limit,omitempty"`
	Held      bool   `json:"held"`
	BlockedBy string `json:"blocked_by,omitempty"`
	Second    bool   `json:"second,omitempty"` // a second node of the call before it

	Identity  string `json:"identity,omitempty"`
	Host      string `json:"host,omitempty"`
	PID       int    `json:"pid,omitempty"`
	OwnerID   string `json:"owner_id,omitempty"`
	OwnerName string `json:"owner_name,omitempty"`
	Parent    string `json:"trace_parent,omitempty"`
	TraceID   string `json:"trace_id,omitempty"`
	Revoked   bool   `json:"revoked"`

	Session string    `json:"session"` // 0x0: none, so that the node stays until somebody deletes it
	Since   time.Time `json:"since,omitzero"`
	Fence   int64     `json:"fence"`
	Version int32     `json:"version"`
}

// noSession is the session of a node that belongs to none.
const noSession = "0x0"

// NewNode returns the document about a node.
func NewNode(n *zksync.LockNode) Node {
	v := Node{
		Node: n.Node, Name: path.Base(n.Node), Mode: string(n.Mode), Form: string(n.Form), Sequence: n.Sequence, Weight: n.Weight, Limit: n.Limit,
		Held: n.Held, BlockedBy: n.BlockedBy,
		Identity: n.Identity, Host: n.Host, PID: n.PID, OwnerID: n.OwnerID, OwnerName: n.OwnerName, Parent: n.TraceParent, Revoked: n.Revoked,
		Session: fmt.Sprintf("%#x", uint64(n.Session)), Since: n.Since.UTC(), Fence: n.Fence, Version: n.Version,
	}
	if parts := strings.Split(n.TraceParent, "-"); len(parts) >= 4 && len(parts[1]) == 32 {
		if _, err := hex.DecodeString(parts[1]); err == nil {
			v.TraceID = parts[1]
		}
	}
	return v
}

// Who says which program a node belongs to, as far as it says so.
func (n *Node) Who() string {
	var parts []string
	if n.Identity != "" {
		parts = append(parts, text.Name(n.Identity))
	}
	if n.OwnerName != "" {
		parts = append(parts, "for "+text.Name(n.OwnerName))
	}
	if n.Host != "" {
		parts = append(parts, "on "+text.Name(n.Host))
	}
	if n.PID != 0 {
		parts = append(parts, fmt.Sprintf("(pid %d)", n.PID))
	}
	if len(parts) == 0 {
		return "no name (" + n.Form + ", session " + n.Session + ")"
	}
	return strings.Join(parts, " ")
}

// Program is Who in a sentence.
func (n *Node) Program() string {
	if who, found := strings.CutPrefix(n.Who(), "no name ("); found && n.Identity == "" {
		return "an unnamed program (" + who
	}
	return n.Who()
}

// Age returns for how long the node has been in line.
func (n *Node) Age(now time.Time) time.Duration { return max(now.Sub(n.Since), 0) }

// AgeText returns Age as text, or a dash if the node does not show it.
func (n *Node) AgeText(now time.Time) string {
	if n.Since.IsZero() {
		return "-"
	}
	return text.Age(n.Age(now))
}

// Stays reports whether the node belongs to no session, so that ZooKeeper never deletes
// it.
func (n *Node) Stays() bool { return n.Session == noSession && !n.Since.IsZero() }

// Queue is the line at a lock's path.
type Queue struct {
	Path     string    `json:"path"` // below the chroot
	Kind     string    `json:"kind"`
	At       time.Time `json:"at"` // by this machine's clock
	Nodes    []Node    `json:"nodes"`
	Other    []string  `json:"other,omitempty"`
	Suspects []string  `json:"suspects,omitempty"`
}

// NewQueue returns the document about a queue.
func NewQueue(q *zksync.Queue, now time.Time) Queue {
	v := Queue{Path: q.Path, Kind: kindOf(q.Nodes), At: now.UTC(), Nodes: make([]Node, len(q.Nodes)), Other: q.Other, Suspects: q.Suspects}
	for i := range q.Nodes {
		v.Nodes[i] = NewNode(&q.Nodes[i])
		v.Nodes[i].Second = i > 0 && sameCall(&q.Nodes[i-1], &q.Nodes[i])
	}
	return v
}

// Holders returns the nodes whose turn it is.
func (q *Queue) Holders() []*Node {
	var held []*Node
	for i := range q.Nodes {
		if n := &q.Nodes[i]; n.Held && !n.Second {
			held = append(held, n)
		}
	}
	return held
}

// Waiters returns the number of calls that wait.
func (q *Queue) Waiters() (n int) {
	for i := range q.Nodes {
		if !q.Nodes[i].Held && !q.Nodes[i].Second {
			n++
		}
	}
	return n
}

// Lock is a lock in a list.
type Lock struct {
	Path         string    `json:"path"`
	Kind         string    `json:"kind"`
	Holders      int       `json:"holders"`
	Holder       *Node     `json:"holder,omitempty"` // the first one
	Waiters      int       `json:"waiters"`
	WaitingSince time.Time `json:"waiting_since,omitzero"` // of the waiter who came first
}

// NewLock returns the line of a list about a queue.
func NewLock(q *zksync.Queue) Lock {
	l := Lock{Path: q.Path, Kind: kindOf(q.Nodes)}
	for i := range q.Nodes {
		n := &q.Nodes[i]
		switch {
		case i > 0 && sameCall(&q.Nodes[i-1], n):
		case n.Held:
			l.Holders++
			if l.Holder == nil {
				v := NewNode(n)
				l.Holder = &v
			}
		default:
			l.Waiters++
			if since := n.Since.UTC(); !n.Since.IsZero() && (l.WaitingSince.IsZero() || since.Before(l.WaitingSince)) {
				l.WaitingSince = since
			}
		}
	}
	return l
}

// List is all the locks below a path.
type List struct {
	Root    string    `json:"root"`
	At      time.Time `json:"at"`
	Locks   []Lock    `json:"locks"`
	Refused []string  `json:"refused,omitempty"` // paths that may not be listed
}

// NewList returns an empty list of the locks below root.
func NewList(root string, now time.Time) *List {
	return &List{Root: root, At: now.UTC(), Locks: []Lock{}}
}

// Sort puts the locks with the most waiters first.
func (l *List) Sort() {
	slices.SortStableFunc(l.Locks, func(a, b Lock) int { return cmp.Compare(b.Waiters, a.Waiters) })
}

// Waiters returns the number of calls that wait for any of the locks.
func (l *List) Waiters() (n int) {
	for i := range l.Locks {
		n += l.Locks[i].Waiters
	}
	return n
}

// Missing says which paths are missing in the list; "" for none.
func (l *List) Missing() string {
	if len(l.Refused) == 0 {
		return ""
	}
	return "the locks below these are missing, no permission to list them: " + plainList(l.Refused)
}

// kindOf names the lock that has such nodes.
func kindOf(nodes []zksync.LockNode) string {
	kind := ""
	for i := range nodes {
		k := "mutex"
		switch nodes[i].Mode {
		case zksync.ModeRead, zksync.ModeWrite:
			k = "rwmutex"
		case zksync.ModePermit:
			k = "semaphore"
		}
		if kind != "" && kind != k {
			return "mixed"
		}
		kind = k
	}
	return kind
}

// sameCall reports whether b is a second node of the call that a belongs to: one for
// kazoo, or the read node beside the write node of a lock that is being downgraded.
func sameCall(a, b *zksync.LockNode) bool {
	ga, gb := guid(path.Base(a.Node)), guid(path.Base(b.Node))
	return a.Session == b.Session && ga != "" && ga == gb
}

// guid returns the GUID in a node's name, as 32 digits, or nothing.
func guid(name string) string {
	name = strings.TrimPrefix(name, "_c_")
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'f':
			if b.WriteRune(r); b.Len() == 32 {
				return b.String()
			}
		case r != '-':
			return ""
		}
	}
	return ""
}

// SameCall reports whether two nodes belong to one call.
func (n *Node) SameCall(other *Node) bool {
	g := guid(n.Name)
	return n.Node == other.Node || n.Session == other.Session && g != "" && g == guid(other.Name)
}

// Owner returns the session that the node belongs to.
func (n *Node) Owner() int64 {
	id, _ := strconv.ParseUint(strings.TrimPrefix(n.Session, "0x"), 16, 64) // as NewNode wrote it
	return int64(id)
}

// Word is what a user types to confirm that the node is deleted: it names who will lose
// it.
func (n *Node) Word() string {
	if n.Identity != "" && text.Plain(n.Identity) == n.Identity {
		return n.Identity
	}
	return n.Name
}
