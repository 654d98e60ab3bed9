package zktest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Stat is ZooKeeper's record of a node. It is a plain value. Times are
// milliseconds since 1970.
type Stat struct {
	Czxid          int64
	Mzxid          int64
	Ctime          int64
	Mtime          int64
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// SessionInfo describes a session of a [Server]. It is a plain value; copies share
// Ephemerals.
type SessionInfo struct {
	ID         int64
	Timeout    time.Duration // granted
	Remaining  time.Duration // until it ends, if its client sends nothing more; after LoseQuorum the whole timeout
	Connected  bool
	Ephemerals []string // its nodes, in order
}

// Watch is a watch that a client has left with a [Server]. It is a plain value.
type Watch struct {
	Path      string
	Session   int64
	Child     bool // on the node's children; otherwise on its data and existence
	Lasting   bool // set by addWatch: it outlives its events
	Recursive bool // a lasting one on all that is below too
}

// Get returns a node's data and Stat, and whether there is such a node. The slice
// is the caller's.
func (s *Server) Get(path string) ([]byte, Stat, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.Node(path)
	if n == nil {
		return nil, Stat{}, false
	}
	return bytes.Clone(n.Data()), Stat(n.Stat()), true
}

// Children returns the names of a node's children, in order. It returns nil if
// there are none, or if there is no such node.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.tree.Node(path); n != nil {
		return slices.Sorted(slices.Values(n.Names()))
	}
	return nil
}

// Tree returns all paths but ZooKeeper's own, in order, one a line. Data follows in
// quotes, and the owner of an ephemeral node in hex:
//
//	/locks
//	/locks/a-0000000000 "host" 0x100000000000001
func (s *Server) Tree() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, p := range s.tree.Paths() {
		if p == "/" || p == "/zookeeper" || strings.HasPrefix(p, "/zookeeper/") {
			continue
		}
		n := s.tree.Node(p)
		b.WriteString(p)
		if len(n.Data()) > 0 {
			fmt.Fprintf(&b, " %q", n.Data())
		}
		if owner := n.Stat().EphemeralOwner; owner != 0 {
			fmt.Fprintf(&b, " %#x", owner)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Zxid returns the number of the last transaction.
func (s *Server) Zxid() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.Zxid()
}

// Sessions returns the sessions that have not ended, in the order of their ids,
// which is the order in which they were made.
func (s *Server) Sessions() []SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []SessionInfo
	for _, id := range s.sessionIDs() {
		ss := s.sessions[id]
		list = append(list, SessionInfo{
			ID: id, Timeout: ss.timeout, Remaining: s.remaining(ss), Connected: ss.conn != nil,
			Ephemerals: s.tree.Ephemerals(id),
		})
	}
	return list
}

func (s *Server) remaining(ss *session) time.Duration {
	if s.lost {
		return ss.timeout
	}
	return max(ss.expires-s.since(), 0)
}

func (s *Server) sessionIDs() []int64 { return slices.Sorted(maps.Keys(s.sessions)) }

// Watches returns the watches of all members, in the order of their paths and
// sessions. A lasting watch is in it twice: on the data, and on the children.
func (s *Server) Watches() []Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Watch
	for _, member := range s.members {
		for i, table := range []watchTable{member.data, member.child} {
			for p, conns := range table {
				for c, m := range conns {
					list = append(list, Watch{
						Path: p, Session: c.session, Lasting: m&(watchOn|watchRecursive) != 0,
						Child: i == 1, Recursive: m&watchRecursive != 0,
					})
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b Watch) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Session, b.Session), btoi(a.Child)-btoi(b.Child))
	})
	return list
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
