package sim

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A part of a permit that is being given back, and the permit's loss, both want
// its node. Who comes second waits as one waits for answers: time goes on.
func TestCloseBesideAPartGivenBack(t *testing.T) {
	late := time.AfterFunc(endless, func() { panic("time stands still") })
	defer late.Stop()
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, member := dialTo(t, srv)
		sem := zksync.NewSemaphore(s, "/s", 3)
		if err := sem.Acquire(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		member.Blackhole()
		go sem.Release(1)
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		_ = s.Close() // the error says that a node could not be deleted
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// The line may change between the listing that shows that permits don't fit and
// the watch on what would make them fit, also within one reading of the clock.
func TestPermitsFreedAtTheMomentOfTheWatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, _ := dialTo(t, srv)
		defer s.Close()
		sem := zksync.NewSemaphore(s, "/s", 2)
		for round := range 300 {
			if err := sem.Acquire(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() {
				err := sem.Acquire(ctx, 2)
				if err == nil {
					sem.Release(2)
				}
				gone <- err
			}()
			time.Sleep(20 * time.Millisecond)
			freed := time.Now()
			sem.Release(2)
			cancel()
			if err := sem.Acquire(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(freed); took > 100*time.Millisecond {
				t.Fatalf("round %d: %v until free permits were had", round+1, took)
			}
			<-gone
			sem.Release(2)
		}
	})
}

// The answer to a Multi's transaction is lost, and one of its nodes is deleted by
// hand while the client looks what became of them. The other one goes, too.
func TestMultiBrokenWhileLookedFor(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		other, _ := dialTo(t, srv)
		defer other.Close()
		first, second := zksync.NewMutex(other, "/a"), zksync.NewMutex(other, "/b")
		first.Lock()
		second.Lock()
		second.Unlock()
		s, member := dialTo(t, srv)
		defer s.Close()
		member.Jitter(20 * time.Millisecond)
		var lost, looked atomic.Bool
		member.DropReply(func(r zktest.Request) bool {
			return r.Op == "multi" && lost.CompareAndSwap(false, true)
		})
		member.DropRequest(func(r zktest.Request) bool {
			if lost.Load() && !looked.Load() && strings.HasPrefix(r.Op, "getChildren") && slices.Contains(r.Paths, "/b") {
				looked.Store(true)
				names := srv.Children("/a") // the second one is the Multi's
				slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
				go func() { _ = other.Conn().Delete("/a/"+names[1], -1) }()
			}
			return false
		})
		go func() {
			m := zksync.NewMulti(zksync.NewMutex(s, "/a"), zksync.NewMutex(s, "/b"))
			m.Lock()
			m.Unlock()
		}()
		time.Sleep(time.Second)
		if !looked.Load() {
			t.Error("the client has not looked for its nodes")
		}
		if names := srv.Children("/b"); len(names) != 1 {
			t.Errorf("in line at /b: %q, want one node", names)
		}
		first.Unlock()
		time.Sleep(time.Second)
	})
}

// The connection breaks while a Multi that is free everywhere lists its queues,
// and the node in a queue that it has seen is deleted by hand meanwhile: what it
// saw then is too old to be granted on.
func TestMultiSeenInParts(t *testing.T) {
	for seed := range uint64(30) { // which of the queues is listed first differs, and by how much
		bubble.Test(t, func(t *testing.T) { multiSeenInParts(t, seed) })
	}
}

func multiSeenInParts(t *testing.T, seed uint64) {
	srv := zktest.New(zktest.WithSeed(seed))
	defer srv.Close()
	s, member := dialTo(t, srv)
	defer s.Close()
	other, _ := dialTo(t, srv)
	defer other.Close()
	member.Jitter(20 * time.Millisecond)
	broken := ""
	member.DropRequest(func(r zktest.Request) bool {
		if broken != "" || !strings.HasPrefix(r.Op, "getChildren") || !slices.Contains(r.Paths, "/b") {
			return false
		}
		broken = "/a/" + srv.Children("/a")[0]
		go func() { _ = other.Conn().Delete(broken, -1) }()
		return true // and breaks the connection
	})
	h, err := zksync.NewMulti(zksync.NewMutex(s, "/a"), zksync.NewMutex(s, "/b")).Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Release(t.Context())
	if _, _, stands := srv.Get(broken); broken == "" || stands {
		t.Fatal("no node was deleted while the queues were listed")
	}
	if got := srv.Children("/a"); len(got) != 1 || got[0] != path.Base(h.Node()) {
		t.Errorf("held by %s, and in line there: %q", h.Node(), got)
	}
}

// A Multi that is free everywhere is waited for one round trip, however many locks it is
// of.
func TestMultiInOneRoundTrip(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.New()
		defer srv.Close()
		s, member := dialTo(t, srv)
		defer s.Close()
		var locks []zksync.Locker
		for _, p := range []string{"/a", "/b", "/c", "/d", "/e"} {
			locks = append(locks, zksync.NewMutex(s, p))
		}
		m := zksync.NewMulti(locks...)
		m.Lock() // makes the paths
		m.Unlock()
		const way = 10 * time.Millisecond
		member.Delay(way)
		for _, take := range []func(context.Context) (func(context.Context) error, error){
			func(ctx context.Context) (func(context.Context) error, error) {
				return m.UnlockContext, m.LockContext(ctx)
			},
			func(ctx context.Context) (func(context.Context) error, error) {
				h, err := m.Hold(ctx)
				return h.Release, err
			},
		} {
			start := time.Now()
			release, err := take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != 2*way {
				t.Errorf("taken in %v, want one round trip of %v", took, 2*way)
			}
			if err := release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
