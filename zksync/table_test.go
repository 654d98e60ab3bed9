package zksync

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// Who leaves a lock that is out of the table already leaves alone the lock that
// came after it.
func TestLeaveRemovesNoOtherLock(t *testing.T) {
	s, err := newSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	before := s.enter("/l", "/l")
	before.leave()
	before.ref()
	next := s.enter("/l", "/l")
	if next == before {
		t.Fatal("a lock that nobody uses is still in the table")
	}
	before.leave()
	if l := s.find("/l"); l != next {
		t.Fatalf("the lock in use is %p, the table has %p", next, l)
	}
	next.leave()
	next.leave()
	if len(s.locks) != 0 {
		t.Error("a lock that nobody uses is in the table")
	}
}

// The deletion of a read node that came too late for its call is counted in
// before the last one that knows of it leaves: the lock stays in the table.
func TestLateDowngradeKeepsItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		srv := zktest.Run(t)
		s, err := Dial(context.Background(), []string{"10.0.0.1"}, WithDialer(srv.Dial), WithSessionTimeout(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rw, o := NewRWMutex(s, "/l"), NewOwner("")
		owned := WithOwner(context.Background(), o)
		if err := rw.LockContext(owned); err != nil {
			t.Fatal(err)
		}
		l := s.find("/l")
		if err := l.ten.e.Learn(); err != nil {
			t.Fatal(err)
		}
		srv.Delay(delay)
		ctx, cancel := context.WithTimeout(owned, delay)
		defer cancel()
		w := &waiter{kind: znode.Read, call: ctx, ctx: ctx, terms: &l.terms}
		var e *queue.Entry
		if err := l.beside(w, l.ten, &e); err == nil {
			t.Fatal("the call has not ended before its node was made")
		}
		// From here on only the node on its way counts: nobody else uses the lock.
		l.leave()
		l.leave() // the tenure's
		time.Sleep(5 * delay / 2)
		if got := s.Stats().CleanupPending; got != 1 {
			t.Fatalf("%d deletions on their way, want that of the read node", got)
		}
		if s.enter("/l", "/l") != l { // the tenure's again
			t.Fatal("another lock stands in the table while the node of this one is deleted")
		}
		srv.Heal()
		if err := rw.UnlockContext(owned); err != nil {
			t.Error(err)
		}
	})
}
