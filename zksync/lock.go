package zksync

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// lock is what all values for one path on one session share: the local queue,
// the tenure, and the entry that stands in ZooKeeper's queue for the first in
// the local one. It exists while somebody uses it.
//
// A goroutine may take lock.mu and then the connection's locks, never the
// other way round; no request is made under it (lesson 33).
type lock struct {
	s    *Session
	path string // as the program named it
	full string // in ZooKeeper
	refs int    // guarded by s.mu: calls, tenures, and goroutines of the lock

	mu    sync.Mutex
	acl   []zk.ACL  // guarded by mu; of whoever used the lock first
	queue list.List // guarded by mu; *waiter
	ten   *tenure   // guarded by mu; who holds, or held and lost without knowing
	run   *run      // guarded by mu; stands in line for the first waiter
}

// run is an entry in line, or one being renewed for another tenure.
type run struct {
	e        *queue.Entry
	lease    queue.Lease // if it has one
	w        *waiter     // whom it was made for
	cancel   context.CancelCauseFunc
	reused   bool    // a tenure has stood on it: not fit for a Hold
	peer     *Peer   // whom it waits for, as far as known
	told     *waiter // whom that was told to
	handoffs int
	counted  bool          // among those to be cleaned up
	placed   chan struct{} // closed once it stands in line; nil if it always has
	done     chan struct{} // closed when its goroutine ends
	rel      *release      // what whoever gave the lock back waits for, if it is the deletion
}

// enter returns the session's lock for path, and counts the caller in.
func (s *Session) enter(path, full string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[full]
	if l == nil {
		l = &lock{s: s, path: path, full: full}
		s.locks[full] = l
	}
	l.refs++
	return l
}

// find returns the lock if it is in use, and counts the caller in.
func (s *Session) find(full string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[full]
	if l != nil {
		l.refs++
	}
	return l
}

func (l *lock) ref() {
	l.s.mu.Lock()
	l.refs++
	l.s.mu.Unlock()
}

func (l *lock) leave() {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.refs--; l.refs == 0 {
		delete(s.locks, l.full)
		s.wakeLocked()
	}
}

func (s *Session) wakeLocked() {
	close(s.quiet)
	s.quiet = make(chan struct{})
}

func (l *lock) headLocked() *waiter {
	if e := l.queue.Front(); e != nil {
		return e.Value.(*waiter)
	}
	return nil
}

// advanceLocked makes what stands in ZooKeeper's queue fit the local one: an
// entry for the first waiter, if that has to stand there. A place in line
// outlives the call it was taken for.
func (l *lock) advanceLocked() {
	head := l.headLocked()
	want := head != nil && !l.s.closed.Load()
	switch t := l.ten; {
	case !want || t == nil:
	case t.lost != nil:
		// Lost, but not given back: it keeps its place here, and only here. A
		// node of ours would hold up the others for it.
		want = false
	case t.passes(head) && l.run == nil:
		want = false
		t.armLocked()
	}
	if l.run != nil && (!want || !l.run.serves(head)) {
		l.run.cancel(errSuperseded)
		l.countLocked(l.run)
		l.run = nil
	}
	switch {
	case want && l.run == nil:
		l.stand(head)
	case l.run != nil:
		l.run.tellLocked(head)
	}
}

var errSuperseded = errors.New("nobody waits for this entry")

// countLocked counts the entry among those to be cleaned up, once it is clear
// that it will be.
func (l *lock) countLocked(r *run) {
	if !r.counted {
		r.counted = true
		l.s.stats.cleanup.Add(1)
	}
}

// serves reports whether the entry, once its turn comes, can be given to w.
func (r *run) serves(w *waiter) bool {
	return r.w == w || !w.hold && !w.acq.Try && (r.w == nil || !r.w.acq.Try)
}

// refuse ends the waits that can be told, at Shutdown; at Close all of them,
// and the tenure too.
func (l *lock) refuse(all bool) {
	l.mu.Lock()
	var next *list.Element
	for e := l.queue.Front(); e != nil; e = next {
		next = e.Next()
		if w := e.Value.(*waiter); all || !w.noErr {
			l.failLocked(w, ErrClosed)
		}
	}
	var ended after
	if all && l.ten != nil {
		ended = l.ten.loseLocked(ErrClosed)
	}
	l.advanceLocked()
	l.mu.Unlock()
	ended.run()
}

// sessionOver ends the tenure if its session is over.
func (l *lock) sessionOver() {
	l.mu.Lock()
	var ended after
	if st, _ := l.s.conn.State(); l.ten != nil && l.ten.e.Session() != st.Session {
		ended = l.ten.loseLocked(conn.ErrSessionOver)
	}
	l.mu.Unlock()
	ended.run()
}
