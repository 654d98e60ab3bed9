package local

import (
	"fmt"
	"testing"
	"time"
)

// Who leaves a lock that is out of the table already leaves alone the lock that
// came after it.
func TestLeaveRemovesNoOtherLock(t *testing.T) {
	table := NewTable()
	before := table.Enter("/l", "/l")
	before.Leave()
	before.ref(1)
	next := table.Enter("/l", "/l")
	if next == before {
		t.Fatal("a lock that nobody uses is still in the table")
	}
	before.Leave()
	if l := table.Find("/l"); l != next {
		t.Fatalf("the lock in use is %p, the table has %p", next, l)
	}
	next.Leave()
	next.Leave()
	if len(table.locks) != 0 {
		t.Error("a lock that nobody uses is in the table")
	}
}

// multi are the terms of a lock of several paths, and its name.
func multi(paths ...string) (name string, terms *Terms) {
	terms = &Terms{}
	for _, p := range paths {
		terms.Parts = append(terms.Parts, Part{Path: p, Kind: Exclusive})
		name += p[1:] + " "
	}
	return name, terms
}

// use has a lock of several paths in use.
func (t *Table) use(paths ...string) *Lock {
	name, terms := multi(paths...)
	l := t.Enter("", name)
	l.Consist(terms)
	return l
}

// What an owner's call costs for the locks of several paths in use grows with those
// that have its path, not with the locks of the session.
func TestEntangledLooksAtSharedPathsOnly(t *testing.T) {
	// took is what a look costs beside n locks in use, and as many of two paths.
	took := func(n int) time.Duration {
		table, plain := NewTable(), &Terms{}
		path := func(i int) string { return fmt.Sprint("/", i) }
		for i := range n {
			table.Enter("", path(i))
			table.use(path(n+2*i), path(n+2*i+1))
		}
		best := time.Hour
		name, both := multi(path(n), path(0)) // shares a path with one lock and one of two paths
		for range 20 {
			start := time.Now()
			for range 100 {
				if table.Entangled(path(n), plain, "o") || table.Entangled(name, both, "o") {
					t.Fatal("the owner holds nothing")
				}
			}
			best = min(best, time.Since(start))
		}
		if k := len(table.sharing(name, both)); k != 2 {
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
func TestSeveralPathsLeaveNoParts(t *testing.T) {
	table := NewTable()
	var used []*Lock
	for i := range 10 {
		for range 2 {
			used = append(used, table.use("/a", fmt.Sprint("/", i)))
		}
	}
	if n := table.multis.Load(); n != 10 || len(table.parts["/a"]) != 10 || len(table.parts) != 11 {
		t.Errorf("%d locks of two paths, %d of them with /a, %d paths", n, len(table.parts["/a"]), len(table.parts))
	}
	for _, l := range used {
		l.Leave()
	}
	if n := table.multis.Load(); n != 0 || len(table.parts) != 0 || len(table.locks) != 0 {
		t.Errorf("%d locks of two paths, %d paths, %d locks", n, len(table.parts), len(table.locks))
	}
}

// What a lock consists of may be read with its own mutex held: it is not written
// meanwhile.
func TestConsistLeavesTermsAloneWhileTheyAreRead(t *testing.T) {
	table := NewTable()
	name, terms := multi("/a", "/b")
	l := table.Enter("", name)
	parts := func() int {
		table.mu.Lock()
		defer table.mu.Unlock()
		return len(l.terms.Parts)
	}
	l.mu.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Consist(terms)
	}()
	select {
	case <-done:
		t.Error("written while the lock's mutex is held")
	case <-time.After(50 * time.Millisecond):
	}
	if n := parts(); n != 0 {
		t.Errorf("%d parts while the lock's mutex is held", n)
	}
	l.mu.Unlock()
	<-done
	if n := parts(); n != 2 {
		t.Errorf("%d parts", n)
	}
	l.Leave()
}
