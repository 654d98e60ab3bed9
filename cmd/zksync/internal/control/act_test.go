package control

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// sessions returns how many sessions there are, and how many are connected.
func (r *rig) counts() (all, connected int) {
	r.Helper()
	var doc Sessions
	r.get("sessions", &doc)
	for _, s := range doc.Sessions {
		if s.Connected {
			connected++
		}
	}
	return len(doc.Sessions), connected
}

func (r *rig) wantCounts(all, connected int) {
	r.Helper()
	synctest.Wait()
	if a, c := r.counts(); a != all || c != connected {
		r.Errorf("%d sessions, %d connected, want %d and %d", a, c, all, connected)
	}
}

func TestExpireAndDisconnect(t *testing.T) {
	inBubble(t, func(r *rig) {
		one, two := r.client(0), r.client(1)
		first, second := one.SessionID(), two.SessionID()
		r.act("disconnect?session=%d", first)
		r.wantCounts(2, 1)
		r.act("disconnect?session=all&member=0") // which has the first one's only
		r.wantCounts(2, 1)
		r.act("disconnect?session=%d&member=0", second)
		r.wantCounts(2, 1)
		r.act("disconnect?session=all")
		r.wantCounts(2, 0)
		time.Sleep(4 * time.Second)
		r.wantCounts(2, 2)
		if one.SessionID() != first || two.SessionID() != second {
			t.Error("a session has ended")
		}
		if st := r.act("expire?session=%#x", first); st.Sessions != 1 {
			t.Errorf("%d sessions, want one", st.Sessions)
		}
		if st := r.act("expire?session=all"); st.Sessions != 0 {
			t.Errorf("%d sessions, want none", st.Sessions)
		}
		time.Sleep(4 * time.Second)
		if one.SessionID() == first || two.SessionID() == second {
			t.Error("a session lives")
		}
	})
}

// Stopped members are away. When all are, no session loses time.
func TestStopAndStart(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(1)
		id := c.SessionID()
		st := r.act("stop?member=1")
		if got := []bool{st.Members[0].Stopped, st.Members[1].Stopped, st.Members[2].Stopped}; !slices.Equal(got, []bool{false, true, false}) {
			t.Errorf("stopped: %v", got)
		}
		r.wantCounts(1, 0)
		time.Sleep(3 * time.Second)
		r.wantCounts(1, 0)
		r.refuses("POST", "accept", http.StatusConflict, "member 1 is stopped: start it")
		r.refuses("POST", "accept?member=1", http.StatusConflict, "member 1 is stopped: start it")
		r.act("accept?member=0")
		r.act("start?member=1")
		time.Sleep(2 * time.Second)
		r.wantCounts(1, 1)

		zxid := r.srv.Zxid()
		r.act("stop")
		time.Sleep(time.Hour)
		st = r.act("start")
		if st.Members[0].Stopped || st.Members[1].Stopped || r.srv.Zxid() <= zxid+1 {
			t.Errorf("after the start of all: %+v, which is to begin an epoch after %#x", st, zxid)
		}
		var doc Sessions
		r.get("sessions", &doc)
		if len(doc.Sessions) != 1 || doc.Sessions[0].Remaining < 6 {
			t.Errorf("after the start of all: %+v", doc)
		}
		time.Sleep(2 * time.Second)
		if r.wantCounts(1, 1); c.SessionID() != id {
			t.Error("the session has ended")
		}
	})
}

func TestRestart(t *testing.T) {
	inBubble(t, func(r *rig) {
		c, other := r.client(1), r.client(0)
		id, untouched := c.SessionID(), other.SessionID()
		r.act("cut-from-leader?member=1")
		r.act("lag?member=1")
		r.act("restart?member=1")
		r.wantCounts(2, 1)
		time.Sleep(2 * time.Second)
		r.wantCounts(2, 2)
		_, err := c.Create("/written", nil, 0, world)
		r.must(err)
		r.act("stop")
		if st := r.act("restart"); st.Members[2].Stopped {
			t.Error("a restart has not started what was stopped")
		}
		time.Sleep(2 * time.Second)
		if r.wantCounts(2, 2); c.SessionID() != id {
			t.Error("a restart has ended a session")
		}
		r.act("restart?expired=true")
		r.wantCounts(0, 0)
		time.Sleep(4 * time.Second)
		if c.SessionID() == id || other.SessionID() == untouched {
			t.Error("a long restart has not ended the sessions")
		}
	})
}

// Traffic is slow, held back or refused, until heal.
func TestNetwork(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		took := func() time.Duration {
			start := time.Now()
			_, _, err := c.Exists("/")
			r.must(err)
			return time.Since(start)
		}
		r.act("delay?time=0.25")
		if d := took(); d != 500*time.Millisecond {
			t.Errorf("a request takes %v, want twice the delay", d)
		}
		r.act("delay?time=0")
		r.act("jitter?time=400ms")
		if d := took() + took(); d == 0 || d >= 1600*time.Millisecond {
			t.Errorf("two requests take %v", d)
		}
		r.act("heal?member=0")
		r.act("delay?time=1s&member=2")
		if d := took(); d != 0 {
			t.Errorf("after heal a request takes %v", d)
		}
		for _, way := range []string{"", "?direction=to-server", "?direction=to-client"} {
			r.act("blackhole%s", way)
			time.AfterFunc(time.Second, r.srv.Heal)
			before := r.came(match{op: "exists"}).Counts["exists"]
			if d := took(); d != time.Second {
				t.Errorf("blackhole%s: a request takes %v", way, d)
			}
			if got := r.came(match{op: "exists"}).Counts["exists"] - before; got != 1 {
				t.Errorf("%d requests have come", got)
			}
		}
		r.act("blackhole?direction=to-client")
		go c.Exists("/held")
		var came Requests
		r.get("wait?path=/held", &came)
		r.act("heal")

		r.act("refuse?member=1")
		if nc, err := r.srv.Member(1).Dial("tcp", "", 0); err == nil {
			nc.Close()
			t.Error("a member that refuses has accepted")
		}
		r.act("accept?member=1")
		_ = r.client(1)
	})
}

// A member that lags answers from before; one that is cut off does not write.
func TestLagAndCut(t *testing.T) {
	inBubble(t, func(r *rig) {
		one, two := r.client(0), r.client(1)
		for _, fault := range []struct{ begin, end string }{
			{"lag?member=1", "catch-up"}, {"cut-from-leader?member=1", "rejoin-leader"}, {"lag?member=1", "heal"}, {"cut-from-leader?member=1", "heal"},
		} {
			path := "/" + fault.begin[:3] + fault.end
			r.act("%s", fault.begin)
			_, err := one.Create(path, nil, 0, world)
			r.must(err)
			if found, _, err := two.Exists(path); err != nil || found {
				t.Errorf("%s: %v, %v", fault.begin, found, err)
			}
			r.act("%s", fault.end)
			if found, _, err := two.Exists(path); err != nil || !found {
				t.Errorf("%s: %v, %v", fault.end, found, err)
			}
		}
	})
}

// A request that is lost was not carried out; one whose reply is lost was.
func TestDrop(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		if st := r.act("drop?what=request&op=create&below=/a"); st.Drops != 1 {
			t.Errorf("%+v", st)
		}
		r.act("drop?what=reply&op=create&path=/b/y&count=2")
		create := func(path string) bool {
			_, err := c.Create(path, nil, 0, world)
			if err != nil && !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("%s: %v", path, err)
			}
			return err == nil
		}
		for _, step := range []struct {
			path   string
			ok, is bool
		}{
			{"/a", true, true}, {"/a/x", false, false}, {"/a/x", true, true}, {"/b", true, true}, {"/b/x", true, true}, {"/b/y", false, true},
		} {
			if ok := create(step.path); ok != step.ok {
				t.Errorf("create %s: %v", step.path, ok)
			}
			if _, _, is := r.srv.Get(step.path); is != step.is {
				t.Errorf("after create, %s is there: %v", step.path, is)
			}
			time.Sleep(3 * time.Second) // until the client is connected again
		}
		if st := r.act("forget"); st.Drops != 1 {
			t.Errorf("%d to be lost, want 1", st.Drops)
		}
		if st := r.act("heal"); st.Drops != 0 {
			t.Errorf("%d to be lost after heal", st.Drops)
		}
	})
}

// After a reset nothing is left of the test before, and the next one is recorded.
func TestReset(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := r.client(0)
		_, err := c.Create("/before", nil, 0, world)
		r.must(err)
		r.act("drop?what=request&op=exists&path=/x")
		r.act("stop?member=1")
		r.act("delay?time=1h")
		st := r.act("reset")
		if st.Sessions != 0 || st.Drops != 0 || st.Members[1].Stopped {
			t.Errorf("after reset: %+v", st)
		}
		var tree Tree
		var came Requests
		r.get("tree", &tree)
		r.get("requests", &came)
		if len(tree.Nodes) != 0 || len(came.Requests) != 0 {
			t.Errorf("after reset: %+v, %+v", tree, came)
		}
		next := r.client(1)
		_, _, err = next.Exists("/x")
		r.must(err)
		r.get("requests?path=/x", &came)
		if len(came.Requests) != 1 {
			t.Errorf("requests of after: %+v", came)
		}
	})
}

// A port that another program has taken meanwhile is an answer, and not the end.
func TestStartWithoutItsPort(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := other.Addr().String()
	other.Close()
	srv := zktest.Run(t)
	if err := srv.Listen(addr); err != nil {
		t.Skipf("another program was faster: %v", err)
	}
	c := New(srv, []string{addr})
	r := &rig{T: t, srv: srv, Control: c, handler: Guard(c)}
	r.act("stop")
	if other, err = net.Listen("tcp", addr); err != nil {
		t.Skipf("another program was faster: %v", err)
	}
	for _, act := range []string{"start", "heal", "reset"} {
		r.refuses("POST", act, http.StatusConflict, "address already in use")
	}
	other.Close()
	if st := r.act("start"); st.Members[0].Stopped {
		t.Error("the member is stopped")
	}
}
