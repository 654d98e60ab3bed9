package doctor

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// healthy is what three servers without faults look like.
func healthy() *Report {
	r := &Report{
		Version: 1, Session: &Session{Asked: 10, Granted: 10, Shortest: 4, Longest: 40},
		Ensemble: &Ensemble{Participants: 3},
		Path:     &Path{Path: "/locks", Exists: true, Nearest: "/locks", Create: Yes, Read: Yes, Delete: Yes, Containers: Yes, ACL: []string{"world:anyone:cdrwa"}},
		Clock:    &Clock{Ahead: 0.5, Uncertainty: 0.01},
		Lock:     &Lock{Cycles: 20, Median: 0.004, Longest: 0.01, Requests: 2},
	}
	yes := true
	for i, role := range []string{"follower", "leader", "follower"} {
		r.Servers = append(r.Servers, &Server{
			Address: fmt.Sprintf("zk%d:2181", i+1), State: Serving, Version: "3.9.3", Role: role, Words: []string{"srvr"},
			Connect: 0.001, Read: 0.001, Write: 0.005, writes: 5, Granted: 10, CertExpires: now.Add(1000 * time.Hour), SameTree: &yes, Credentials: "accepted",
		})
	}
	return r
}

func TestJudgeHealthy(t *testing.T) {
	r := healthy()
	r.Judge(now)
	if !r.Healthy {
		t.Error("a healthy ensemble is not said to be one")
	}
	checks := make([]string, 0, len(r.Findings))
	for _, f := range r.Findings {
		checks = append(checks, f.Check)
		if f.Level != OK || f.Text == "" || f.Advice != "" {
			t.Errorf("%+v", f)
		}
	}
	want := "server ensemble version words certificate session latency path containers clock lock"
	if got := strings.Join(checks, " "); got != want {
		t.Errorf("checks %s, want %s", got, want)
	}
}

// Each fault gives the finding that it should, with advice, and no other problem.
func TestJudgeFaults(t *testing.T) {
	no := false
	down := func(r *Report, s State, why string) *Server {
		r.Servers[2] = &Server{Address: "zk3:2181", State: s, Error: why}
		return r.Servers[2]
	}
	for _, tt := range []struct {
		name  string
		spoil func(*Report)
		want  []string // level, check and a part of the text or advice of each that is not ok
	}{
		{"one of three is down", func(r *Report) { down(r, Unreached, "connection refused").cause = syscall.ECONNREFUSED },
			[]string{"problem server|zk3:2181 it can't be reached: connection refused|start the server", "problem ensemble|no further server may fail|soon"}},
		{"one of five is down", func(r *Report) {
			down(r, Unreached, "connection refused")
			r.Ensemble.Participants = 5
			r.Servers = append(r.Servers, r.Servers[0], r.Servers[0])
		}, []string{"problem server|zk3:2181 it can't be reached|machine is up"}},
		{"no quorum", func(r *Report) { down(r, NotServing, "closed").unready = true },
			[]string{"problem server|without a quorum: closed|majority", "problem ensemble|no further|soon"}},
		{"TLS is missing", func(r *Report) { down(r, NotServing, "closed").noTLS = true },
			[]string{"problem server|gives no session: closed|give --tls-ca", "problem ensemble|no further|soon"}},
		{"TLS is too much", func(r *Report) { down(r, NotServing, "TLS: first record").notTLS = true },
			[]string{"problem server|TLS: first record|leave the --tls flags out", "problem ensemble|no further|soon"}},
		{"another certificate", func(r *Report) { down(r, NotServing, "TLS: x509: unknown authority") },
			[]string{"problem server|unknown authority|--tls-ca", "problem ensemble|no further|soon"}},
		{"only one is named", func(r *Report) { r.Servers = r.Servers[:1] }, []string{"note ensemble|has 1 of the 3 servers|all of them"}},
		{"one server", func(r *Report) { r.Servers, r.Ensemble.Participants = r.Servers[:1], 1 }, []string{"note ensemble|one server|three"}},
		{"two vote", func(r *Report) { r.Servers, r.Ensemble.Participants = r.Servers[:2], 2 }, []string{"note ensemble|2 servers vote, which bears no more failures than 1|"}},
		{"unknown size", func(r *Report) { r.Ensemble = nil }, nil},
		{"two ensembles", func(r *Report) { r.Servers[1].SameTree = &no }, []string{"problem ensemble|zk2:2181 it does not show a node made on zk1:2181|take it out"}},
		{"standalone", func(r *Report) { r.Servers[1].Role = "standalone" }, []string{"problem ensemble|1 are standalone|zoo.cfg"}},
		{"two leaders", func(r *Report) { r.Servers[0].Role = "leader" }, []string{"problem ensemble|2 lead|zoo.cfg"}},
		{"versions differ", func(r *Report) { r.Servers[1].Version = "3.8.4" }, []string{"note version|3.8.4, 3.9.3|upgrade"}},
		{"writes may stall", func(r *Report) {
			for i, version := range []string{"3.8.0", "3.7.1", "3.6.3"} {
				r.Servers[i].Version = version
			}
		}, []string{"note version|3.6.3, 3.7.1, 3.8.0|finish", "note version|zk1:2181,zk2:2181,zk3:2181 a write may wait|3.8.1 or later"}},
		{"writes don't stall", func(r *Report) {
			for i, version := range []string{"3.8.1", "3.7.2", "3.6.4"} {
				r.Servers[i].Version = version
			}
		}, []string{"note version|3.6.4, 3.7.2, 3.8.1|finish"}},
		{"old", func(r *Report) {
			for _, s := range r.Servers {
				s.Version = "3.4.14"
			}
		}, []string{"problem version|zk1:2181 ZooKeeper 3.4.14|3.5", "problem version|zk2:2181 ZooKeeper 3.4.14|3.5", "problem version|zk3:2181 ZooKeeper 3.4.14|3.5"}},
		{"words refused", func(r *Report) { r.Servers[0].Words, r.Servers[0].Version, r.Servers[0].Role = nil, "", "" },
			[]string{"note words|zk1:2181 it does not answer srvr|4lw.commands.whitelist"}},
		{"certificate", func(r *Report) { r.Servers[0].CertExpires = now.Add(13 * 24 * time.Hour) }, []string{"problem certificate|zk1:2181 a certificate that it shows ends on 2030-01-14|replace"}},
		{"no TLS", func(r *Report) {
			for _, s := range r.Servers {
				s.CertExpires = time.Time{}
			}
		}, nil},
		{"credentials", func(r *Report) { r.Servers[0].Credentials = "refused" }, []string{"problem credentials|zk1:2181 it refuses|scheme"}},
		{"granted less", func(r *Report) {
			r.Session.Asked = 60
		}, []string{"problem session|60 s was asked for, and 10 s granted; the servers grant 4 s to 40 s|--session-timeout"}},
		{"granted differently", func(r *Report) { r.Servers[2].Granted = 8 }, []string{"problem session|zk3:2181 it grants a session timeout of 8 s, and another server 10 s|maxSessionTimeout"}},
		{"few ticks", func(r *Report) { r.Session.Tick = 4 }, []string{"problem session|less than 3 ticks of the servers, 4 s each|ask for 12 s"}},
		{"few ticks, perhaps", func(r *Report) { r.Session.Shortest = 8 }, []string{"note session|if the shortest that they grant is two|ask for 12 s"}},
		{"slow", func(r *Report) { r.Servers[1].Write = 0.5 },
			[]string{"note latency|zk2:2181 writes are slow: one takes 500 ms (median of 5), and a read 1.00 ms; it should be less than 417 ms, 1/24 of the session timeout of 10 s|disk"}},
		{"too slow", func(r *Report) { r.Servers[1].Write, r.Servers[1].writes = 2.5, 1 },
			[]string{"problem latency|zk2:2181 writes are slow: one takes 2.5 s (median of 1), and a read 1.00 ms; a holder gives up a server after 1.7 s, a sixth of the session timeout of 10 s|session timeout of 30 s"}},
		{"all is slow", func(r *Report) { r.Servers[1].Write, r.Servers[1].Read = 0.5, 0.4 }, []string{"note latency|and a read 400 ms|network to the server"}},
		{"no write", func(r *Report) { down(r, NotServing, "no answer within 5s").mute = true },
			[]string{"problem server|gives a session, but answers no write: no answer within 5s|majority", "problem ensemble|no further|soon"}},
		{"listed twice", func(r *Report) { r.Servers[1].listed = 2 }, []string{"note server|zk2:2181 the server list has it 2 times; it was examined once|once"}},
		{"no such host", func(r *Report) { down(r, Unreached, "no such host").cause = &net.DNSError{IsNotFound: true} },
			[]string{"problem server|can't be reached: no such host|correct the name", "problem ensemble|no further|soon"}},
		{"no DNS", func(r *Report) { down(r, Unreached, "timeout").cause = &net.DNSError{IsTimeout: true} },
			[]string{"problem server|can't be reached: timeout|DNS servers answer", "problem ensemble|no further|soon"}},
		{"no route", func(r *Report) { down(r, Unreached, "no answer").cause = context.DeadlineExceeded },
			[]string{"problem server|can't be reached: no answer|firewall", "problem ensemble|no further|soon"}},
		{"silent", func(r *Report) { down(r, NotServing, "no answer").cause = context.DeadlineExceeded },
			[]string{"problem server|gives no session: no answer|hangs or is stopped", "problem ensemble|no further|soon"}},
		{"no create", func(r *Report) {
			r.Path.Create, r.Clock, r.Lock, r.Path.Containers, r.Path.Delete = No, nil, nil, "", ""
		},
			[]string{"problem path|without credentials, one may not create nodes below /locks|give credentials (--auth-file), or grant the permission c (create) on /locks to everybody; its ACL is world:anyone:cdrwa"}},
		{"no create for alice", func(r *Report) { r.Path.Create, r.Path.Identity, r.Path.ACL = No, "digest:alice", nil },
			[]string{"problem path|digest:alice may not create nodes below /locks|grant the permission c (create) on /locks to them, or check the password"}},
		{"no read, no delete", func(r *Report) { r.Path.Read, r.Path.Delete = No, No },
			[]string{"problem path|may not list the children of /locks|r (read)", "problem path|may not delete nodes below /locks|d (delete)"}},
		{"no read above", func(r *Report) { r.Path.Exists, r.Path.Nearest, r.Path.Read, r.Path.Delete = false, "/", No, No }, nil},
		{"ephemeral", func(r *Report) { r.Path.ephemeral, r.Path.Create = true, No }, []string{"problem path|/locks is an ephemeral node|another path"}},
		{"no containers", func(r *Report) { r.Path.Containers = No }, []string{"note containers|no container nodes|by hand"}},
		{"clock off", func(r *Report) { r.Clock.Ahead = -1.5 }, []string{"note clock|1.5 s behind|NTP"}},
		{"clock not known to be off", func(r *Report) { r.Clock.Ahead, r.Clock.Uncertainty = 2, 1.5 }, nil},
		{"clock broken", func(r *Report) { r.Clock.Ahead = 3600 }, []string{"problem clock|3600 s ahead of|NTP"}},
		{"ended early", func(r *Report) { r.failures = []Finding{{Problem, "lock", "", "ended", "again"}} }, []string{"problem lock|ended|again"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := healthy()
			tt.spoil(r)
			r.Judge(now)
			var got []Finding
			for _, f := range r.Findings {
				if f.Level != OK {
					got = append(got, f)
				}
			}
			if len(got) != len(tt.want) {
				t.Fatalf("findings %+v, want %q", got, tt.want)
			}
			for i, want := range tt.want {
				parts := strings.Split(want, "|")
				f := got[i]
				text := strings.TrimSpace(f.Server + " " + f.Text)
				if fmt.Sprintf("%s %s", f.Level, f.Check) != parts[0] || !strings.Contains(text, parts[1]) || f.Advice == "" || !strings.Contains(f.Advice, parts[2]) {
					t.Errorf("finding %+v, want %q", f, want)
				}
			}
			problem := slices.ContainsFunc(tt.want, func(w string) bool { return strings.HasPrefix(w, "problem ") })
			if r.Healthy == problem {
				t.Errorf("healthy: %v", r.Healthy)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	r := healthy()
	r.Servers[2] = &Server{Address: "zk3:2181", State: Unreached, Error: "connection refused"}
	r.Findings = []Finding{
		{Problem, "server", "zk3:2181", "it can't be reached: connection refused", "start it"},
		{Level: OK, Check: "version", Text: "ZooKeeper 3.9.3"},
	}
	var b strings.Builder
	if err := r.WriteTable(&b, table.NewStyle(&b)); err != nil {
		t.Fatal(err)
	}
	const want = `SERVER    STATE        VERSION  ROLE      READ     WRITE    SESSION
zk1:2181  serving      3.9.3    follower  1.00 ms  5.00 ms  10 s
zk2:2181  serving      3.9.3    leader    1.00 ms  5.00 ms  10 s
zk3:2181  unreachable  -        -         -        -        -

problem  server       zk3:2181: it can't be reached: connection refused
                      -> start it
ok       version      ZooKeeper 3.9.3

1 problem, no notes
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestShort(t *testing.T) {
	for seconds, want := range map[float64]string{0.00003: "0.03 ms", 0.0123: "12 ms", 0.417: "417 ms", 1: "1 s", 1.5: "1.5 s", 40: "40 s", 86400: "86400 s"} {
		if got := short(seconds); got != want {
			t.Errorf("%v: %s, want %s", seconds, got, want)
		}
	}
}

// The answers are those of ZooKeeper 3.8 and 3.9.
func TestLearn(t *testing.T) {
	var s Server
	s.learn("srvr", "Zookeeper version: 3.8.0-1, built on 2023-01-27 19:51 UTC\nLatency min/avg/max: 0/0.0/0\nReceived: 1\nMode: follower\nNode count: 5\n")
	s.learn("conf", "clientPort=2181\ndataDir=/x\ntickTime=2000\nmaxClientCnxns=60\n")
	if s.Version != "3.8.0" || s.Role != "follower" || s.tick != 2 || s.unready {
		t.Errorf("%+v", s)
	}
	s.learn("srvr", "This ZooKeeper instance is not currently serving requests\n")
	if !s.unready {
		t.Error("a server without a quorum is taken for one with it")
	}
}
