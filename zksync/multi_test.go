package zksync

import (
	"fmt"
	"testing"
	"time"
)

// What an owner's call costs for the Multis in use grows with those that have its
// path, not with the locks of the session.
func TestEntangledLooksAtSharedPathsOnly(t *testing.T) {
	// took is what a look costs beside n locks in use, and as many Multis.
	took := func(n int) time.Duration {
		s, err := newSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		mutex := func(i int) *Mutex { return NewMutex(s, fmt.Sprint("/", i)) }
		for i := range n {
			s.enter("", mutex(i).full)
			m := NewMulti(mutex(n+2*i), mutex(n+2*i+1)).all()
			s.enter("", m.full).consist(&m.cfg.terms)
		}
		o, best := NewOwner(""), time.Hour
		both := NewMulti(mutex(n), mutex(0)).all() // shares a path with one lock and one Multi
		for range 20 {
			start := time.Now()
			for range 100 {
				if mutex(n).entangled(o) || both.entangled(o) {
					t.Fatal("the owner holds nothing")
				}
			}
			best = min(best, time.Since(start))
		}
		if k := len(both.kin()); k != 2 {
			t.Errorf("%d locks share a path, want 2", k)
		}
		return best
	}
	few, many := took(10), took(10_000)
	t.Logf("beside 10 locks %v, beside 10,000 %v", few, many)
	if many > 50*few { // a look at all of them costs 1,000 times as much
		t.Errorf("%v beside 10,000 locks, %v beside 10", many, few)
	}
}

// What is used no more leaves nothing behind.
func TestMultiLeavesNoParts(t *testing.T) {
	s, err := newSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	var used []*lock
	for i := range 10 {
		m := NewMulti(NewMutex(s, "/a"), NewMutex(s, fmt.Sprint("/", i))).all()
		for range 2 {
			l := s.enter("", m.full)
			l.consist(&m.cfg.terms)
			used = append(used, l)
		}
	}
	if n := s.multis.Load(); n != 10 || len(s.parts["/a"]) != 10 || len(s.parts) != 11 {
		t.Errorf("%d Multis, %d of them with /a, %d paths", n, len(s.parts["/a"]), len(s.parts))
	}
	for _, l := range used {
		l.leave()
	}
	if n := s.multis.Load(); n != 0 || len(s.parts) != 0 || len(s.locks) != 0 {
		t.Errorf("%d Multis, %d paths, %d locks", n, len(s.parts), len(s.locks))
	}
}

// What a Multi consists of may be read with the lock's own mutex held: it is not
// written meanwhile.
func TestConsistLeavesTermsAloneWhileTheyAreRead(t *testing.T) {
	s, err := newSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMulti(NewMutex(s, "/a"), NewMutex(s, "/b")).all()
	l := s.enter("", m.full)
	parts := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(l.parts)
	}
	l.mu.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.consist(&m.cfg.terms)
	}()
	select {
	case <-done:
		t.Error("written while lock.mu is held")
	case <-time.After(50 * time.Millisecond):
	}
	if n := parts(); n != 0 {
		t.Errorf("%d parts while lock.mu is held", n)
	}
	l.mu.Unlock()
	<-done
	if n := parts(); n != 2 {
		t.Errorf("%d parts", n)
	}
	l.leave()
}
