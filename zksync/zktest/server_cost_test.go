package zktest_test

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/race"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// allocated returns the bytes that a call allocates. It counts the work of code that
// lists what it looks at, whatever the speed of the machine.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The end of one session costs the same however many others there are.
func TestServerEndOfSessionIsConstant(t *testing.T) {
	const ends = 50
	// Each function ends the session i of conns.
	ways := map[string]func(s *zktest.Server, conns []*rawConn, i int){
		"expire":     func(s *zktest.Server, conns []*rawConn, i int) { s.Expire(conns[i].hi.SessionID) },
		"close":      func(_ *zktest.Server, conns []*rawConn, i int) { conns[i].do(wire.OpCloseSession) },
		"disconnect": func(s *zktest.Server, conns []*rawConn, i int) { s.Disconnect(conns[i].hi.SessionID) },
		// The others are heard in time, and one session ends at each tick.
		"silence": func(_ *zktest.Server, conns []*rawConn, i int) {
			conns[(i+ends)%len(conns)].do(wire.OpPing)
			time.Sleep(time.Millisecond)
		},
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			cost := func(sessions int) (bytes uint64) {
				bubble.Test(t, func(t *testing.T) {
					s := zktest.Run(t, zktest.WithTick(time.Millisecond), zktest.WithSessionLimits(0, time.Hour))
					conns := make([]*rawConn, sessions)
					for i := range conns {
						conns[i] = open(t, s)
						time.Sleep(time.Millisecond)
					}
					if name == "silence" { // until the first session ends
						time.Sleep(10*time.Second - time.Duration(sessions)*time.Millisecond)
					}
					before := len(s.Sessions())
					bytes = allocated(func() {
						for i := range ends {
							end(s, conns, i)
							synctest.Wait()
						}
					})
					if ended := before - len(s.Sessions()); name != "disconnect" && (ended < ends-3 || ended > ends+3) {
						t.Errorf("%d sessions ended, want %d", ended, ends)
					}
				})
				return bytes
			}
			few, many := cost(500), cost(2000)
			t.Logf("%d bytes an end beside 500 sessions, %d beside 2,000", few/ends, many/ends)
			// A list of the sessions takes 8 bytes for each, so 12,000 more an end; a map or a
			// timer of the runtime takes some now and then.
			if many > few*3/2+100*ends && !race.Enabled {
				t.Errorf("%d ends beside 500 sessions allocate %d bytes, beside 2,000 sessions %d", ends, few, many)
			}
		})
	}
}

// Each session ends at its own tick, whoever is heard and whatever timeout a client
// comes back with.
func TestServerSessionsEndOnTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const tick = 100 * time.Millisecond
		s := zktest.Run(t, zktest.WithTick(tick), zktest.WithSessionLimits(0, time.Hour))
		rnd, start := rand.New(rand.NewPCG(7, 0)), time.Now()
		conns, ends := make(map[int64]*rawConn), make(map[int64]time.Duration)
		heard := func(c *rawConn) {
			timeout := time.Duration(c.hi.Timeout) * time.Millisecond
			ends[c.hi.SessionID] = (time.Since(start) + timeout).Truncate(tick) + tick
		}
		connect := func(req wire.ConnectRequest) {
			c := rawDial(t, s.Dial, "")
			req.Timeout = 300 + rnd.Int32N(5000)
			if !c.hello(req) || c.hi.Timeout != req.Timeout {
				t.Fatalf("asked for %+v, got %+v", req, c.hi)
			}
			conns[c.hi.SessionID] = c
			heard(c)
		}
		longest := 0
		for range 600 {
			switch infos := s.Sessions(); {
			case len(infos) == 0 || rnd.IntN(3) == 0:
				connect(wire.ConnectRequest{})
			case rnd.IntN(2) == 0:
				c := conns[infos[rnd.IntN(len(infos))].ID]
				c.do(wire.OpPing)
				heard(c)
			case rnd.IntN(2) == 0:
				connect(conns[infos[rnd.IntN(len(infos))].ID].again())
			default:
				id := infos[rnd.IntN(len(infos))].ID
				s.Expire(id)
				delete(ends, id)
			}
			time.Sleep(time.Duration(rnd.IntN(100)) * time.Millisecond)
			synctest.Wait()
			maps.DeleteFunc(ends, func(_ int64, at time.Duration) bool { return at <= time.Since(start) })
			infos := s.Sessions()
			if longest = max(longest, len(infos)); len(infos) != len(ends) {
				t.Fatalf("%d sessions, want %d", len(infos), len(ends))
			}
			for _, info := range infos {
				if left := ends[info.ID] - time.Since(start); info.Remaining != left {
					t.Fatalf("session %x has %v left, want %v", info.ID, info.Remaining, left)
				}
			}
		}
		if longest < 20 {
			t.Errorf("never more than %d sessions", longest)
		}
	})
}

// A session that moved to another member and back has left a connection at each stop.
// All of them end with it.
func TestServerEndClosesEachConnectionOfSession(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		other := s.AddMember()
		first := open(t, s)
		second := rawDial(t, other.Dial, "")
		third := rawDial(t, s.Dial, "")
		for _, c := range []*rawConn{second, third} {
			if !c.hello(first.again()) || c.hi.SessionID != first.hi.SessionID {
				t.Fatalf("no session: %+v", c.hi)
			}
		}
		first.ping()
		s.Expire(first.hi.SessionID)
		for i, c := range []*rawConn{first, second, third} {
			if !c.recv().closed {
				t.Errorf("connection %d goes on", i+1)
			}
		}
	})
}

// A change costs the same however many clients watch a node above it, unless their
// watches are recursive.
func TestServerChangeIsConstant(t *testing.T) {
	const changes = 200
	cost := func(watchers int) uint64 {
		s := zktest.Run(t)
		c := open(t, s)
		c.create("/p", 0)
		c.create("/p/n", 0)
		for range watchers {
			w := open(t, s)
			w.ok(wire.OpGetData, "/p", true)
			w.ok(wire.OpAddWatch, "/", 0)
		}
		set := request(wire.OpSetData, "/p/n", []byte("y"), -1)
		return allocated(func() { c.stream([][]byte{set}, changes, 1) })
	}
	few, many := cost(10), cost(300)
	t.Logf("%d bytes a change beside 10 watchers above, %d beside 300", few/changes, many/changes)
	if many > few*3/2 && !race.Enabled {
		t.Errorf("%d changes allocate %d bytes beside 10 watchers above, %d beside 300", changes, few, many)
	}
}

// What a request allocates, the bytes of its answer included.
func TestServerAllocations(t *testing.T) {
	for _, tt := range []struct {
		name   string
		frames [][]byte
		most   float64 // on average
	}{
		{"exists", existsFrames("/"), 3},
		{"create and delete", createDeleteFrames("/n"), 11},
	} {
		c := open(t, zktest.Run(t))
		const requests = 400
		got := testing.AllocsPerRun(5, func() { c.stream(tt.frames, requests, 1) }) / requests
		t.Logf("%s: %.2f allocations a request", tt.name, got)
		if got > tt.most && !race.Enabled {
			t.Errorf("%s: %.2f allocations a request, want at most %v", tt.name, got, tt.most)
		}
	}
}
