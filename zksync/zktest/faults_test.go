package zktest_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The faults of a server are those of all its members, the faults of a member its
// own.
func TestFaultsOfServerAndMember(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		first, second := s.Member(0), s.AddMember()
		if s.Member(1) != second {
			t.Error("Member(1) is not the member that was added")
		}
		refuses := func(m *zktest.Member) bool {
			c, err := m.DialContext(t.Context(), "tcp", "")
			if err == nil {
				c.Close()
			}
			return err != nil
		}
		for _, step := range []struct {
			name          string
			do            func()
			first, second bool
		}{
			{"member refuses", second.Refuse, false, true},
			{"server refuses", s.Refuse, true, true},
			{"member accepts", first.Accept, false, true},
			{"server accepts", s.Accept, false, false},
			{"first member refuses", first.Refuse, true, false},
			{"server heals", s.Heal, false, false},
		} {
			step.do()
			if a, b := refuses(first), refuses(second); a != step.first || b != step.second {
				t.Errorf("%s: refuses %t and %t", step.name, a, b)
			}
		}
		defer func() {
			if recover() == nil {
				t.Error("Member(2) of two: no panic")
			}
		}()
		s.Member(2)
	})
}

// A blackhole replaces the one before it.
func TestFaultsBlackholeDirections(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		for _, test := range []struct {
			directions     []zktest.Direction
			arrives, comes bool
		}{
			{nil, false, false},
			{[]zktest.Direction{zktest.ToServer}, false, true},
			{[]zktest.Direction{zktest.ToClient}, true, false},
			{[]zktest.Direction{zktest.ToClient, zktest.ToServer}, false, false},
			{[]zktest.Direction{0}, true, true}, // which is none
		} {
			c := open(t, s)
			s.Blackhole()
			s.Blackhole(test.directions...)
			s.ResetRequests()
			c.send(wire.OpExists, "/", false)
			synctest.Wait()
			if n := s.Requests()["exists"]; (n == 1) != test.arrives {
				t.Errorf("%v: %d requests arrived", test.directions, n)
			}
			must(t, c.nc.SetReadDeadline(time.Now().Add(time.Second)))
			_, err := c.nc.Read(make([]byte, 1))
			if comes := err == nil; comes != (test.arrives && test.comes) {
				t.Errorf("%v: answered %t", test.directions, comes)
			}
			s.Heal()
			c.nc.Close()
			synctest.Wait() // what was held has arrived
		}
	})
}

func TestFaultsDisconnect(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := open(t, s), open(t, s)
		early, err := s.Dial("tcp", "", 0) // has no session
		must(t, err)
		defer early.Close()
		closed := func(c net.Conn) bool {
			if c.SetReadDeadline(time.Now().Add(time.Second)) != nil {
				return true
			}
			_, err := c.Read(make([]byte, 1))
			var ne net.Error
			return !errors.As(err, &ne) || !ne.Timeout()
		}
		const none int64 = 0
		s.Disconnect(none)
		if closed(early) || closed(b.nc) {
			t.Error("Disconnect of no session closed a connection")
		}
		s.Disconnect(a.hi.SessionID)
		if !closed(a.nc) || closed(b.nc) {
			t.Error("Disconnect closed another session's connection, or not its own")
		}
		s.DisconnectAll()
		if !closed(b.nc) || !closed(early) {
			t.Error("DisconnectAll left a connection")
		}
		if len(s.Sessions()) != 2 {
			t.Errorf("sessions %+v", s.Sessions())
		}
		open(t, s)
	})
}

func TestServerDialContext(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := s.DialContext(ctx, "tcp", "zk-1:2181")
		must(t, err)
		cancel() // ends no connection that stands
		r := rawDial(t, func(string, string, time.Duration) (net.Conn, error) { return c, nil }, "")
		if !r.hello(wire.ConnectRequest{Timeout: 6000, Password: make([]byte, 16)}) {
			t.Error("the end of the context has ended the connection")
		}
		var op *net.OpError
		if _, err := s.DialContext(ctx, "tcp", ""); !errors.Is(err, context.Canceled) || !errors.As(err, &op) {
			t.Errorf("with a context that is done: %v", err)
		}
		s.Refuse()
		if _, err := s.DialContext(t.Context(), "tcp", ""); !errors.Is(err, syscall.ECONNREFUSED) || !errors.As(err, &op) {
			t.Errorf("refused: %v", err)
		}
	})
}
