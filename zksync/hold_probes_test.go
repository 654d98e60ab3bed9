package zksync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// holdMany takes n locks with paths of some bytes.
func holdMany(t *testing.T, s *zksync.Session, root string, n, size int) []*zksync.Hold {
	t.Helper()
	holds := make([]*zksync.Hold, n)
	suite.Together(t, 50, func(k int) (err error) {
		for i := k; i < n && err == nil; i += 50 {
			path := fmt.Sprintf("%s-%s%d", root, strings.Repeat("p", size), i)
			holds[i], err = zksync.NewMutex(s, path).Hold(suite.Context(t))
		}
		return err
	})
	return holds
}

// A session with many holds, far away from its servers, proves its life in many
// transactions, which take longer than it waits for one. They are sent together, and
// each answer is a sign of life: the connection is not given up.
func TestManyHoldsFarAway(t *testing.T) {
	suite.Beside(t)
	t.Run("VirtualTime", func(t *testing.T) {
		suite.Virtual(t, func(t *testing.T, z *suite.Ground) {
			const n, far = 700, 20 * time.Millisecond // one way
			srv := z.Server
			s := z.Via(t, srv.Dial)
			holds := holdMany(t, s, "/l", n, 1900)
			srv.Delay(far)
			time.Sleep(time.Minute)
			for _, h := range holds {
				suite.Must(t, h.Err())
			}
			if st := s.Stats(); st.Disconnects != 0 || st.Losses != 0 {
				t.Errorf("%d disconnects, %d losses in a minute", st.Disconnects, st.Losses)
			}
			srv.Heal()
			suite.Must(t, s.Close())
		})
	})
	// Here each frame takes its time, one after the other.
	t.Run("Network", func(t *testing.T) {
		suite.Long(t)
		suite.Each(t, func(t *testing.T, z *suite.Ground) {
			const n = 600
			p, s := z.Behind(t)
			holds := holdMany(t, s, z.Path(t), n, 1800)
			p.SetHook(func(f ensemble.Frame) ensemble.Action {
				if f.Op == "multi" {
					time.Sleep(10 * time.Millisecond)
				}
				return ensemble.Pass
			})
			suite.SleepReal(2 * suite.SessionTimeout)
			for _, h := range holds {
				suite.Must(t, h.Err())
			}
			if st := s.Stats(); st.Disconnects != 0 || st.Losses != 0 {
				t.Errorf("%d disconnects, %d losses", st.Disconnects, st.Losses)
			}
			p.SetHook(nil)
		})
	})
}

// A connection that answers nothing is given up all the same.
func TestManyHoldsAndASilentServer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		one, other := srv.AddMember(), srv.AddMember()
		dial, servers := members(one, other)
		other.Refuse()
		s := suite.DialTo(t, servers, suite.WithDialer(dial), zksync.WithSessionTimeout(suite.VirtualTimeout))
		holds := holdMany(t, s, "/l", 300, 1900)
		other.Heal()
		one.CutFromLeader() // pings and reads are answered
		time.Sleep(suite.VirtualTimeout/3 + suite.VirtualTimeout/12)
		if st := s.Stats(); st.Disconnects != 1 || st.Connects != 2 || st.Losses != 0 {
			t.Errorf("%+v", st)
		}
		one.RejoinLeader()
		for _, h := range holds {
			suite.Must(t, h.Err())
		}
		suite.Must(t, s.Close())
	})
}

// A node that its own session may not read hides no other one's end, not even that of
// a part of the same Multi: only the probes find out here.
func TestUnreadableHoldHidesNoOther(t *testing.T) {
	blind := zk.WorldACL(zk.PermAll &^ zk.PermRead)
	suite.Each(t, func(t *testing.T, z *suite.Ground) {
		const n = 40
		const timeout = 3 * suite.SessionTimeout // a probe that waits for a busy machine must not end the connection
		ctx, root, raw := suite.Context(t), z.Path(t), z.Raw(t)
		w, s := z.Tapped(t, zksync.WithSessionTimeout(timeout))
		w.On(func(f suite.TapFrame) suite.TapAct {
			if kind, _ := f.Event(); kind != 0 {
				return suite.TapDrop
			}
			return suite.TapPass
		})
		multi, err := zksync.NewMulti(zksync.NewMutex(s, root+"/a"), zksync.NewMutex(s, root+"/b")).Hold(ctx)
		suite.Must(t, err)
		node := multi.Node()
		_, err = raw.SetACL(node, blind, -1)
		suite.Must(t, err)
		for i := range n {
			h, err := zksync.NewMutex(s, fmt.Sprint(root, i)).Hold(ctx)
			suite.Must(t, err)
			_, err = raw.SetACL(h.Node(), blind, -1)
			suite.Must(t, err)
		}
		suite.SleepReal(timeout / 2) // for the probes to find out
		gone, err := zksync.NewMutex(s, root+"/gone").Hold(ctx)
		suite.Must(t, err)
		suite.Must(t, raw.Delete(gone.Node(), -1))
		suite.Must(t, raw.Delete(root+"/b/"+suite.Children(t, raw, root+"/b")[0], -1))
		for name, h := range map[string]*zksync.Hold{"Hold": gone, "Multi": multi} {
			suite.Within(t, timeout/2, func() { suite.Receive(t, h.Context(ctx).Done()) })
			if err := h.Err(); zksync.LossReason(err) != zksync.EndNodeDeleted {
				t.Errorf("%s: %v", name, err)
			}
		}
		if st := s.Stats(); st.Held != n || st.Losses != 2 || st.Disconnects != 0 {
			t.Errorf("%+v", st)
		}
	}, suite.Timeless)
}
