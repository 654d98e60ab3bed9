package zktest_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// quorumTimeout is the session timeout in the tests of quorums.
const quorumTimeout = 6 * time.Second

// trio is an ensemble of three, in memory or real.
type trio struct {
	dial   func(i int) dialer
	addr   func(i int) string
	leader func() int
	lose   func() (left int) // takes the quorum away; left is a member that clients reach
	regain func()
	elect  func() (left int) // another leader
	cut    func()            // both followers from the leader
	heal   func()
}

// eachTrio runs a test on three members in memory, in virtual time, and in the long
// form on three real servers.
func eachTrio(t *testing.T, f func(t *testing.T, q trio)) {
	t.Run("memory", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			f(t, memoryTrio(s))
		})
	})
	t.Run("real", func(t *testing.T) {
		suite.Long(t)
		f(t, realTrio(t))
	})
}

func memoryTrio(s *zktest.Server) trio {
	followers := []*zktest.Member{s.AddMember(), s.AddMember()}
	each := func(f func(*zktest.Member)) func() {
		return func() {
			for _, m := range followers {
				f(m)
			}
		}
	}
	return trio{
		dial:   func(i int) dialer { return s.Member(i).Dial },
		addr:   func(int) string { return "" },
		leader: func() int { return 0 },
		lose:   func() int { s.LoseQuorum(); return 1 },
		regain: s.RegainQuorum,
		elect:  func() int { s.Member(2).Lead(); return 1 },
		cut:    each(func(m *zktest.Member) { m.CutFromLeader() }),
		heal:   each(func(m *zktest.Member) { m.RejoinLeader() }),
	}
}

func realTrio(t *testing.T) trio {
	e := ensemble.Run(t, 3, ensemble.WithSyncLimit(80)) // cut off for 20 s they still wait
	leader, err := e.WaitLeader(20 * time.Second)
	must(t, err)
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	each := func(servers []int, f func(int) error) {
		for _, i := range servers {
			must(t, f(i))
		}
	}
	return trio{
		dial:   func(int) dialer { return net.DialTimeout },
		addr:   e.Addr,
		leader: e.Leader,
		lose: func() int {
			each(others, e.Stop)
			return leader
		},
		regain: func() { each(others, e.Start) },
		elect: func() int {
			must(t, e.Stop(leader))
			return others[0]
		},
		cut:  func() { each(others, e.Cut) },
		heal: func() { each(others, e.Heal) },
	}
}

func (q trio) connect(t *testing.T, i int) *rawConn { return rawDial(t, q.dial(i), q.addr(i)) }

// sessions opens a session on each member, each with a node.
func (q trio) sessions(t *testing.T) (all []*rawConn) {
	t.Helper()
	for i := range 3 {
		c := q.connect(t, i)
		if !c.hello(hello(quorumTimeout)) || c.hi.SessionID == 0 {
			t.Fatal("no session")
		}
		c.create(fmt.Sprint("/", i), eph)
		all = append(all, c)
	}
	return all
}

func hello(timeout time.Duration) wire.ConnectRequest {
	return wire.ConnectRequest{Timeout: int32(timeout.Milliseconds()), Password: make([]byte, 16)}
}

// ends waits until the server closes the connection.
func (c *rawConn) ends(within time.Duration) bool {
	begin := time.Now()
	for c.frameWithin(within) != nil { // a ping may be answered before
	}
	return time.Since(begin) < within
}

func (c *rawConn) frameWithin(d time.Duration) []byte {
	// A connection that is closed has no deadline, and needs none.
	_ = c.nc.SetReadDeadline(time.Now().Add(d))
	frame := c.frame()
	_ = c.nc.SetReadDeadline(time.Time{})
	return frame
}

// resume reconnects to the session of old, as soon as there is a leader.
func (q trio) resume(t *testing.T, i int, old *rawConn) *rawConn {
	t.Helper()
	c := q.connect(t, i)
	for begin := time.Now(); !c.hello(old.again()); c = q.connect(t, i) {
		if time.Since(begin) > 30*time.Second {
			t.Fatal("no leader")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if c.hi.SessionID != old.hi.SessionID {
		t.Fatalf("session %#x became %#x", old.hi.SessionID, c.hi.SessionID)
	}
	return c
}

// There is no quorum for longer than any session's timeout.
func TestQuorumLost(t *testing.T) {
	eachTrio(t, func(t *testing.T, q trio) {
		sessions := q.sessions(t)
		epoch := sessions[2].zxid >> 32
		left := q.lose()
		for i, c := range sessions {
			if !c.ends(10 * time.Second) {
				t.Errorf("the connection to member %d stands", i)
			}
		}
		for _, req := range []wire.ConnectRequest{sessions[left].again(), hello(quorumTimeout)} {
			if c := q.connect(t, left); c.hello(req) {
				t.Errorf("a connect was answered: %+v", c.hi)
			}
		}
		slow, late := q.connect(t, left), q.connect(t, left)
		slow.write([]byte{0, 0})
		if slow.ends(500 * time.Millisecond) {
			t.Error("closed after two bytes")
		}
		slow.write([]byte{0, 44})
		if !slow.ends(10 * time.Second) {
			t.Error("stands after the length of a request")
		}
		time.Sleep(quorumTimeout * 3 / 2)
		begin := time.Now()
		q.regain()
		c := q.resume(t, left, sessions[0])
		if late.hello(hello(quorumTimeout)) {
			t.Error("a connection from before the election was answered")
		}
		for i := range 3 {
			c.stat(fmt.Sprint("/", i))
		}
		c.create("/after", 0)
		if want := (epoch+1)<<32 + 1; c.zxid != want {
			t.Errorf("zxid %#x, want %#x", c.zxid, want)
		}
		q.endLater(t, c, begin)
	})
}

// endLater waits until the sessions of two members, which have lost their
// connections, end by themselves.
func (q trio) endLater(t *testing.T, c *rawConn, begin time.Time) {
	t.Helper()
	for i := 1; i < 3; {
		if r, _ := c.do(wire.OpExists, fmt.Sprint("/", i), false); r.Err == wire.CodeNoNode {
			i++
			continue
		}
		time.Sleep(50 * time.Millisecond)
		if time.Since(begin) > time.Minute {
			t.Fatalf("session %d never ends", i)
		}
	}
	if d := time.Since(begin); d < quorumTimeout {
		t.Errorf("the sessions end %v after the election", d)
	}
	c.stat("/0")
}

// A new leader is elected while nobody is cut off.
func TestQuorumElection(t *testing.T) {
	eachTrio(t, func(t *testing.T, q trio) {
		sessions := q.sessions(t)
		time.Sleep(quorumTimeout / 2)
		begin := time.Now()
		left := q.elect()
		for i, c := range sessions {
			if !c.ends(20 * time.Second) {
				t.Errorf("the connection to member %d stands", i)
			}
		}
		c := q.resume(t, left, sessions[0])
		c.create("/after", 0)
		if want := (sessions[2].zxid>>32+1)<<32 + 1; c.zxid != want {
			t.Errorf("zxid %#x, want %#x", c.zxid, want)
		}
		q.endLater(t, c, begin)
	})
}

// The leader loses both followers, for a time that it waits.
func TestQuorumCutOff(t *testing.T) {
	eachTrio(t, func(t *testing.T, q trio) {
		sessions := q.sessions(t)
		leader := q.leader()
		own, others := sessions[leader], []*rawConn{sessions[(leader+1)%3], sessions[(leader+2)%3]}
		q.cut()
		own.stat("/") // reads are answered
		xid := own.send(wire.OpCreate, crt("/after", 0)...)
		for range 15 {
			time.Sleep(quorumTimeout / 10)
			for _, c := range sessions {
				c.sendXid(wire.XidPing, wire.OpPing)
			}
		}
		if frame := own.frameWithin(quorumTimeout / 10); frame != nil {
			t.Fatalf("answered: %x", frame)
		}
		q.heal()
		r := own.recv()
		if r.Xid != xid || r.Err != wire.CodeOK || r.Zxid>>32 != own.zxid>>32 {
			t.Errorf("after the cut: %+v", r)
		}
		for _, c := range others {
			if !c.ends(20 * time.Second) {
				t.Error("a session lives that the leader had not heard of")
			}
		}
		for range 15 {
			if r := own.recv(); r.Xid != wire.XidPing {
				t.Errorf("answer to a ping: %+v", r)
			}
		}
		own.stat(fmt.Sprint("/", leader))
	})
}

// A client of go-zookeeper sits through an hour without a quorum.
func TestQuorumLostForAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		conn, log := client(t, s.Dial, 6*time.Second)
		create(t, conn, "/e", zk.FlagEphemeral)
		must(t, s.SetSequence("/", 7))
		id := conn.SessionID()
		s.LoseQuorum()
		if s.Leader() != nil {
			t.Error("there is a leader")
		}
		time.Sleep(time.Hour)
		if got := s.Sessions(); len(got) != 1 || got[0].Remaining != 6*time.Second || got[0].Connected {
			t.Errorf("sessions %+v", got)
		}
		s.RegainQuorum()
		time.Sleep(3 * time.Second)
		if conn.SessionID() != id || log.saw(zk.StateExpired) || !exists(t, conn, "/e") {
			t.Error("the session was to survive")
		}
		zxid := s.Zxid()
		s.RegainQuorum()
		if s.Zxid() != zxid || s.Leader() != s.Member(0) {
			t.Error("an election without need")
		}
	})
}

// Nodes that are to go by themselves stay while there is no quorum.
func TestQuorumLostReapsNothing(t *testing.T) {
	for _, cut := range []bool{false, true} {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			c := open(t, s)
			c.ok(wire.OpCreateTTL, append(crt("/t", 5), int64(1000))...)
			lose, regain := s.LoseQuorum, s.RegainQuorum
			if cut {
				lose, regain = s.CutFromLeader, s.RejoinLeader
			}
			lose()
			time.Sleep(5 * time.Minute)
			if _, _, ok := s.Get("/t"); !ok || len(s.Sessions()) != 1 {
				t.Errorf("cut %t: a transaction without a quorum", cut)
			}
			regain()
			time.Sleep(2 * time.Minute)
			if _, _, ok := s.Get("/t"); ok || len(s.Sessions()) != 0 {
				t.Errorf("cut %t: the node or the session is still there", cut)
			}
		})
	}
}

// The old leader is cut off while another one is elected.
func TestLeadBesideADeposedLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		old, next := s.Member(0), s.AddMember()
		s.AddMember()
		c, other := open(t, old), open(t, next)
		c.create("/a", 0)
		old.CutFromLeader()
		next.Lead()
		if s.Leader() != next || !other.ends(time.Second) {
			t.Error("the election has left a connection, or elected another one")
		}
		w := open(t, next)
		w.ok(wire.OpSetData, "/a", []byte("new"), -1)
		if st := c.stat("/a"); st.Version != 0 || s.Zxid()>>32 != 1 {
			t.Errorf("the member that is cut off knows: %+v", st)
		}
		old.RejoinLeader()
		if !c.ends(time.Second) {
			t.Error("a member that has missed an election keeps its connection")
		}
		if st := open(t, old).stat("/a"); st.Version != 1 {
			t.Errorf("after the cut: %+v", st)
		}
		old.CutFromLeader()
		s.LoseQuorum()
		old.Lead() // which ends both
		open(t, old).create("/b", 0)
	})
}

// A session that has moved is noticed by whoever leads.
func TestLeaderNoticesAMove(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t)
		next := s.AddMember()
		next.Lead()
		for i, m := range []*zktest.Member{s.Member(0), next} {
			old := open(t, m)
			moved := rawDial(t, s.Member(1-i).Dial, "")
			if !moved.hello(old.again()) {
				t.Fatal("no session")
			}
			if r, _ := old.do(wire.OpExists, "/", false); r.closed != (m == next) {
				t.Errorf("member %d: closed %t", i, r.closed)
			}
		}
	})
}
