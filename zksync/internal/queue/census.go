package queue

import (
	"errors"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Census remembers the lines that the entries of a session have seen, so that an entry
// may learn its line from the number of its new node, without a listing.
//
// ZooKeeper numbers sequential nodes by counting what is created below their parent, under
// any name. A line that was listed, and whose parent is still the same, lacks only nodes
// created since. If the next node of this session gets the number that the next node was
// to get, nothing was created, so that the line has lost nodes at most. By the rules of
// locks that never makes it less our turn.
//
// A parent that was deleted and made again counts from the start. A get-watch on the parent
// tells: it reports the deletion before any later answer on its connection. It is set
// after a listing, and counts only if it was set on the parent that was listed: both answers
// name the transaction that created the parent. The watch is worth a request where nobody
// else stands in line when a path is used again. Where others do, the next number would
// not be the expected one.
//
// One thing can't be seen from here: ZooKeeper 3.8.4 and later withhold the report of a
// deletion from a session that may not read the node at that moment.
//
// A Census is for sessions whose events come in order (conn.Conn.Ordered). The zero value is
// ready, and nil knows nothing. Several goroutines may use it.
type Census struct {
	mu    sync.Mutex
	lines map[string]*known   // guarded by mu; by parent
	old   map[string]struct{} // guarded by mu; directories where a path that was new to the census existed already
}

// The bounds of a census. A path takes less than 1 KiB, and up to 4 KiB more if the program
// keeps data there.
const (
	maxLines = 1024 // parents that are remembered, and watched
	maxKnown = 32   // nodes of one line; longer ones are not remembered
	maxOld   = 1024 // directories
)

// idleFor is how long a watched path is remembered at least. If more paths are in use, each
// new one would cost a watch and the removal of another.
const idleFor = time.Minute

// maxSpoilt is how many watches on a parent a program may end by writing to the parent
// before no more are set.
const maxSpoilt = 3

// known is the line below a parent. It has every node in line with a number below next that
// exists, and perhaps some that are gone.
type known struct {
	czxid   int64  // of the parent; 0: the line is not known
	epoch   uint64 // of the connection on which it was listed
	line    []znode.Name
	next    int64 // not above the number of the next node
	foreign []znode.Foreign
	leaving []string    // nodes of line whose deletion is on its way
	calm    bool        // the last node had the expected number
	again   bool        // the path was used before
	asked   bool        // a watch on the parent was requested, and is not answered
	watch   *conn.Watch // on the parent; nil: none
	spoilt  int         // watches that were ended by a write
	used    time.Time   // last
}

// watched reports whether the line is known, and its parent has stood since.
func (k *known) watched(epoch uint64) bool {
	if k.watch == nil {
		return false
	}
	over, _ := k.watch.Over()
	return !over && k.watch.Epoch == epoch && k.epoch == epoch && k.watch.Stat.Czxid == k.czxid
}

// of returns what is known below a parent, or nil.
func (s *Census) of(parent string) *known {
	k := s.lines[parent]
	if k == nil || k.watch == nil {
		return k
	}
	over, deleted := k.watch.Over()
	switch {
	case deleted:
		delete(s.lines, parent)
		return nil
	case over:
		if k.watch.Changed() {
			k.spoilt++
		}
		k.watch = nil
	}
	return k
}

// isNew reports whether the parent is worth creating together with the first node below it.
func (s *Census) isNew(parent string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, old := s.old[path.Dir(parent)]
	return !old && s.of(parent) == nil
}

// met records whether a path that was new to the census existed already, or could not be
// created together with a node. The next one in its directory is expected to be the same.
func (s *Census) met(parent string, existed bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !existed {
		delete(s.old, path.Dir(parent))
		return
	}
	if s.old == nil || len(s.old) >= maxOld {
		s.old = make(map[string]struct{})
	}
	s.old[path.Dir(parent)] = struct{}{}
}

// knows reports whether all of the parents have been seen.
func (s *Census) knows(places []Place) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(places, func(p Place) bool { return s.of(p.Parent) == nil })
}

// vanished records that a parent does not exist.
func (s *Census) vanished(parent string) {
	if s == nil {
		return
	}
	s.met(parent, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lines, parent)
}

// asks reports whether to request a listing together with a node at a place. It is not
// needed if the node's number is expected to show that it is its turn.
func (s *Census) asks(p Place, epoch uint64) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(p.Parent)
	if k == nil {
		return true
	}
	k.used, k.again = time.Now(), true
	// The answer to a watch that was asked for comes before that to the node.
	if !k.watched(epoch) && !(k.asked && k.epoch == epoch) {
		return true
	}
	line := slices.DeleteFunc(slices.Clone(k.line), func(n znode.Name) bool { return slices.Contains(k.leaving, n.Raw) })
	line = append(line, znode.Name{Kind: p.Kind, Weight: p.Weight, Limit: p.Limit, Seq: k.next})
	return !k.calm || !p.turn(line, len(line)-1)
}

// wants reports whether to request a watch on a parent, where a listing has just shown that
// nobody else stands in line. The answer is for watches.
func (s *Census) wants(parent string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(parent)
	if k == nil || !k.again || k.asked || k.watch != nil || k.czxid == 0 || k.spoilt >= maxSpoilt {
		return false
	}
	k.asked = true
	return true
}

// watches records the watch on a parent, or nil if it could not be set. It returns a watch to leave (conn.Conn.Leave), or
// nil.
func (s *Census) watches(parent string, w *conn.Watch) (spare *conn.Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(parent)
	if k == nil {
		return w
	}
	spare, k.watch, k.asked = k.watch, w, false
	return spare
}

// counts returns the line at a place if the numbers of the nodes that were made there show
// it: it is ours, in one transaction.
func (s *Census) counts(p Place, ours []znode.Name, epoch uint64) (line []znode.Name, ok bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(p.Parent)
	if k == nil {
		return nil, false
	}
	k.calm = ours[0].Seq == k.next
	if !k.calm || !k.watched(epoch) || !slices.Equal(k.foreign, p.Foreign) {
		return nil, false
	}
	k.line = append(slices.Clip(k.line), ours...)
	znode.Sort(k.line)
	k.next += int64(len(ours))
	if len(k.line) > maxKnown {
		k.czxid = 0
	}
	return k.line, true
}

// learn records a line that was listed on a connection and that has our nodes. next is the
// number after theirs, and czxid is the parent's. It returns a watch to leave, or nil.
func (s *Census) learn(p Place, line []znode.Name, next, czxid int64, epoch uint64) (spare *conn.Watch) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.of(p.Parent)
	if k == nil {
		var ok bool
		if spare, ok = s.room(); !ok {
			return nil
		}
		k = &known{used: time.Now()}
		s.lines[p.Parent] = k
	}
	if k.czxid == czxid && k.epoch == epoch && k.next > next && slices.Equal(k.foreign, p.Foreign) {
		return spare // the answers are handled out of order
	}
	if len(line) > maxKnown {
		line, czxid = nil, 0
	}
	k.czxid, k.epoch, k.line, k.next, k.foreign = czxid, epoch, line, next, p.Foreign
	return spare
}

// room makes room for one more parent, and reports whether there is any. It removes one that
// is not watched or, with its watch, one that was not used for idleFor.
func (s *Census) room() (spare *conn.Watch, ok bool) {
	if s.lines == nil {
		s.lines = make(map[string]*known)
	}
	if len(s.lines) < maxLines {
		return nil, true
	}
	tries := 16
	for parent := range s.lines { // in any order
		k := s.of(parent)
		if k == nil {
			return nil, true
		}
		if k.watch == nil || time.Since(k.used) > idleFor {
			delete(s.lines, parent)
			return k.watch, true
		}
		if tries--; tries == 0 {
			break
		}
	}
	return nil, false
}

// leave records that the deletion of nodes is about to be sent. What is sent after it
// probably finds them gone.
func (s *Census) leave(nodes []string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range nodes {
		if k := s.lines[path.Dir(node)]; k != nil && slices.ContainsFunc(k.line, func(n znode.Name) bool { return n.Raw == path.Base(node) }) {
			k.leaving = append(k.leaving, path.Base(node))
		}
	}
}

// gone records the outcome of a deletion of a node: that of Entry.removeNode.
func (s *Census) gone(node string, err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.lines[path.Dir(node)]
	if k == nil {
		return
	}
	name := path.Base(node)
	k.leaving = slices.DeleteFunc(k.leaving, func(n string) bool { return n == name })
	switch {
	case err == nil:
		k.line = slices.DeleteFunc(slices.Clone(k.line), func(n znode.Name) bool { return n.Raw == name })
	case errors.Is(err, conn.ErrNodeGone), errors.Is(err, errTorn):
		k.czxid = 0 // somebody meddles here: list
	}
}
