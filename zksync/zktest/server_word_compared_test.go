package zktest_test

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// askWord sends a four-letter word, and returns all that comes until the connection ends.
func askWord(dial func() (net.Conn, error), word string) (string, error) {
	nc, err := dial()
	if err != nil {
		return "", err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(nc, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(nc)
	return string(answer), err
}

// wordSite is one of two servers that have the same clients, and are asked the same words.
type wordSite struct {
	dial  func() (net.Conn, error)
	conns []*rawConn
	mask  func(string) string // nil: hides nothing more
}

// join makes a client. Clients have the names S0, S1, ... in the answers.
func (s *wordSite) join(t *testing.T, req wire.ConnectRequest) {
	t.Helper()
	c := rawDial(t, func(string, string, time.Duration) (net.Conn, error) { return s.dial() }, "")
	if !c.hello(req) || c.hi.SessionID == 0 {
		t.Fatal("no session")
	}
	s.conns = append(s.conns, c)
}

// compareWords asks both servers, and reports the answers that differ. A real server
// counts an answer shortly after it was sent, so they may come to agree.
func compareWords(t *testing.T, what string, real, memory *wordSite, words ...string) {
	t.Helper()
	for _, w := range words {
		var want, got string
		agree := func() bool {
			var errs [2]error
			want, errs[0] = askWord(real.dial, w)
			got, errs[1] = askWord(memory.dial, w)
			for _, err := range errs {
				must(t, err)
			}
			want, got = real.text(w, want), memory.text(w, got)
			if w == "mntr" || w == "conf" { // a real server tells more
				want = subset(want, got)
				got = strings.TrimSpace(got) + "\n"
			}
			return got == want
		}
		for range 50 {
			if agree() {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if got != want {
			t.Errorf("%s: %s\n--- in memory\n%s\n--- real\n%s", what, w, got, want)
		}
	}
}

var allWords = strings.Fields("ruok isro srvr stat cons wchs wchc wchp dump conf envi dirs mntr")

// A server in memory answers four-letter words as a real one does.
func TestWordsCompared(t *testing.T) {
	e := wordEnsemble(t, 1)
	s := wordServer(t)
	s.AddMember() // a real one is a leader, with or without others
	compareWordSites(t, &wordSite{dial: dialTCP(e.Addr(0))}, &wordSite{dial: dialTCP(s.Addr())})
}

// A leader with followers answers as a real one does, and so does a follower.
func TestWordsOfThreeCompared(t *testing.T) {
	suite.Long(t)
	e := wordEnsemble(t, 3)
	leader, err := e.WaitLeader(time.Minute)
	must(t, err)
	s := wordServer(t) // with sessions of the first test in the second one, as in the real one
	s.AddMember()
	s.AddMember()
	for i, role := range []string{"leader", "follower"} {
		t.Run(role, func(t *testing.T) {
			// The numbers of the servers are in the answers.
			numbers := regexp.MustCompile(`serverId=\d`)
			site := func(dial func() (net.Conn, error)) *wordSite {
				return &wordSite{dial: dial, mask: func(s string) string { return numbers.ReplaceAllString(s, "serverId=*") }}
			}
			compareWordSites(t, site(dialTCP(e.Addr((leader+i)%3))), site(dialTCP(s.Member(i).Addr())))
		})
	}
}

// A server of an ensemble without a quorum answers most words with one sentence.
func TestWordsWithoutAQuorumCompared(t *testing.T) {
	suite.Long(t)
	e := wordEnsemble(t, 3)
	must(t, e.Stop(0))
	must(t, e.Stop(1))
	s := wordServer(t)
	s.AddMember()
	s.AddMember()
	s.LoseQuorum()
	real := dialTCP(e.Addr(2))
	eventually(t, "the last server stops serving", 30*time.Second, func() bool {
		answer, err := askWord(real, "isro")
		return err == nil && answer == "null"
	})
	for _, w := range strings.Fields("ruok isro conf cons crst dirs dump mntr srst srvr stat wchc wchp wchs nope") {
		want, err := askWord(real, w)
		must(t, err)
		if got, err := askWord(dialPipe(s.Member(2)), w); err != nil || got != want {
			t.Errorf("%s: real %q, in memory %q, %v", w, want, got, err)
		}
	}
}

func wordEnsemble(t *testing.T, n int) *ensemble.Ensemble {
	t.Helper()
	e := ensemble.Run(t, n)
	if isSince39(t, e) {
		t.Skip("these are the answers of ZooKeeper 3.8")
	}
	return e
}

// wordServer starts a server that is set up as a real one of the tests is.
func wordServer(t *testing.T) *zktest.Server {
	t.Helper()
	return zktest.Run(t, zktest.WithFourLetterWords("*"), zktest.WithTick(250*time.Millisecond),
		zktest.WithSessionLimits(500*time.Millisecond, time.Minute))
}

// compareWordSites takes both servers through the same steps.
func compareWordSites(t *testing.T, real, memory *wordSite) {
	t.Helper()
	sites := []*wordSite{real, memory}
	for _, site := range sites {
		keepAwake(t, site.dial)
		for range 2 {
			site.join(t, longSession)
		}
	}
	idle := make([]net.Conn, len(sites))
	for i, site := range sites {
		var err error
		idle[i], err = site.dial()
		must(t, err)
	}
	compareWords(t, "new sessions", real, memory, allWords...)
	for _, nc := range idle { // a real server ends it after ten seconds
		must(t, nc.Close())
	}
	for i, st := range wordSteps {
		for _, site := range sites {
			switch c := site.conns[st.client]; st.op {
			case wire.OpNotify:
				again := c.again()
				again.Timeout = longSession.Timeout
				site.join(t, again)
			case wire.OpPing:
				c.sendXid(wire.XidPing, st.op)
				c.recv()
			default:
				c.do(st.op, st.parts...)
			}
		}
		what := fmt.Sprintf("after step %d, %v of S%d", i, st.op, st.client)
		compareWords(t, what, real, memory, strings.Fields("cons wchs wchc wchp "+st.words)...)
	}
}

// longSession asks for a session that a slow test does not lose.
var longSession = wire.ConnectRequest{Timeout: 60_000, Password: make([]byte, 16)}

type wordStep struct {
	client int
	words  string // that are asked afterwards
	op     wire.Op
	parts  []any
}

// do is a step of a client. Without an operation the client comes back on a new connection.
func do(client int, words string, op wire.Op, parts ...any) wordStep {
	return wordStep{client, words, op, parts}
}

var wordSteps = []wordStep{
	do(0, "", opCreate, crt("/a", 0)...),
	do(0, "dump", opCreate, crt("/a/e", eph)...),
	do(0, "", wire.OpCreate2, crt("/a/f", eph)...),
	do(1, "dump srvr stat mntr", opCreate, crt("/b", eph)...),
	do(0, "", wire.OpGetData, "/a", true),
	do(0, "", wire.OpExists, "/none", true),
	do(0, "mntr", wire.OpGetChildren, "/a", true),
	do(1, "", wire.OpGetData, "/a", true),
	do(1, "mntr", wire.OpSetData, "/a", []byte("q"), -1),
	do(0, "", wire.OpGetData, "/nonode", true),
	do(0, "", opCreate, crt("/a", 0)...),
	do(0, "", wire.OpGetChildren2, "/a", false),
	do(0, "", wire.OpGetACL, "/a"),
	do(0, "", wire.OpSetACL, "/a", open31, -1),
	do(0, "", wire.OpSync, "/a"),
	do(0, "", wire.OpMulti, op(wire.OpCheck, "/a", 99), end),
	do(0, "", wire.OpMulti, op(opCreate, crt("/a/g", eph)...), end),
	do(0, "", wire.OpCheck, "/a", 99),
	do(0, "", wire.OpReconfig, nil, nil, nil, int64(-1)),
	do(0, "", wire.OpAuth, 0, "digest", []byte("a:b")),
	do(0, "", wire.OpGetData),
	do(0, "", opCreate, nil, nil, open31, 0),
	do(0, "", wire.OpPing),
	do(0, "mntr", wire.OpAddWatch, "/a", 0),
	do(0, "mntr", wire.OpAddWatch, "/b", 1),
	do(0, "", wire.OpCheckWatches, "/a", 3),
	do(0, "", wire.OpRemoveWatches, "/a", 3),
	do(0, "", wire.OpSetWatches, int64(1<<62), []string{"/a"}, []string{"/x"}, []string{"/a"}),
	do(0, "", wire.OpSetWatches2, int64(1<<62), []string{}, []string{}, []string{}, []string{"/a"}, []string{"/b"}),
	do(0, "", wire.OpCreateContainer, crt("/c", 4)...),
	do(0, "", wire.OpCreateTTL, append(crt("/t", 5), int64(60000))...),
	do(0, "", wire.OpGetEphemerals, "/a"),
	do(0, "", wire.OpGetAllChildrenNumber, "/"),
	do(0, "", wire.OpMultiRead, op(wire.OpGetData, "/a", false), op(wire.OpGetChildren, "/none", false), end),
	do(0, "", wire.OpWhoAmI),
	do(0, "", wire.OpDeleteContainer, "/c"),
	do(0, "dump mntr", wire.OpDelete, "/a/e", -1),
	do(0, "crst cons", wire.OpPing),
	do(0, "", wire.OpDelete, "/a/e", -1),
	do(0, "srst srvr", wire.OpSync, "/"),
	do(0, "dump srvr", wire.OpNotify),
	do(1, "dump srvr", wire.OpCloseSession),
	do(2, "", wire.OpMulti, op(wire.OpDelete, "/a/f", -1), op(wire.OpDelete, "/a/g", -1), op(wire.OpDelete, "/a", -1),
		op(wire.OpDelete, "/c", -1), op(wire.OpDelete, "/t", -1), end),
	do(2, "srvr", wire.OpCloseSession),
}
