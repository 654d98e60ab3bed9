package zktest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The same conversation with the same seed has the same outcome in each run, to the last
// byte and the last nanosecond: session ids, passwords, zxids, Stats, the order of events.
func TestConversationsAreRepeatable(t *testing.T) {
	first, other := conversation(t, 1), conversation(t, 2)
	for range 3 {
		if again := conversation(t, 1); again != first {
			t.Fatalf("%s", firstDifference(first, again))
		}
	}
	if first == other {
		t.Error("the seed changes nothing")
	}
	if n := strings.Count(first, "\n"); n < 60 {
		t.Errorf("the conversation has %d lines only:\n%s", n, first)
	}
}

// firstDifference returns the lines where two texts part.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}

// transcript notes each frame that clients get, with the time.
type transcript struct {
	strings.Builder
	start time.Time
}

// read notes frames until a client has the answer to a request, or its connection ends.
func (tr *transcript) read(name string, c *rawConn, until int32) {
	for {
		frame := c.frame()
		fmt.Fprintf(tr, "%v %s %x\n", time.Since(tr.start), name, frame)
		if frame == nil {
			return
		}
		h, _, err := wire.ParseReplyHeader(frame)
		if until == 0 || err == nil && h.Xid == until {
			return
		}
	}
}

// conversation has sessions on three members that come and go, a bad network, restarts,
// and a session that expires, and returns all that the clients hear of it.
func conversation(t *testing.T, seed uint64) string {
	tr := new(transcript)
	bubble.Test(t, func(t *testing.T) {
		s := zktest.Run(t, zktest.WithSeed(seed))
		tr.start = time.Now()
		links := []*zktest.Link{s.AddLink(), s.AddMember().AddLink(), s.AddMember().AddLink()}
		var clients []*rawConn
		connect := func(i int, req wire.ConnectRequest) {
			c := rawDial(t, links[i].Dial, "")
			c.write(wire.AppendFrame(nil, req.Append(nil)))
			if frame := c.frame(); frame != nil {
				fmt.Fprintf(tr, "%v client %d %x\n", time.Since(tr.start), i, frame)
				c.hi, _ = wire.ParseConnectResponse(frame)
			}
			clients[i] = c
		}
		ask := func(i int, o wire.Op, parts ...any) {
			tr.read(fmt.Sprint("client ", i), clients[i], clients[i].send(o, parts...))
		}
		clients = make([]*rawConn, len(links))
		for i, l := range links {
			l.Delay(time.Duration(i) * time.Millisecond)
			l.Jitter(10 * time.Millisecond)
			connect(i, wire.ConnectRequest{Timeout: 6000, Password: make([]byte, 16)})
		}
		ask(0, opCreate, crt("/q", 0)...)
		for n := range 12 {
			ask(n%3, opCreate, crt("/q/n-", eph|seq)...)
			ask((n+1)%3, wire.OpGetChildren2, "/q", true)
		}
		ask(1, wire.OpMulti, op(wire.OpSetData, "/q", null, -1), op(opCreate, crt("/m", 0)...), end)
		s.Restart()
		for i, c := range clients {
			connect(i, c.again())
		}
		ask(2, wire.OpAddWatch, "/", 1)
		ask(0, wire.OpCloseSession)
		ask(2, wire.OpGetData, "/q", false)
		links[1].Loss(0.2)
		for range 30 {
			ask(1, wire.OpExists, "/m", false)
		}
		for range 8 { // the session of client 1 runs out
			time.Sleep(time.Second)
			ask(2, wire.OpGetChildren2, "/q", false)
		}
		tr.WriteString(s.Tree())
		fmt.Fprintf(tr, "%+v at %#x\n", s.Sessions(), s.Zxid())
	})
	return tr.String()
}

// A client that a program would use gets the same ids as well.
func TestClientsIDsAreRepeatable(t *testing.T) {
	run := func() (ids string) {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			for range 3 {
				conn, _ := client(t, s.Dial, 6*time.Second)
				create(t, conn, fmt.Sprintf("/%x", conn.SessionID()), zk.FlagEphemeral)
				time.Sleep(time.Minute)
				ids += fmt.Sprintf("%#x %#x\n%s", conn.SessionID(), s.Zxid(), s.Tree())
				conn.Close()
			}
		})
		return ids
	}
	if a, b := run(), run(); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// What one session or connection draws does not depend on what others have drawn before.
func TestChancesAreTheirOwn(t *testing.T) {
	run := func(busy bool) (drawn string) {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			other, link := open(t, s), s.AddLink()
			if busy {
				other.create("/e", eph)
				other.create("/f", eph)
				s.Jitter(time.Second)
				other.ping()
				s.Heal()
				other.ok(wire.OpCloseSession)
			}
			link.Jitter(time.Second)
			c := open(t, link)
			drawn = fmt.Sprint(c.hi, took(c))
		})
		return drawn
	}
	if a, b := run(false), run(true); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}
