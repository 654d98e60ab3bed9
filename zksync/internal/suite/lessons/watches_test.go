package lessons_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The client's event channel keeps six events and drops the others. We hear of
// all of them: each of many waiters whose turns come at once is woken.
func TestNoEventIsDropped(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 60
		ctx, root := suite.Context(t), z.Path(t)
		holder, s := z.Dial(t), z.Dial(t, suite.TellsLine())
		var results []<-chan error
		for i := range n {
			suite.Must(t, zksync.NewMutex(holder, fmt.Sprint(root, i)).LockContext(ctx))
			wctx, waits := suite.Watched(ctx)
			results = append(results, suite.Async(func() error {
				return zksync.NewMutex(s, fmt.Sprint(root, i)).LockContext(wctx)
			}))
			suite.Receive(t, waits)
		}
		suite.Must(t, holder.Close()) // all of its nodes at once
		suite.Within(t, suite.Soon, func() {
			for _, r := range results {
				suite.Must(t, suite.Receive(t, r))
			}
		})
	})
}

// After a reconnect the program's other watches are set again as of what the
// client had seen when it connected, not of what it has seen since; and however
// many there are.
func TestWatchesSetAgainLoseNoEvent(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		n, changed, queued := 12_000, 600, 16
		if race.Enabled { // the client races with itself here
			n, queued = 1000, 0
		}
		raw, root := z.Raw(t), z.Path(t)
		p, s := z.Behind(t)
		suite.LockAndUnlock(t, zksync.NewMutex(s, root)) // makes the path
		name := func(i int) string { return fmt.Sprintf("%s/%0100d", root, i) }
		inBatches(t, n, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: name(i), Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		var wrong, sets atomic.Int32
		var mu sync.Mutex
		seen := make(map[int64]uint64) // lastZxidSeen of the connect request, by connection
		p.SetHook(func(f ensemble.Frame) ensemble.Action {
			if f.FromServer {
				return ensemble.Pass
			}
			mu.Lock()
			defer mu.Unlock()
			switch f.Op {
			case "connect":
				seen[f.Conn] = binary.BigEndian.Uint64(f.Payload[4:])
			case "setWatches":
				sets.Add(1)
				if z := binary.BigEndian.Uint64(f.Payload[8:]); z == 0 || z != seen[f.Conn] {
					wrong.Add(1)
				}
			}
			return ensemble.Pass
		})
		events := make([]<-chan zk.Event, n)
		c := s.Conn()
		suite.Together(t, 32, func(k int) error {
			for i := k; i < n; i += 32 {
				_, _, ch, err := c.ChildrenW(name(i))
				if err != nil {
					return err
				}
				events[i] = ch
			}
			return nil
		})
		suite.CutOffUntilKnown(t, p, s)
		inBatches(t, changed, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: name(i) + "/child", Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		// Requests that are waiting are answered before the watches are set.
		var wg sync.WaitGroup
		for range queued {
			wg.Go(func() { c.Exists(root) })
		}
		suite.SleepReal(100 * time.Millisecond)
		p.Heal()
		lost := 0
		for i, all := 0, suite.BrieflyFor(t, suite.Patience/2); i < changed; i++ {
			select {
			case <-events[i]:
			case <-all.Done():
				if len(events[i]) == 0 {
					lost++
				}
			}
		}
		wg.Wait()
		if lost > 0 || wrong.Load() > 0 || sets.Load() < 2 {
			t.Errorf("%d of %d events lost; %d of %d SetWatches with a wrong zxid", lost, changed, wrong.Load(), sets.Load())
		}
	})
}

// inBatches calls f for 0 to n, a hundred at a time.
func inBatches(t *testing.T, n int, f func(from, to int) error) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		suite.Must(t, f(from, min(from+100, n)))
	}
}

// A list beyond what the client takes by default does not end the connection.
func TestLongList(t *testing.T) {
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 8000 // names of 200 bytes: more than 1.5 MB
		ctx, path, raw := suite.Context(t), z.Path(t), z.Raw(t)
		s := z.Dial(t)
		m := zksync.NewMutex(s, path)
		suite.LockAndUnlock(t, m)
		inBatches(t, n, func(from, to int) error {
			var ops []any
			for i := from; i < to; i++ {
				ops = append(ops, &zk.CreateRequest{Path: fmt.Sprintf("%s/%0200d", path, i), Acl: zk.WorldACL(zk.PermAll)})
			}
			_, err := raw.Multi(ops...)
			return err
		})
		h, err := m.Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, h.Release(ctx))
		if n := s.Stats().Disconnects; n != 0 {
			t.Errorf("%d disconnects", n)
		}
	})
}
