package zktest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// After Reset nothing is left of what was: no node, no count of sequential nodes, no
// session, no watch, no fault. A client of before has lost its session.
func TestServerReset(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		second := s.AddMember()
		conn, log := client(t, s.Dial, 6*time.Second)
		id := conn.SessionID()
		create(t, conn, "/kept", 0)
		create(t, conn, "/session", zk.FlagEphemeral)
		create(t, conn, "/number-", zk.FlagSequence)
		_, err := conn.Create("/locked", nil, 0, zk.DigestACL(0, "nobody", "none"))
		must(t, err)
		_, err = conn.Set("/", []byte("data"), -1)
		must(t, err)
		_, _, event, err := conn.GetW("/kept")
		must(t, err)
		zxid := s.Zxid()

		second.LagUntilSync()
		second.CutFromLeader()
		s.Blackhole()
		s.Delay(time.Hour)
		s.Refuse()
		go conn.Create("/late", nil, 0, zk.WorldACL(zk.PermAll))
		synctest.Wait() // the server has the request, and holds it back
		s.DropReply(is("create"))
		s.DropRequest(is("exists"))
		s.Reset()

		if tree, sessions, watches := s.Tree(), s.Sessions(), s.Watches(); tree != "" || len(sessions)+len(watches) > 0 {
			t.Errorf("after Reset: %s, sessions %v, watches %v", tree, sessions, watches)
		}
		if data, st, _ := s.Get("/"); len(data) != 0 || st.NumChildren != 1 || st.Cversion != -1 {
			t.Errorf("the root has the data %q and %+v", data, st)
		}
		if n := s.Requests(); len(n) > 0 {
			t.Errorf("requests %v", n)
		}
		for i, want := range []string{"/number-0000000000", "/number-0000000001"} {
			other, _ := client(t, s.Member(i).Dial, 6*time.Second)
			if other.SessionID() <= id {
				t.Errorf("session %#x after %#x", other.SessionID(), id)
			}
			name, err := other.Create("/number-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err != nil || name != want {
				t.Errorf("member %d makes %s, %v, want %s", i, name, err, want)
			}
		}
		if s.Zxid() <= zxid {
			t.Errorf("zxid %#x after %#x", s.Zxid(), zxid)
		}
		if ev := <-event; !errors.Is(ev.Err, zk.ErrSessionExpired) {
			t.Errorf("the watch of before says %+v", ev)
		}
		if _, _, ok := s.Get("/late"); ok {
			t.Error("a request of before has reached the tree of after")
		}
		if _, _, err := conn.Exists("/kept"); err != nil || conn.SessionID() == id || !log.saw(zk.StateExpired) {
			t.Errorf("the client of before: %v, session %#x", err, conn.SessionID())
		}
	})
}

// After Reset there is a quorum, and the first member leads.
func TestServerResetElects(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		s.AddMember().Lead()
		s.LoseQuorum()
		s.Reset()
		if s.Leader() != s.Member(0) {
			t.Error("the first member does not lead")
		}
		conn, _ := client(t, s.Member(1).Dial, 6*time.Second)
		create(t, conn, "/after", 0)
	})
}
