package zktest_test

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// A member that refuses has a closed port: the system refuses for it. The port comes back
// where it was, and who is connected stays so.
func TestRefuseClosesThePort(t *testing.T) {
	s := zktest.Run(t)
	member := s.AddMember()
	first, second := s.Addr(), member.Addr()
	c := rawDial(t, net.DialTimeout, first)
	if !c.hello(newSession) {
		t.Fatal("no session")
	}
	for range 3 {
		s.Refuse()
		refused(t, first)
		refused(t, second)
		s.Restart() // a server that has come back is not reachable for that
		refused(t, first)
		member.Accept()
		reached(t, second)
		refused(t, first)
		s.Heal()
		reached(t, first)
		member.Refuse()
		reached(t, first)
		refused(t, second)
		s.Accept()
		reached(t, second)
		if got := []string{s.Addr(), member.Addr()}; got[0] != first || got[1] != second {
			t.Errorf("the addresses became %v", got)
		}
	}
	stays := rawDial(t, net.DialTimeout, second)
	if !stays.hello(newSession) {
		t.Fatal("no session")
	}
	s.Refuse()
	stays.create("/a", 0)
	s.Refuse()
	s.Accept()
	s.Accept()
	stays.create("/b", 0)
	s.Refuse()
	s.Close()
	s.Accept()
	refused(t, first)
}

// A client that is cut off and refused comes back with its session.
func TestRefuseThenAccept(t *testing.T) {
	s := zktest.Run(t)
	conn, events := connect(t, 10*time.Second, s.Addr())
	id := conn.SessionID()
	s.Refuse()
	s.DisconnectAll()
	awaitState(t, events, zk.StateDisconnected)
	s.Accept()
	awaitState(t, events, zk.StateHasSession)
	if conn.SessionID() != id {
		t.Errorf("session %#x became %#x", id, conn.SessionID())
	}
}

// The port of a member that refuses belongs to it all the same.
func TestRefuseKeepsThePort(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reserves a port that nobody listens on")
	}
	s := zktest.Run(t)
	s.Refuse()
	own, err := net.ResolveTCPAddr("tcp", s.Addr()) // which opens the port, and closes it
	must(t, err)
	refused(t, own.String())
	l := listen(t)
	take := func() error {
		nc, err := (&net.Dialer{LocalAddr: own}).Dial("tcp", l.Addr().String())
		if err == nil {
			nc.Close()
		}
		return err
	}
	if err := take(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("another socket takes the port: %v", err)
	}
	s.Heal()
	reached(t, own.String())
	s.Close()
	must(t, take())
}

func TestListen(t *testing.T) {
	taken := listen(t)
	free := listen(t)
	address := free.Addr().String()
	must(t, free.Close())
	s := zktest.Run(t)
	member := s.AddMember()
	if err := s.Listen(taken.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port that another one has: %v", err)
	}
	must(t, s.Listen(address))
	if s.Addr() != address {
		t.Errorf("address %s, want %s", s.Addr(), address)
	}
	reached(t, address)
	must(t, member.Listen("127.0.0.1:0"))
	reached(t, member.Addr())
	if err := s.Listen("127.0.0.1:0"); err == nil || s.Addr() != address {
		t.Errorf("a second port: %v, %s", err, s.Addr())
	}
	s.Refuse()
	refused(t, address)
	s.Accept()
	reached(t, address)
	s.Close()
	refused(t, address)
	if err := s.AddMember().Listen("127.0.0.1:0"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("on a closed server: %v", err)
	}
	again := zktest.Run(t)
	must(t, again.Listen(address))
	reached(t, address)
}

// A port that another program has taken meanwhile can't be opened again; once it can, the
// member is back.
func TestAcceptWithoutThePort(t *testing.T) {
	free := listen(t)
	address := free.Addr().String()
	must(t, free.Close())
	s := zktest.Run(t)
	must(t, s.Listen(address))
	s.Refuse()
	thief, err := net.Listen("tcp", address)
	must(t, err)
	for _, again := range []func(){s.Accept, s.Heal} {
		panics(t, again)
	}
	if _, err := s.Dial("tcp", "", time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without its port the member does not refuse: %v", err)
	}
	must(t, thief.Close())
	s.Accept()
	reached(t, address)
}

// What can't have all of its ports back leaves the server as it was, and is whole the next
// time.
func TestPortsAreTakenBackTogether(t *testing.T) {
	for name, heal := range map[string]func(*zktest.Server){
		"Accept": func(s *zktest.Server) { s.Accept() },
		"Heal":   func(s *zktest.Server) { s.Heal() },
		"Reset":  (*zktest.Server).Reset,
	} {
		t.Run(name, func(t *testing.T) {
			s := zktest.Run(t)
			first, last := s.Member(0), s.AddMember()
			free := listen(t)
			address := free.Addr().String()
			must(t, free.Close())
			must(t, last.Listen(address))
			first.Addr()
			must(t, s.LoadMap(map[string]string{"/old": "x"}))
			s.Refuse()
			thief, err := net.Listen("tcp", address)
			must(t, err)
			panics(t, func() { heal(s) })
			refused(t, first.Addr())
			if _, err := last.Dial("tcp", "", 0); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("a member that refuses: %v", err)
			}
			must(t, thief.Close())
			heal(s)
			for _, m := range []*zktest.Member{first, last} {
				reached(t, m.Addr())
				_, _, there := s.Get("/old")
				c := open(t, m)
				r, _ := c.do(wire.OpExists, "/old", false)
				if there != (r.Err == wire.CodeOK) || there != (name != "Reset") {
					t.Errorf("/old is there: %t, to a client: %v", there, r.Err)
				}
			}
		})
	}
}

// A listener of the test's stays open. Its connections are reset.
func TestRefuseResetsWhatServeAccepts(t *testing.T) {
	s := zktest.Run(t)
	l := listen(t)
	go func() { _ = s.Serve(l) }()
	reached(t, l.Addr().String())
	s.Refuse()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		_, err = nc.Read(make([]byte, 1))
		nc.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v", err)
	}
	s.Accept()
	reached(t, l.Addr().String())
}

func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func refused(t *testing.T, address string) {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err == nil {
		nc.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to %s: %v, want %v", address, err, syscall.ECONNREFUSED)
	}
}

// reached checks that a server gives sessions at an address.
func reached(t *testing.T, address string) {
	t.Helper()
	c := rawDial(t, net.DialTimeout, address)
	defer c.nc.Close()
	if !c.hello(newSession) || c.hi.SessionID == 0 {
		t.Errorf("no session at %s", address)
	}
}

// In a bubble a port would stop the clock. The panic says what to do, and the server works
// afterwards.
func TestNoPortInABubble(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		for name, open := range map[string]func(){
			"Server.Addr": func() { s.Addr() }, "Server.Listen": func() { _ = s.Listen("127.0.0.1:0") },
			"Member.Addr": func() { s.AddMember().Addr() }, "Member.Listen": func() { _ = s.AddMember().Listen("127.0.0.1:0") },
		} {
			if got, want := panicOf(open), "zksync: zktest: Addr and Listen can't be used in a synctest bubble: a port stops its clock; connect by Server.Dial, as in zk.WithDialer(srv.Dial)"; got != want {
				t.Errorf("%s: panic %q", name, got)
			}
		}
		start := time.Now()
		time.Sleep(time.Hour)
		if open(t, s).create("/a", 0); time.Since(start) != time.Hour {
			t.Errorf("%v passed", time.Since(start))
		}
	})
}

// panicOf returns what a function panics with, as text, empty if it does not panic.
func panicOf(f func()) (text string) {
	defer func() {
		if why := recover(); why != nil {
			text = fmt.Sprint(why)
		}
	}()
	f()
	return ""
}
