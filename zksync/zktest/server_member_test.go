package zktest_test

import (
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestServerLagUntilSync(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		member := s.AddMember()
		c, writer := open(t, member), open(t, s)
		writer.create("/a", 0)
		c.ok(wire.OpGetData, "/a", true)
		member.LagUntilSync()
		writer.ok(wire.OpSetData, "/a", []byte("new"), -1)
		writer.create("/a/b", 0)
		if st := c.stat("/a"); st.Version != 0 || st.NumChildren != 0 {
			t.Errorf("no lag: %+v", st)
		}
		// Who has seen more is not let in.
		late := rawDial(t, member.Dial, "")
		again := writer.again()
		if again.LastZxidSeen = s.Zxid(); late.hello(again) {
			t.Error("a client that has seen more was let in")
		}
		if _, events := c.do(wire.OpSync, "/a"); events != "changed:/a" {
			t.Errorf("events before the sync: %q", events)
		}
		if st := c.stat("/a"); st.Version != 1 || st.NumChildren != 1 {
			t.Errorf("after the sync: %+v", st)
		}
		writer.create("/b", 0)
		if r, _ := c.do(wire.OpExists, "/b", false); r.Err != wire.CodeNoNode {
			t.Errorf("lags no more: %+v", r)
		}
		c.create("/c", 0) // a write of its own does it too
		c.stat("/b")
		// The end of a session is news like any other.
		s.Expire(c.hi.SessionID)
		c.stat("/b")
		if r, _ := c.do(wire.OpCreate, crt("/d", 0)...); r.Err != wire.CodeSessionExpired {
			t.Errorf("write of a session that is over: %+v", r)
		}
		member.CatchUp()
		late = open(t, member)
		writer.create("/e", 0)
		late.stat("/e")
	})
}

func TestServerCutFromLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		member := s.AddMember()
		c, other := open(t, member), open(t, s)
		c.create("/e", eph)
		member.CutFromLeader()
		start := time.Now()
		for _, _, ok := s.Get("/e"); ok; _, _, ok = s.Get("/e") {
			c.ping()
			other.ping()
			time.Sleep(100 * time.Millisecond)
		}
		if d := time.Since(start); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("expired after %v", d)
		}
		c.stat("/e") // as far as this member knows
		xid := c.send(wire.OpSync, "/e")
		fresh := rawDial(t, member.Dial, "")
		met := make(chan bool, 1)
		go func() { met <- fresh.hello(wire.ConnectRequest{Timeout: 10_000}) }()
		time.Sleep(time.Second)
		if len(met) != 0 {
			t.Error("a session was made")
		}
		member.RejoinLeader()
		if r := c.recv(); !r.closed {
			t.Errorf("answer to %d of a session that is over: %+v", xid, r)
		}
		if !<-met {
			t.Error("no session after the cut")
		}
	})
}

func TestServerSessionMoves(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		member := s.AddMember()
		old := open(t, member)
		moved := rawDial(t, s.Dial, "")
		if !moved.hello(old.again()) || moved.hi.SessionID != old.hi.SessionID {
			t.Fatalf("%+v", moved.hi)
		}
		old.stat("/") // a read through another member
		zxid := s.Zxid()
		if r, _ := old.do(wire.OpCreate, crt("/a", 0)...); !r.closed || s.Zxid() != zxid {
			t.Errorf("write through the old connection: %+v", r)
		}
		moved.create("/b", 0)
		// Through the same member the old connection ends at once.
		again := rawDial(t, s.Dial, "")
		if !again.hello(moved.again()) {
			t.Fatal("no connection")
		}
		if r := moved.recv(); !r.closed {
			t.Errorf("%+v", r)
		}
		again.create("/c", 0)
		bad := again.again()
		bad.Password = make([]byte, 16)
		thief := rawDial(t, s.Dial, "")
		if !thief.hello(bad) || thief.hi.SessionID != 0 || thief.hi.Timeout != 0 || !thief.recv().closed {
			t.Errorf("wrong password: %+v", thief.hi)
		}
		again.ping()
	})
}
