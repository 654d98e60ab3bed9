package zktest_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// memory returns the bytes in use, with those of stacks.
func memory() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools had
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A thousand sessions take little, their clients' ends of the connections included: each
// has sent requests, and has a node and a watch.
func TestServerMemoryOfSessions(t *testing.T) {
	const sessions, most = 1000, 32 << 20
	before := memory()
	s := zktest.Run(t)
	conns := make([]*rawConn, sessions)
	for i := range conns {
		c := open(t, s)
		c.create(fmt.Sprint("/n", i), eph)
		for range 10 {
			c.ok(wire.OpExists, "/", true)
		}
		conns[i] = c
	}
	used := memory() - before
	t.Logf("%d sessions take %.1f MiB", sessions, float64(used)/(1<<20))
	if used > most && !race.Enabled {
		t.Errorf("%d sessions take %d bytes, want at most %d", sessions, used, most)
	}
	runtime.KeepAlive(conns)
}

// The server takes 256 requests ahead of those that it carries out. A client that sends
// more has to wait, and loses nothing.
func TestServerReadsAhead(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		const requests = 2000
		c := open(t, s)
		frame := len(request(wire.OpSync, "/"))
		s.CutFromLeader()
		var sent atomic.Int32
		go func() {
			for range requests {
				c.send(wire.OpSync, "/")
				sent.Add(1)
			}
		}()
		synctest.Wait()
		// One is being carried out, one has no room, and the reader has its buffer.
		if got, most := int(sent.Load()), 256+2+4096/frame; got < 256 || got > most {
			t.Errorf("%d requests sent, want 256 to %d", got, most)
		}
		s.RejoinLeader()
		for i := range requests {
			if r := c.recv(); r.closed || r.Xid != int32(i+1) {
				t.Fatalf("answer %d: %+v", i+1, r)
			}
		}
	})
}

// A server that many sessions come to keeps nothing of those that have gone, but for the
// counts of the last thousand.
func TestServerMemoryOfEndedSessions(t *testing.T) {
	sessions, requests := suite.LongOr(10_000, 2_000), suite.LongOr(100, 20)
	s := zktest.Run(t)
	run := func(sessions int) {
		for i := range sessions {
			live(t, s, i, requests)
		}
	}
	run(1_100)
	wait := func() { // for what connections leave behind a moment later
		for len(s.Sessions()) > 0 || len(s.Watches()) > 0 {
			runtime.Gosched()
		}
	}
	wait()
	bytes, objects := memory(), liveObjects()
	run(sessions)
	wait()
	bytes, objects = memory()-bytes, liveObjects()-objects
	t.Logf("%d sessions and %d requests leave %d bytes in %d objects", sessions, total(s.Requests()), bytes, objects)
	if (bytes > 1<<20 || objects > int64(sessions/4)) && !race.Enabled {
		t.Errorf("%d sessions that have ended leave %d bytes in %d objects", sessions, bytes, objects)
	}
	if s.Tree() != "" {
		t.Errorf("nodes of nobody:\n%s", s.Tree())
	}
}

// live is a client that comes, does a bit of everything, and goes in one of several ways.
func live(t *testing.T, s *zktest.Server, i, requests int) {
	nc, err := s.Dial("", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := &rawConn{t: t, nc: nc}
	if !c.hello(wire.ConnectRequest{Timeout: 10_000}) {
		t.Fatal("no session")
	}
	path := fmt.Sprint("/n", i)
	c.create(path, eph)
	c.create("/seq-", seq|eph)
	c.ok(wire.OpGetData, path, true)
	c.ok(wire.OpGetChildren, "/", true)
	c.ok(wire.OpAddWatch, path+"/below", 1)
	c.do(wire.OpExists, path+"/none", true)
	c.stream([][]byte{request(wire.OpExists, path, false)}, requests, 50)
	switch i % 4 {
	case 0:
		c.ok(wire.OpCloseSession)
	case 1:
		s.Disconnect(c.hi.SessionID)
		s.Expire(c.hi.SessionID)
	case 2:
		nc.Close()
		s.Expire(c.hi.SessionID)
	default:
		s.Expire(c.hi.SessionID)
	}
}

// liveObjects returns how many objects are in use after a collection.
func liveObjects() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapObjects)
}

// What waited for a client that did not read takes no memory once the client has read it.
func TestServerMemoryOfWhatWasSent(t *testing.T) {
	c := open(t, zktest.Run(t))
	c.ok(wire.OpCreate, "/large", make([]byte, 500_000), open31, 0)
	get := func(path string, times int) {
		for range times {
			c.send(wire.OpGetData, path, false)
		}
		for range times {
			if r := c.recv(); r.closed {
				t.Fatal("closed")
			}
		}
	}
	get("/", 1)
	before := memory()
	get("/large", 40)
	get("/", 10_000)
	get("/", 1)
	get("/", 1)
	used := memory() - before
	t.Logf("%d bytes are left", used)
	if used > 200_000 && !race.Enabled {
		t.Errorf("%d bytes are left of what was sent", used)
	}
	runtime.KeepAlive(c)
}
