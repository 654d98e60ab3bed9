package zktest_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// took returns how long an answer takes.
func took(c *rawConn) time.Duration {
	start := time.Now()
	c.ping()
	return time.Since(start)
}

// Each link has its own faults, and those of its member.
func TestLinkDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		slow, fast := s.AddLink(), s.AddLink()
		a, b, c := open(t, slow), open(t, fast), open(t, s)
		slow.Delay(30 * time.Millisecond)
		if x, y, z := took(a), took(b), took(c); x != 60*time.Millisecond || y != 0 || z != 0 {
			t.Errorf("slow %v, fast %v, none %v", x, y, z)
		}
		s.Delay(time.Millisecond)
		if x, y, z := took(a), took(b), took(c); x != 62*time.Millisecond || y != 2*time.Millisecond || z != y {
			t.Errorf("with that of the member: slow %v, fast %v, none %v", x, y, z)
		}
		s.Heal()
		slow.Jitter(time.Second)
		if x, y := took(a), took(a); x <= 60*time.Millisecond || x > 2060*time.Millisecond || x == y {
			t.Errorf("with jitter: %v, %v", x, y)
		}
		slow.Heal()
		if x := took(a); x != 0 {
			t.Errorf("healed: %v", x)
		}
	})
}

func TestLinkIsCutOff(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		member := s.AddMember()
		link, other := member.AddLink(), member.AddLink()
		a, b := open(t, link), open(t, other)
		link.Blackhole(zktest.ToClient)
		a.send(opCreate, crt("/a", 0)...)
		b.create("/b", 0)
		synctest.Wait()
		if got := s.Tree(); got != "/a \"x\"\n/b \"x\"\n" {
			t.Errorf("tree %q", got)
		}
		link.Blackhole(zktest.ToServer)
		if r := a.recv(); r.closed || r.Err != 0 {
			t.Errorf("%+v", r)
		}
		a.send(opCreate, crt("/c", 0)...)
		synctest.Wait()
		if _, _, ok := s.Get("/c"); ok {
			t.Error("a request has passed")
		}
		member.Blackhole()
		link.Heal() // that of the member still holds
		synctest.Wait()
		if _, _, ok := s.Get("/c"); ok {
			t.Error("a request has passed the member's fault")
		}
		member.Heal()
		if r := a.recv(); r.closed || r.Err != 0 {
			t.Errorf("%+v", r)
		}
		link.Refuse()
		link.DisconnectAll()
		if r := a.recv(); !r.closed {
			t.Errorf("%+v", r)
		}
		if _, err := link.Dial("tcp", "", 0); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
		b.ping()
		open(t, other)
		link.Accept()
		open(t, link)
		member.Refuse()
		if _, err := link.DialContext(t.Context(), "tcp", ""); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
		s.Close()
		if _, err := link.Dial("tcp", "", 0); err == nil {
			t.Error("a closed server can be dialled")
		}
	})
}

// A lost frame ends its connection: what was sent before it arrives.
func TestLoss(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		link := s.AddLink()
		c := open(t, link)
		link.Delay(time.Second)
		c.send(opCreate, crt("/before", 0)...)
		synctest.Wait()
		link.Loss(1)
		c.send(opCreate, crt("/lost", 0)...)
		if r := c.recv(); !r.closed { // the answer to the first one is lost on its way back
			t.Errorf("%+v", r)
		}
		if got := s.Tree(); got != "/before \"x\"\n" {
			t.Errorf("tree %q", got)
		}
		link.Heal()
		if again := rawDial(t, link.Dial, ""); !again.hello(c.again()) || again.hi.SessionID != c.hi.SessionID {
			t.Error("the session is over")
		}
		s.Loss(1)
		if c := rawDial(t, s.Dial, ""); c.hello(wire.ConnectRequest{Timeout: 10_000}) {
			t.Error("a connect has passed")
		}
		s.Loss(0)
		open(t, s)
	})
}

// As many connections end as the probability says, and which ones is fixed by the seed.
func TestLossIsRandom(t *testing.T) {
	frames := func(seed uint64) (sent []int) {
		bubble.Test(t, func(t *testing.T) {
			s := zktest.Run(t, zktest.WithSeed(seed))
			s.Loss(0.05)
			for range 100 {
				c := rawDial(t, s.Dial, "")
				n := 1
				for ok := c.hello(wire.ConnectRequest{Timeout: 10_000}); ok; n++ {
					r, _ := c.do(wire.OpPing)
					ok = !r.closed
				}
				sent = append(sent, n)
			}
		})
		return sent
	}
	one, two := fmt.Sprint(frames(1)), fmt.Sprint(frames(2))
	if one != fmt.Sprint(frames(1)) || one == two {
		t.Errorf("%s\n%s", one, two)
	}
	sum := 0
	for _, n := range frames(3) {
		sum += n
	}
	// A pair of frames ends the connection with a probability of 0.0975.
	if sum < 700 || sum > 1500 {
		t.Errorf("100 connections have lasted for %d requests", sum)
	}
}

// A client with a bad line loses connections, and not its session.
func TestLossOfAClient(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		link := s.AddLink()
		conn, log := client(t, link.Dial, 10*time.Second)
		create(t, conn, "/e", zk.FlagEphemeral)
		link.Loss(0.05)
		link.Delay(20 * time.Millisecond)
		time.Sleep(10 * time.Minute)
		link.Heal()
		if cut, over := log.saw(zk.StateDisconnected), log.saw(zk.StateExpired); !cut || over {
			t.Errorf("disconnected %t, expired %t", cut, over)
		}
		if !exists(t, conn, "/e") {
			t.Error("the node is gone")
		}
	})
}

// What a client sends while an earlier request waits for the leader keeps its session
// alive, unless a blackhole of the member or of the link holds it back.
func TestHeardWhileARequestWaits(t *testing.T) {
	for name, hold := range map[string]func(*zktest.Server, *zktest.Link){
		"":       func(*zktest.Server, *zktest.Link) {},
		"member": func(s *zktest.Server, _ *zktest.Link) { s.Blackhole(zktest.ToServer) },
		"link":   func(_ *zktest.Server, l *zktest.Link) { l.Blackhole(zktest.ToServer) },
	} {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			followers, link := []*zktest.Member{s.AddMember(), s.AddMember()}, s.AddLink()
			c := open(t, link)
			for _, m := range followers {
				m.CutFromLeader()
			}
			c.send(wire.OpCreate, crt("/a", 0)...)
			synctest.Wait()
			hold(s, link)
			for range 5 {
				time.Sleep(time.Second)
				c.sendXid(wire.XidPing, wire.OpPing)
			}
			synctest.Wait()
			if left := s.Sessions()[0].Remaining; (left > 9*time.Second) != (name == "") {
				t.Errorf("blackhole %q: the session has %v left", name, left)
			}
		})
	}
}
