package zktest_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, s *zktest.Server)) {
	bubble.Test(t, func(t *testing.T) { f(t, zktest.Run(t)) })
}

func is(op string) func(zktest.Request) bool {
	return func(r zktest.Request) bool { return r.Op == op }
}

func TestServerDropReply(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		conn, _ := client(t, s.Dial, 6*time.Second)
		s.DropReply(func(r zktest.Request) bool { return r.Op == "create" && strings.HasPrefix(r.Paths[0], "/lost") })
		create(t, conn, "/kept", 0)
		if _, err := conn.Create("/lost", nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("error %v", err)
		}
		if _, _, ok := s.Get("/lost"); !ok {
			t.Error("not carried out")
		}
		s.DropReply(nil)
		create(t, conn, "/lost2", 0)
	})
}

// The events that a request whose answer is lost has set off are lost, too.
func TestServerDropReplyTellsNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		c.create("/a", 0)
		c.ok(wire.OpGetData, "/a", true)
		s.DropReply(is("multi"))
		r, events := c.do(wire.OpMulti, op(wire.OpSetData, "/a", null, -1), end)
		if !r.closed || events != "" {
			t.Errorf("%+v, events %q", r, events)
		}
		if _, st, _ := s.Get("/a"); st.Version != 1 {
			t.Errorf("version %d", st.Version)
		}
	})
}

func TestServerDropRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		s.DropRequest(is("create"))
		zxid := s.Zxid()
		if r, _ := c.do(wire.OpCreate, crt("/a", 0)...); !r.closed {
			t.Errorf("answered: %+v", r)
		}
		if s.Zxid() != zxid || s.Requests()["create"] != 1 {
			t.Errorf("carried out, or not counted: %v", s.Requests())
		}
	})
}

func TestServerBlackhole(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := open(t, s), open(t, s)
		got := make(chan reply, 1)
		ask := func(op wire.Op, parts ...any) {
			go func() {
				r, _ := c.do(op, parts...)
				got <- r
			}()
			time.Sleep(time.Second)
		}
		s.Blackhole(zktest.ToServer)
		ask(wire.OpCreate, crt("/in", 0)...)
		if len(got) != 0 || s.Tree() != "" {
			t.Fatalf("arrived: %s", s.Tree())
		}
		s.Heal()
		if r := <-got; r.Err != 0 || s.Tree() != "/in \"x\"\n" {
			t.Fatalf("%+v, %q", r, s.Tree())
		}
		s.Blackhole(zktest.ToClient)
		ask(wire.OpCreate, crt("/out", 0)...)
		if len(got) != 0 || len(s.Children("/")) != 3 {
			t.Fatalf("answered, or not carried out: %q", s.Children("/"))
		}
		// The server ends the session; its farewell is held as well.
		s.Expire(c.hi.SessionID)
		s.Heal()
		if r := <-got; r.Err != 0 {
			t.Errorf("%+v", r)
		}
		if r := c.recv(); !r.closed {
			t.Errorf("%+v", r)
		}
		// A connection that its client has closed stands until that is known.
		s.Blackhole()
		other.nc.Close()
		synctest.Wait()
		if !s.Sessions()[0].Connected {
			t.Error("the server knows already")
		}
		s.Heal()
		synctest.Wait()
		if s.Sessions()[0].Connected {
			t.Error("the server does not know")
		}
	})
}

func TestServerDelay(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		took := func() time.Duration {
			start := time.Now()
			c.ping()
			return time.Since(start)
		}
		if d := took(); d != 0 {
			t.Errorf("took %v", d)
		}
		s.Delay(30 * time.Millisecond)
		if d := took(); d != 60*time.Millisecond {
			t.Errorf("with a delay of 30 ms took %v", d)
		}
		s.Delay(0)
		s.Jitter(time.Second)
		a, b := took(), took()
		if a == b || a > 2*time.Second || b > 2*time.Second {
			t.Errorf("at random took %v and %v", a, b)
		}
		// None overtakes another.
		var want []int32
		for range 20 {
			want = append(want, c.send(wire.OpExists, "/", false))
		}
		for _, xid := range want {
			if r := c.recv(); r.Xid != xid {
				t.Fatalf("reply to %d, want %d", r.Xid, xid)
			}
		}
		s.Heal()
		if d := took(); d != 0 {
			t.Errorf("after healing took %v", d)
		}
	})
}

func TestServerRefuse(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c, member := open(t, s), s.AddMember()
		s.Refuse()
		if _, err := s.Dial("tcp", "", time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
		member.Accept()
		open(t, member)
		c.ping()
		s.Heal()
		open(t, s)
	})
}

func TestServerRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		conn, log := client(t, s.Dial, 6*time.Second)
		create(t, conn, "/e", zk.FlagEphemeral)
		id, zxid := conn.SessionID(), s.Zxid()
		s.Restart()
		time.Sleep(5 * time.Second)
		if conn.SessionID() != id || log.saw(zk.StateExpired) || !exists(t, conn, "/e") {
			t.Error("the session was to survive")
		}
		if s.Zxid()>>32 != zxid>>32+1 {
			t.Errorf("zxid %#x after %#x", s.Zxid(), zxid)
		}
		s.RestartExpired()
		time.Sleep(5 * time.Second)
		if conn.SessionID() == id || !log.saw(zk.StateExpired) || exists(t, conn, "/e") {
			t.Error("the session was to be over")
		}
	})
}

func TestServerSetSequence(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		c.create("/s", 0)
		if err := s.SetSequence("/none", 1); err == nil {
			t.Error("no error without a node")
		}
		for first, want := range map[int32][]string{
			2147483646:  {"2147483646", "2147483647", "2147483647", "2147483647"}, // the end
			-2147483648: {"-2147483648", "-2147483647"},
			-1:          {"-000000001", "0000000000"},
		} {
			must(t, s.SetSequence("/s", first))
			for i, number := range want {
				prefix := fmt.Sprintf("/s/%d-%d-", first, i)
				if got := c.create(prefix, seq); got != prefix+number {
					t.Errorf("created %s, want %s", got, prefix+number)
				}
			}
		}
		must(t, s.SetSequence("/s", 2147483647))
		c.create("/s/twice-", seq)
		if r, _ := c.do(wire.OpCreate, crt("/s/twice-", seq)...); r.Err != wire.CodeNodeExists {
			t.Errorf("the same number and name again: %v", r.Err)
		}
	})
}

// A connection that the server has ended, and that a fault still keeps open, is closed at
// once by whatever closes all.
func TestDisconnectEndsWhatLeaves(t *testing.T) {
	for name, end := range map[string]func(*zktest.Server, *zktest.Link, int64){
		"Disconnect":    func(s *zktest.Server, _ *zktest.Link, id int64) { s.Disconnect(id) },
		"DisconnectAll": func(s *zktest.Server, _ *zktest.Link, _ int64) { s.DisconnectAll() },
		"of a link":     func(_ *zktest.Server, l *zktest.Link, _ int64) { l.DisconnectAll() },
		"LoseQuorum":    func(s *zktest.Server, _ *zktest.Link, _ int64) { s.LoseQuorum() },
		"Restart":       func(s *zktest.Server, _ *zktest.Link, _ int64) { s.Restart() },
		"Reset":         func(s *zktest.Server, _ *zktest.Link, _ int64) { s.Reset() },
		"Lead":          func(s *zktest.Server, _ *zktest.Link, _ int64) { s.Member(1).Lead() },
		"after an election": func(s *zktest.Server, _ *zktest.Link, _ int64) {
			s.Member(0).CutFromLeader()
			s.Member(1).Lead()
			s.RejoinLeader()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *zktest.Server) {
				s.AddMember()
				link := s.AddLink()
				c := open(t, link)
				other := open(t, s.AddLink())
				link.Blackhole(zktest.ToClient)
				s.Expire(c.hi.SessionID)
				synctest.Wait()
				end(s, link, c.hi.SessionID)
				if !c.ends(time.Second) {
					t.Error("the connection stands")
				}
				if name == "Disconnect" || name == "of a link" {
					other.ping()
				}
			})
		})
	}
}

// While nothing passes to the server, it learns of the end of a connection only when it
// sends something there.
func TestBlackholeAndAClosedConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		c.do(wire.OpExists, "/a", true)
		s.Blackhole(zktest.ToServer)
		c.nc.Close()
		synctest.Wait()
		if !s.Sessions()[0].Connected {
			t.Error("the server knows without a sign")
		}
		must(t, s.LoadMap(map[string]string{"/a": ""}))
		synctest.Wait()
		if s.Sessions()[0].Connected {
			t.Error("the server has sent an event, and does not know")
		}
	})
}
