package costs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

func TestRequestsOfARefusedTry(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		holder, s := z.Counted(t), z.Counted(t)
		p := z.UsedPath(t, holder.Session)
		held := zksync.NewMutex(holder.Session, p)
		held.Lock()
		defer held.Unlock()
		holder.Take(t)
		raw := z.Raw(t)
		_, before, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		watches, err := z.Watches()
		if err != nil {
			t.Fatal(err)
		}
		m := zksync.NewMutex(s.Session, p)
		for i := range 10 {
			if m.TryLock() {
				t.Fatal("TryLock of a held lock")
			}
			s.Wants(t, "TryLock", suite.Ops{"getChildren2": 1})
			if ok, err := m.TryLockContext(suite.Context(t)); ok || err != nil {
				t.Fatalf("TryLockContext of a held lock: %v, %v", ok, err)
			}
			s.Wants(t, "TryLockContext", suite.Ops{"getChildren2": 1})
			if _, err := m.TryHold(suite.Context(t)); !errors.Is(err, zksync.ErrBusy) {
				t.Fatalf("TryHold of a held lock: %v", err)
			}
			// Its error names the holder.
			s.Wants(t, fmt.Sprintf("TryHold, round %d", i), suite.Ops{"getChildren2": 1, "getData": 1})
			if ran, err := m.TryDo(suite.Context(t), nil); ran || err != nil {
				t.Fatalf("TryDo of a held lock: %v, %v", ran, err)
			}
			s.Wants(t, "TryDo", suite.Ops{"getChildren2": 1})
			// The holder's own session knows without asking.
			if held.TryLock() {
				t.Fatal("TryLock of a lock that is held next door")
			}
			holder.Wants(t, "TryLock in the holder's session", suite.Ops{})
		}
		_, after, err := raw.Exists(p)
		if err != nil {
			t.Fatal(err)
		}
		if before.Cversion != after.Cversion || before.NumChildren != after.NumChildren {
			t.Errorf("a refused try has made a node: cversion %d, was %d", after.Cversion, before.Cversion)
		}
		if n, err := z.Watches(); err != nil || n != watches {
			t.Errorf("%d watches (%v), were %d", n, err, watches)
		}
	})
}

// The client can't take a watch back, so that each try which sets one of its
// own would leave it.
func TestTimedOutTriesLeaveNothing(t *testing.T) {
	tries := suite.LongOr(10_000, 500)
	suite.EachInTurn(t, func(t *testing.T, z *suite.Ground) {
		holder, s := z.Dial(t), z.Dial(t)
		p := z.Path(t)
		held := zksync.NewMutex(holder, p)
		held.Lock()
		before, err := z.Watches()
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
		suite.Eventually(t, "only the holder's node is left", func() bool {
			return s.Stats().CleanupPending == 0 && len(suite.Children(t, s.Conn(), p)) == 1
		})
		after, err := z.Watches()
		if err != nil {
			t.Fatal(err)
		}
		if after-before > 2 {
			t.Errorf("%d timed-out tries have left %d watches, want 2 at most", tries, after-before)
		}
		// The server keeps one watch a path and connection, however often it
		// was asked for one; the client keeps all.
		room = footprint() - room
		if room > 500_000 && !race.Enabled {
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
		z.Empty(t, p)
	})
}

// A release wakes exactly one session, and nobody else hears of it.
func TestReleaseWakesOneSession(t *testing.T) {
	const n = 6
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		first := z.Counted(t)
		p := z.UsedPath(t, first.Session)
		m := zksync.NewMutex(first.Session, p)
		m.Lock()
		var line []*suite.Counted
		var calls []suite.LineCall
		for range n {
			s := z.Counted(t)
			line = append(line, s)
			calls = append(calls, suite.CallInLine(t, s, p, suite.LockContext))
		}
		first.Take(t)
		free := func() error { return m.UnlockContext(suite.Context(t)) }
		for i := range line {
			if err := free(); err != nil {
				t.Fatal(err)
			}
			free = calls[i].Held(t)
			for j, s := range line[i:] {
				want, events := suite.Ops{}, int64(0)
				if j == 0 {
					events = 1
					if i > 0 {
						want["getChildren2"] = 1
					}
				}
				s.Wants(t, fmt.Sprintf("release %d, session %d", i, i+j), want)
				if got := s.Events.Swap(0); got != events {
					t.Errorf("release %d: session %d got %d watch events, want %d", i, i+j, got, events)
				}
			}
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
	})
}
