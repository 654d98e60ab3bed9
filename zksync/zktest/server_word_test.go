package zktest_test

import (
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func dialPipe(m *zktest.Member) func() (net.Conn, error) {
	return func() (net.Conn, error) { return m.Dial("tcp", "", time.Second) }
}

// wordWays asks the first member of a server with and without a network.
func wordWays(t *testing.T, s *zktest.Server, ask func(t *testing.T, ask func(word string) string)) {
	for name, dial := range map[string]func() (net.Conn, error){"TCP": dialTCP(s.Addr()), "pipe": dialPipe(s.Member(0))} {
		t.Run(name, func(t *testing.T) {
			ask(t, func(word string) string {
				t.Helper()
				answer, err := askWord(dial, word)
				must(t, err)
				return answer
			})
		})
	}
}

// Without an option srvr is answered, and all others are refused, in the words of
// ZooKeeper 3.8.0. What is no word ends the connection.
func TestWordsByDefault(t *testing.T) {
	wordWays(t, zktest.Run(t), func(t *testing.T, ask func(string) string) {
		for _, w := range strings.Fields("ruok stat envi isro mntr cons wchs wchc wchp dump conf srst crst dirs gtmk stmk hash") {
			if got, want := ask(w), w+" is not executed because it is not in the whitelist.\n"; got != want {
				t.Errorf("%s: %q, want %q", w, got, want)
			}
		}
		if got := ask("srvr"); !strings.Contains(got, "Mode: standalone\n") {
			t.Errorf("srvr: %q", got)
		}
		for _, w := range []string{"nope", "RUOK", "srv?"} {
			if got := ask(w); got != "" {
				t.Errorf("%s: %q", w, got)
			}
		}
	})
}

func TestWordsEnabled(t *testing.T) {
	for _, tt := range []struct {
		option  zktest.Option
		enabled string // separated by spaces
	}{
		{zktest.WithFourLetterWords("*"), "ruok isro srvr"},
		{zktest.WithFourLetterWords("ruok", "isro"), "ruok isro srvr"},
		{zktest.WithFourLetterWords("ruok"), "ruok srvr"},
		{zktest.WithFourLetterWords(), "srvr"},
	} {
		s := zktest.Run(t, tt.option)
		for w, want := range map[string]string{"ruok": "imok", "isro": "rw", "srvr": "Zookeeper version: 3.8."} {
			if !strings.Contains(tt.enabled, w) {
				want = w + " is not executed because"
			}
			if got, err := askWord(dialPipe(s.Member(0)), w); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("with %s, %s: %q, %v", tt.enabled, w, got, err)
			}
		}
	}
}

// What comes after a word does not matter, and a word after the first frame is none.
func TestWordsAndFrames(t *testing.T) {
	s := zktest.Run(t, zktest.WithFourLetterWords("*"))
	wordWays(t, s, func(t *testing.T, ask func(string) string) {
		for _, w := range []string{"ruok", "ruok\n", "ruokruok"} {
			if got := ask(w); got != "imok" {
				t.Errorf("%q: %q", w, got)
			}
		}
	})
	c := open(t, s)
	c.write([]byte("ruok"))
	if r := c.recv(); !r.closed {
		t.Errorf("a word in a session: %+v", r)
	}
	more := rawDial(t, s.Dial, "")
	for _, b := range []string{"srvr", "\r", "\n"} {
		more.write([]byte(b))
	}
	if b, err := io.ReadAll(more.nc); err != nil || !strings.HasSuffix(string(b), "Node count: 5\n") {
		t.Errorf("a word, and more: %q, %v", b, err)
	}
	late := rawDial(t, s.Dial, "")
	late.write([]byte("ru"))
	late.write([]byte("ok"))
	if b := make([]byte, 4); true {
		if _, err := late.nc.Read(b); err != nil || string(b) != "imok" {
			t.Errorf("a word in two pieces: %q, %v", b, err)
		}
	}
}

// wordsStandalone are the answers of a standalone ZooKeeper 3.8.0, without a client, with
// stars for what varies.
var wordsStandalone = map[string]string{
	"ruok": "imok",
	"isro": "rw",
	"srst": "Server stats reset.\n",
	"crst": "Connection stats reset.\n",
	"dirs": "datadir_size: *\nlogdir_size: *\n",
	"wchs": "0 connections watching 0 paths\nTotal watches:0\n",
	"wchc": "\n",
	"wchp": "\n",
	"cons": " /127.0.0.1:*[0](queued=0,recved=1,sent=0)\n\n",
	"stat": "Zookeeper version: *\nClients:\n /127.0.0.1:*[0](queued=0,recved=1,sent=0)\n\nLatency min/avg/max: 0/0.0/0\nReceived: *\nSent: *\n" +
		"Connections: 1\nOutstanding: 0\nZxid: 0x0\nMode: standalone\nNode count: 5\n",
	"srvr": "Zookeeper version: *\nLatency min/avg/max: 0/0.0/0\nReceived: *\nSent: *\nConnections: 1\nOutstanding: 0\nZxid: 0x0\nMode: standalone\nNode count: 5\n",
	"dump": "SessionTracker dump:\nSession Sets (0)/(0):\nephemeral nodes dump:\nSessions with Ephemerals (0):\n" +
		"Connections dump:\nConnections Sets (1)/(1):\n1 expire at *:\n\tip: /127.0.0.1:* sessionId: 0x0\n",
	"conf": "clientPort=*\nsecureClientPort=-1\ndataDir=*\ndataDirSize=*\ndataLogDir=*\ndataLogSize=*\ntickTime=500\nmaxClientCnxns=0\n" +
		"minSessionTimeout=1000\nmaxSessionTimeout=10000\nclientPortListenBacklog=-1\nserverId=0\n",
	"envi": "Environment:\nzookeeper.version=*\nhost.name=*\njava.version=*\njava.vendor=*\njava.home=*\njava.class.path=*\njava.library.path=*\n" +
		"java.io.tmpdir=*\njava.compiler=<NA>\nos.name=*\nos.arch=*\nos.version=*\nuser.name=*\nuser.home=*\nuser.dir=*\n" +
		"os.memory.free=*MB\nos.memory.max=*MB\nos.memory.total=*MB\n",
	// Of these lines only. The size of the data is 44 there: this server has its address in
	// "/zookeeper/config", as a member of an ensemble.
	"mntr": "zk_version\t*\nzk_server_state\tstandalone\nzk_ephemerals_count\t0\nzk_num_alive_connections\t1\nzk_avg_latency\t0.0\n" +
		"zk_outstanding_requests\t0\nzk_znode_count\t5\nzk_global_sessions\t0\nzk_packets_sent\t*\nzk_packets_received\t*\n" +
		"zk_connection_drop_probability\t0.0\nzk_watch_count\t0\nzk_min_latency\t0\nzk_approximate_data_size\t*\n" +
		"zk_local_sessions\t0\nzk_uptime\t*\nzk_max_latency\t0\n",
}

func TestWordsOfAStandaloneServer(t *testing.T) {
	s := zktest.Run(t, zktest.WithFourLetterWords("*"))
	wordWays(t, s, func(t *testing.T, ask func(string) string) {
		for w, want := range wordsStandalone {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, `[^\n]*`)
			if got := ask(w); !regexp.MustCompile(`\A` + pattern + `\z`).MatchString(got) {
				t.Errorf("%s:\n%s\nwant\n%s", w, got, want)
			}
		}
	})
}

// The words go through the same faults as requests, and tell of them.
func TestWordsAndFaults(t *testing.T) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		m := s.AddMember()
		on := func(m *zktest.Member, word string) string {
			t.Helper()
			answer, err := askWord(dialPipe(m), word)
			must(t, err)
			return answer
		}
		line := func(m *zktest.Member, want string) {
			t.Helper()
			if got := on(m, "srvr"); !strings.Contains(got, want+"\n") {
				t.Errorf("no %q in %q", want, got)
			}
		}
		line(s.Member(0), "Mode: leader")
		line(m, "Mode: follower")
		s.Delay(30 * time.Millisecond)
		start := time.Now()
		on(m, "srvr")
		if d := time.Since(start); d != 60*time.Millisecond {
			t.Errorf("an answer after %v", d)
		}
		s.Heal()

		c := open(t, m)
		m.CutFromLeader()
		for range 3 {
			c.send(wire.OpCreate, crt("/a", 0)...)
		}
		time.Sleep(time.Second)
		line(m, "Outstanding: 3")
		line(s.Member(0), "Node count: 5")
		m.RejoinLeader()
		c.recv()
		c.recv()
		c.recv()
		line(m, "Outstanding: 0")
		line(m, "Node count: 6")
		line(m, "Latency min/avg/max: 0/750.0/1000")
		s.Restart()
		line(m, "Latency min/avg/max: 0/0.0/0")
		line(m, "Received: 2")
		s.Reset()
		line(m, "Received: 1")

		m.Refuse()
		if _, err := dialPipe(m)(); err == nil {
			t.Error("a member that refuses was asked")
		}
	})
}
