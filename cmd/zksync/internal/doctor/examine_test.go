package doctor

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer starts an embedded ensemble of n servers, and returns a doctor for it.
func newServer(t *testing.T, n int) (*zktest.Server, *Doctor) {
	t.Helper()
	// An empty container is deleted soon, where the doctor may not do it.
	srv := zktest.Run(t, zktest.WithSessionLimits(time.Second, time.Minute), zktest.WithReapInterval(100*time.Millisecond))
	d := &Doctor{Timeout: 10 * time.Second, Patience: 20 * time.Second, Path: "/", Version: "test"}
	for i := range n {
		if i > 0 {
			srv.AddMember()
		}
		d.Servers = append(d.Servers, srv.Member(i).Addr())
	}
	return srv, d
}

// client returns go-zookeeper's client on a server.
func client(t *testing.T, srv *zktest.Server) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{"127.0.0.1"}, 10*time.Second, zk.WithDialer(srv.Dial), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c
}

func create(t *testing.T, c *zk.Conn, node string, flags int32, acl []zk.ACL) {
	t.Helper()
	if _, err := c.Create(node, nil, flags, acl); err != nil {
		t.Fatal(err)
	}
}

// examine runs a doctor, and checks that its report is as the schema says.
func examine(t *testing.T, d *Doctor) *Report {
	t.Helper()
	r, err := d.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Judge(time.Now())
	checkSchema(t, r)
	return r
}

func checkSchema(t *testing.T, r *Report) {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	schematest.Check(t, "schema.json", b.String())
}

// findings returns the texts of the findings of a level.
func findings(r *Report, level Level) (list []string) {
	for _, f := range r.Findings {
		if f.Level == level {
			list = append(list, strings.TrimSpace(f.Server+" "+f.Text))
		}
	}
	return list
}

// wantProblems checks that there are as many problems as texts, which are in them.
func wantProblems(t *testing.T, r *Report, texts ...string) {
	t.Helper()
	got := findings(r, Problem)
	if len(got) != len(texts) {
		t.Fatalf("problems %q, want %q", got, texts)
	}
	for i, text := range texts {
		if !strings.Contains(got[i], text) {
			t.Errorf("problem %q, want %q", got[i], text)
		}
	}
}

// wantNothing checks that no node and no session of a doctor is left.
func wantNothing(t *testing.T, srv *zktest.Server, tree string, sessions int) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for srv.Tree() != tree || len(srv.Sessions()) != sessions {
		if time.Now().After(end) {
			t.Fatalf("left: %d sessions, want %d, and\n%swant\n%s", len(srv.Sessions()), sessions, srv.Tree(), tree)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestExamineHealthy(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 3)
	c := client(t, srv)
	create(t, c, "/apps", 0, zk.WorldACL(zk.PermAll))
	tree := srv.Tree()
	srv.Member(1).LagUntilSync() // it sees late what the others see, and that is no fault
	for _, path := range []string{"/", "/apps", "/apps/not/yet"} {
		d.Path = path
		r := examine(t, d)
		wantProblems(t, r)
		wantNothing(t, srv, tree, 1)
		if p := r.Path; p.Exists != (path != "/apps/not/yet") || p.Create != Yes || p.Delete != Yes || p.Read != Yes || p.Containers != Yes || p.ACL[0] != "world:anyone:cdrwa" {
			t.Errorf("%s: %+v", path, p)
		}
		if l := r.Lock; l == nil || l.Cycles == 0 || l.Median <= 0 || l.Longest < l.Median || l.Requests < 1.9 || l.Requests > 4 {
			t.Errorf("%s: %+v", path, l)
		}
		if *r.Session != (Session{Asked: 10, Granted: 10, Shortest: 1, Longest: 60}) {
			t.Errorf("%+v", r.Session)
		}
		for _, s := range r.Servers {
			if s.State != Serving || s.Read <= 0 || s.Write <= 0 || s.Connect <= 0 || s.SameTree == nil || !*s.SameTree {
				t.Errorf("%+v", s)
			}
		}
	}
}

func TestExamineServersThatDoNotServe(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	closing, err := net.Listen("tcp", "127.0.0.1:0") // it closes each connection
	if err != nil {
		t.Fatal(err)
	}
	defer closing.Close()
	go func() {
		for c, err := closing.Accept(); err == nil; c, err = closing.Accept() {
			c.Close()
		}
	}()
	d.Patience = 3 * time.Second
	d.Servers = append(d.Servers, l.Addr().String(), closed.Addr().String(), closing.Addr().String())
	r := examine(t, d)
	wantProblems(t, r, "no answer within 3s", "it can't be reached: connect: connection refused", "gives no session: it closes the connection without an answer")
	for i, want := range []State{Serving, NotServing, Unreached, NotServing} {
		if got := r.Servers[i].State; got != want {
			t.Errorf("server %d: %s, want %s", i, got, want)
		}
	}
	if !r.Reached() || r.Lock == nil {
		t.Error("one server serves, and was not examined")
	}
	d.Servers = d.Servers[2:]
	if r := examine(t, d); r.Reached() || r.Healthy || r.Path != nil {
		t.Errorf("no server serves: %+v", r)
	}
}

// A server that has lost its leader gives no session.
func TestExamineFollowerWithoutLeader(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 2)
	srv.Member(1).CutFromLeader()
	d.Patience, d.Timeout = 3*time.Second, 3*time.Second // an attempt may come to a session later, which times out
	wantProblems(t, examine(t, d), "no answer within 3s", "no further server may fail")
	srv.Member(1).RejoinLeader()
	wantProblems(t, examine(t, d))
	wantNothing(t, srv, "", 0)
}

// Slow servers are examined to the end, however long the whole takes.
func TestExamineSlowServer(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 1)
	srv.Delay(150 * time.Millisecond)
	d.Patience, d.Timeout = 2*time.Second, 6*time.Second // for each request, which takes 300 ms
	r := examine(t, d)
	s := r.Servers[0]
	if s.State != Serving || s.Write < 0.3 || s.Read < 0.3 || !slices.Contains(s.Words, "srvr") || r.Session.Longest == 0 || r.Lock == nil || r.Path.Containers != Yes {
		t.Errorf("%+v, %+v, %+v", s, r.Session, r.Lock)
	}
	slow := func(f Finding) bool {
		return f.Check == "latency" && strings.HasPrefix(f.Text, "writes are slow: one takes ")
	}
	if !slices.ContainsFunc(r.Findings, slow) || len(r.failures) > 0 {
		t.Errorf("findings %+v", r.Findings)
	}
	srv.Heal()
}

// A server that gives a session and answers no write is not said to give no session.
func TestExamineNoWrites(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 1)
	srv.DropRequest(func(r zktest.Request) bool { return r.Op == "multi" || r.Op == "check" })
	d.Patience = 2 * time.Second
	r := examine(t, d)
	wantProblems(t, r, d.Servers[0]+" it gives a session, but answers no write: no answer within 2s")
	if r.Reached() || !r.Mute() {
		t.Errorf("%+v", r.Servers[0])
	}
}

func TestExamineServerListedTwice(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, 2)
	d.Servers = append(d.Servers, d.Servers[0])
	r := examine(t, d)
	if notes := findings(r, Note); len(r.Servers) != 2 || !slices.Contains(notes, d.Servers[0]+" the server list has it 2 times; it was examined once") {
		t.Errorf("%d servers, notes %q", len(r.Servers), notes)
	}
	wantProblems(t, r)
}

func TestExamineTwoEnsembles(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, 2)
	other, _ := newServer(t, 1)
	d.Servers = append(d.Servers, other.Addr())
	wantProblems(t, examine(t, d), other.Addr()+" it does not show a node made on "+d.Servers[0])
}

func TestExamineSessionTimeouts(t *testing.T) {
	t.Parallel()
	_, d := newServer(t, 1)
	d.Timeout = 2 * time.Minute
	r := examine(t, d)
	wantProblems(t, r, "120 s was asked for, and 60 s granted; the servers grant 1 s to 60 s")
	d.Timeout = time.Second // two ticks
	r = examine(t, d)
	if notes := findings(r, Note); len(notes) != 2 || !strings.Contains(notes[0], "one server") || !strings.Contains(notes[1], "less than 3 ticks") {
		t.Errorf("notes %q", notes)
	}
}

func TestExaminePermissions(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 1)
	c := client(t, srv)
	alice := zk.DigestACL(zk.PermAll, "alice", "secret")
	create(t, c, "/all", 0, alice)
	create(t, c, "/read", 0, zk.WorldACL(zk.PermRead))
	create(t, c, "/make", 0, zk.WorldACL(zk.PermCreate))
	create(t, c, "/temp", zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	tree := srv.Tree()
	for _, tt := range []struct {
		path, user string
		problems   []string
	}{
		{"/all", "", []string{"without credentials, one may not create nodes below /all", "may not list the children of /all"}},
		{"/all", "bob:secret", []string{"digest:bob may not create", "digest:bob may not list"}},
		{"/all", "alice:wrong", []string{"digest:alice may not create", "digest:alice may not list"}},
		{"/all", "alice:secret", nil},
		{"/all/deep/down", "alice:secret", nil},
		{"/all/deep/down", "", []string{"may not create nodes below /all"}},
		{"/read", "", []string{"may not create nodes below /read"}},
		{"/make", "", []string{"may not list the children of /make", "may not delete nodes below /make"}},
		{"/temp", "", []string{"/temp is an ephemeral node"}},
	} {
		d.Path, d.Scheme, d.Cred = tt.path, "", nil
		if tt.user != "" {
			d.Scheme, d.Cred = "digest", []byte(tt.user)
		}
		r := examine(t, d)
		wantProblems(t, r, tt.problems...)
		var b strings.Builder
		_, _ = r.WriteTable(&b, table.NewStyle(&b)), r.WriteJSON(&b)
		if _, hash, _ := strings.Cut(alice[0].ID, ":"); strings.Contains(b.String(), "secret") || strings.Contains(b.String(), hash) {
			t.Errorf("the report shows a credential:\n%s", b.String())
		}
		wantNothing(t, srv, tree, 1)
	}
	d.Scheme, d.Cred = "kerberos", []byte("x")
	if r := examine(t, d); !slices.ContainsFunc(findings(r, Problem), func(s string) bool { return strings.Contains(s, "refuses the credentials") }) {
		t.Errorf("problems %q", findings(r, Problem))
	}
}

// An examination that is called off leaves nothing behind, wherever it is.
func TestExamineEnded(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 1)
	for _, op := range []string{"create", "delete", "getACL", "multi", "createContainer"} {
		ctx, cancel := context.WithCancel(t.Context())
		srv.DropRequest(func(r zktest.Request) bool {
			if r.Op == op {
				cancel()
			}
			return false
		})
		_, err := d.Examine(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", op, err)
		}
		srv.DropRequest(nil)
		wantNothing(t, srv, "", 0)
		cancel()
	}
}

// When the server goes away in between, the report says how far it came.
func TestExamineServerGoesAway(t *testing.T) {
	t.Parallel()
	srv, d := newServer(t, 1)
	d.Patience = 3 * time.Second
	srv.DropRequest(func(r zktest.Request) bool {
		if r.Op == "getACL" {
			srv.Blackhole()
		}
		return false
	})
	r := examine(t, d)
	wantProblems(t, r, "the examination ended early: no answer within 3s")
	srv.Heal()
}
