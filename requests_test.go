package zksync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

func TestRequestsOfAFreeLock(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, usedPath(t, s.Session))
		s.take(t)
		for way, f := range lockWays {
			for range 3 {
				free, err := f(short(t), m)
				if err == nil {
					err = free()
				}
				if err != nil {
					t.Fatal(err)
				}
				want := ops{"create": 1, "getChildren2": 1, "delete": 1}
				if way == "Hold" {
					want["getData"] = 1 // the fence, beside the listing
				}
				s.wants(t, way, want)
			}
		}
		if err := m.Do(short(t), func(context.Context, *zksync.Hold) error { return nil }); err != nil {
			t.Fatal(err)
		}
		s.wants(t, "Do", ops{"create": 1, "getChildren2": 1, "getData": 1, "delete": 1})
	})
}

func TestRequestsOfAHandOver(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		s := z.counted(t)
		m := zksync.NewMutex(s.Session, usedPath(t, s.Session))
		m.Lock()
		s.take(t)
		next := make(chan error, 1)
		go func() { next <- m.LockContext(short(t)) }()
		eventually(t, "the second call waits", func() bool { return s.Stats().Waiting == 1 })
		eventually(t, "the node is watched", func() bool { return s.p.Requests()["getData"] == 1 })
		s.wants(t, "waiting for the goroutine next door", ops{"getData": 1})
		m.Unlock()
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		s.wants(t, "hand-over", ops{})
		if n := s.Stats().Handoffs; n != 1 {
			t.Errorf("%d hand-overs, want 1", n)
		}
		m.Unlock()
		s.wants(t, "unlock with nobody waiting", ops{"delete": 1})
	})
}

func TestRequestsFromDeletedToHeld(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		first, second, third := z.counted(t), z.counted(t), z.counted(t)
		p := usedPath(t, first.Session)
		for way, lock := range lockWays {
			t.Run(way, func(t *testing.T) {
				m := zksync.NewMutex(first.Session, p)
				m.Lock()
				first.take(t)
				second.take(t)
				third.take(t)
				b := callInLine(t, second, p, lock)
				c := callInLine(t, third, p, lock)

				m.Unlock()
				free := b.held(t)
				first.wants(t, "the release", ops{"delete": 1})
				second.wants(t, "next in line, only the holder ahead", ops{})
				third.wants(t, "further back", ops{})

				if err := free(); err != nil {
					t.Fatal(err)
				}
				free = c.held(t)
				third.wants(t, "deeper in line", ops{"getChildren2": 1})
				if err := free(); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// Further back nobody proves that the session lives: that would be a
// transaction every T/6 for everybody in line. After more than T/2 without one
// the turn costs the proof, too.
func TestRequestsAfterALongWait(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		first, second := z.counted(t), z.counted(t)
		third := &counted{p: z.proxied(t)}
		third.Session = dialTo(t, []string{third.p.Addr()}, zksync.WithSessionTimeout(2*time.Second))
		third.take(t)
		p := usedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		b := callInLine(t, second, p, lockWays["LockContext"])
		c := callInLine(t, third, p, lockWays["LockContext"])
		time.Sleep(third.Timeout()/2 + 100*time.Millisecond)
		m.Unlock()
		free := b.held(t)
		third.wants(t, "further back", ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
		free = c.held(t)
		third.wants(t, "deeper in line, after T/2", ops{"getChildren2": 1, "multi": 1})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}

// Who stood behind a waiter that left moves up and waits on.
func TestRequestsWhenAMiddleWaiterLeaves(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		first, second, third := z.counted(t), z.counted(t), z.counted(t)
		p := usedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		ctx, cancel := context.WithCancel(short(t))
		left := make(chan error, 1)
		go func() { left <- zksync.NewMutex(second.Session, p).LockContext(ctx) }()
		second.stands(t)
		c := callInLine(t, third, p, lockWays["LockContext"])
		first.take(t)

		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Fatalf("a cancelled call returned %v", err)
		}
		eventually(t, "the one behind watches the holder", func() bool { return third.p.Requests()["getData"] == 1 })
		second.wants(t, "leaving", ops{"delete": 1})
		third.wants(t, "moving up", ops{"getChildren2": 1, "getData": 1})
		c.waits(t)

		m.Unlock()
		free := c.held(t)
		third.wants(t, "next in line by now", ops{})
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}

// lineCall is a call that waits.
type lineCall struct{ done chan func() error }

func callInLine(t *testing.T, s *counted, p string, lock lockWay) lineCall {
	t.Helper()
	w := lineCall{done: make(chan func() error, 1)}
	ctx := short(t)
	go func() {
		free, err := lock(ctx, zksync.NewMutex(s.Session, p))
		if err != nil {
			t.Error(err)
			free = nil
		}
		w.done <- free
	}()
	s.stands(t)
	return w
}

func (w lineCall) held(t *testing.T) (free func() error) {
	t.Helper()
	select {
	case free = <-w.done:
	case <-time.After(20 * time.Second):
	}
	if free == nil {
		t.Fatal("the lock was not granted")
	}
	return free
}

func (w lineCall) waits(t *testing.T) {
	t.Helper()
	select {
	case <-w.done:
		t.Fatal("the lock was granted to two")
	default:
	}
}

func TestRequestsOfARefusedTry(t *testing.T) {
	onServers(t, func(t *testing.T, z *site) {
		holder, s := z.counted(t), z.counted(t)
		p := usedPath(t, holder.Session)
		held := zksync.NewMutex(holder.Session, p)
		held.Lock()
		defer held.Unlock()
		holder.take(t)
		raw := z.raw(t)
		_, before, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		watches, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		m := zksync.NewMutex(s.Session, p)
		for i := range 10 {
			if m.TryLock() {
				t.Fatal("TryLock of a held lock")
			}
			s.wants(t, "TryLock", ops{"getChildren2": 1})
			if ok, err := m.TryLockContext(short(t)); ok || err != nil {
				t.Fatalf("TryLockContext of a held lock: %v, %v", ok, err)
			}
			s.wants(t, "TryLockContext", ops{"getChildren2": 1})
			if _, err := m.TryHold(short(t)); !errors.Is(err, zksync.ErrBusy) {
				t.Fatalf("TryHold of a held lock: %v", err)
			}
			s.wants(t, fmt.Sprintf("TryHold, round %d", i), ops{"getChildren2": 1})
			// The holder's own session knows without asking.
			if held.TryLock() {
				t.Fatal("TryLock of a lock that is held next door")
			}
			holder.wants(t, "TryLock in the holder's session", ops{})
		}
		_, after, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		if before.Cversion != after.Cversion || before.NumChildren != after.NumChildren {
			t.Errorf("a refused try has made a node: cversion %d, was %d", after.Cversion, before.Cversion)
		}
		if n, err := z.watches(); err != nil || n != watches {
			t.Errorf("%d watches (%v), were %d", n, err, watches)
		}
	})
}

// The client can't take a watch back, so that each try which sets one of its
// own would leave it.
func TestLesson31_TimedOutTriesLeaveNothing(t *testing.T) {
	const tries = 10_000
	onServersInTurn(t, func(t *testing.T, z *site) {
		holder, s := z.dial(t), z.dial(t)
		p := lockPath(t)
		held := zksync.NewMutex(holder, p)
		held.Lock()
		before, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		start, requests, room := time.Now(), s.Stats().Requests, footprint()
		m := zksync.NewMutex(s, p)
		for i := range tries {
			if i%2 == 0 {
				if m.TryLock() {
					t.Fatal("TryLock of a held lock")
				}
				continue
			}
			// It ends anywhere from before the create to after the last watch.
			// One call at a time: together they would share a node.
			ctx, cancel := context.WithTimeout(context.Background(), rand.N(3*time.Millisecond))
			if err := m.LockContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("LockContext of a held lock: %v", err)
			}
			cancel()
		}
		eventually(t, "only the holder's node is left", func() bool {
			return s.Stats().CleanupPending == 0 && len(children(t, s.Conn(), p)) == 1
		})
		after, err := z.watches()
		if err != nil {
			t.Fatal(err)
		}
		if after-before > 2 {
			t.Errorf("%d timed-out tries have left %d watches, want 2 at most", tries, after-before)
		}
		// The server keeps one watch a path and connection, however often it
		// was asked for one; the client keeps all.
		room = footprint() - room
		if room > 500_000 && !raceEnabled {
			t.Errorf("%d timed-out tries have left %d bytes", tries, room)
		}
		_, st, err := s.Conn().Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		nodes := (int(st.Cversion) + int(st.NumChildren)) / 2 // that were ever made
		if nodes < tries/10 {
			t.Errorf("only %d tries came so far as to make a node", nodes)
		}
		t.Logf("%d tries in %v: %d requests, %d nodes made; %d watches and %d bytes left", tries,
			time.Since(start).Round(time.Millisecond), s.Stats().Requests-requests, nodes-1, after-before, room)
		held.Unlock()
		z.empty(t, p)
	})
}

// A release wakes exactly one session, and nobody else hears of it.
func TestReleaseWakesOneSession(t *testing.T) {
	const n = 6
	onServers(t, func(t *testing.T, z *site) {
		first := z.counted(t)
		p := usedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		var line []*counted
		var calls []lineCall
		for range n {
			s := z.counted(t)
			line = append(line, s)
			calls = append(calls, callInLine(t, s, p, lockWays["LockContext"]))
		}
		first.take(t)
		free := func() error { return m.UnlockContext(short(t)) }
		for i := range line {
			if err := free(); err != nil {
				t.Fatal(err)
			}
			free = calls[i].held(t)
			for j, s := range line[i:] {
				want, events := ops{}, int64(0)
				if j == 0 {
					events = 1
					if i > 0 {
						want["getChildren2"] = 1
					}
				}
				s.wants(t, fmt.Sprintf("release %d, session %d", i, i+j), want)
				if got := s.events.Swap(0); got != events {
					t.Errorf("release %d: session %d got %d watch events, want %d", i, i+j, got, events)
				}
			}
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}
