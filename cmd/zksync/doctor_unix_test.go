//go:build unix

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/doctor"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func newDoctorOn(t *testing.T, servers string, args ...string) *proctest.Process {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, append([]string{"doctor", "--connect-timeout", "20s"}, args...)...)
	p.Env = append(p.Env, envServers+"="+servers)
	return p
}

// reported runs a doctor that prints JSON, checks the exit code and the schema, and
// returns the report.
func reported(t *testing.T, p *proctest.Process, code int) *doctor.Report {
	t.Helper()
	p.Args = append(p.Args, "-o", "json")
	p.Start().WantCode(code)
	schematest.Check(t, filepath.Join("internal", "doctor", "schema.json"), p.Out.String())
	var r doctor.Report
	if err := json.Unmarshal([]byte(p.Out.String()), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// problems returns the checks that found one.
func problems(r *doctor.Report) (checks []string) {
	for _, f := range r.Findings {
		if f.Level == doctor.Problem {
			checks = append(checks, f.Check)
		}
	}
	return checks
}

func wantProblems(t *testing.T, r *doctor.Report, checks ...string) {
	t.Helper()
	if got := problems(r); !slices.Equal(got, checks) {
		t.Errorf("problems %q, want %q: %+v", got, checks, r.Findings)
	}
}

func TestDoctor(t *testing.T) {
	grounds(t, func(t *testing.T, c *zk.Conn, addr string) {
		p := parent(t, c, world)
		d := newDoctorOn(t, addr, "--path", p).Start()
		d.WantCode(0)
		for _, want := range []string{"SERVER ", addr + "  serving ", "ok       path         nodes below " + p + " can be created, listed and deleted\n",
			"ok       session      a session timeout of 10 s is granted as asked", "ok       containers ", "ok       lock ", "\nno problems, "} {
			if !strings.Contains(d.Out.String(), want) {
				t.Errorf("output without %q:\n%s", want, d.Out.String())
			}
		}
		if said := d.Err.String(); said != "" {
			t.Errorf("stderr %q", said)
		}
		wantEmpty(t, c, p)

		r := reported(t, newDoctorOn(t, addr+p, "--path", "/not/yet"), 0) // with a chroot
		if r.Path.Path != p+"/not/yet" || r.Path.Nearest != p || r.Lock == nil {
			t.Errorf("%+v", r.Path)
		}
		wantEmpty(t, c, p)
	})
}

// Credentials come from a file or the environment, and decide what is allowed.
func TestDoctorPermissions(t *testing.T) {
	grounds(t, func(t *testing.T, c *zk.Conn, addr string) {
		p := parent(t, c, zk.DigestACL(zk.PermAll, "alice", "secret"))
		file := filepath.Join(t.TempDir(), "auth")
		if err := os.WriteFile(file, []byte("digest:alice:secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wantProblems(t, reported(t, newDoctorOn(t, addr, "--path", p, "--auth-file", file), 0))
		d := newDoctorOn(t, addr, "--path", p)
		d.Env = append(d.Env, envAuth+"=digest:bob:secret")
		r := reported(t, d, exit.Conflict)
		wantProblems(t, r, "path", "path")
		unknown := newDoctorOn(t, addr, "--path", p)
		unknown.Env = append(unknown.Env, envAuth+"=nobody:secret")
		wantProblems(t, reported(t, unknown, exit.NoPermission), "credentials")
		if r.Path.Identity != "digest:bob" || strings.Contains(d.Out.String()+d.Err.String(), "secret") {
			t.Errorf("%+v", r.Path)
		}
	})
}

func TestDoctorWithoutServer(t *testing.T) {
	t.Parallel()
	_, addr := onEmbedded(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	wantProblems(t, reported(t, newDoctorOn(t, closed+","+addr), exit.Conflict), "server")
	d := newDoctorOn(t, closed).Start()
	d.WantCode(exit.Unavailable)
	if said := d.Err.String(); said != "zksync: no server gives a session\n" || !strings.Contains(d.Out.String(), closed+": it can't be reached: ") {
		t.Errorf("stderr %q, stdout %s", said, d.Out.String())
	}
}

// Slow writes are a problem, and no server that gives no session.
func TestDoctorSlowWrites(t *testing.T) {
	t.Parallel()
	srv := zktest.Run(t, zktest.WithSessionLimits(tick, time.Minute))
	srv.Delay(170 * time.Millisecond) // each way; a sixth of the session timeout is 333 ms
	d := newDoctorOn(t, srv.Addr()+","+srv.Addr(), "--session-timeout", "2")
	r := reported(t, d, exit.Conflict)
	if f := r.Findings[0]; len(r.Servers) != 1 || !strings.Contains(f.Text, "writes are slow: one takes ") || !strings.Contains(f.Advice, "ask for a session timeout of ") {
		t.Errorf("%d servers, %+v", len(r.Servers), f)
	}
	srv.Heal()
}

// A server that answers no write says so on stderr, too.
func TestDoctorNoWrites(t *testing.T) {
	t.Parallel()
	srv := zktest.Run(t, zktest.WithSessionLimits(tick, time.Minute))
	srv.DropRequest(func(r zktest.Request) bool { return r.Op == "multi" || r.Op == "check" })
	d := newDoctorOn(t, srv.Addr(), "--connect-timeout", "2s").Start()
	d.WantCode(exit.Unavailable)
	if said := d.Err.String(); said != "zksync: no server answers a write\n" || !strings.Contains(d.Out.String(), "it gives a session, but answers no write: ") {
		t.Errorf("stderr %q, stdout %s", said, d.Out.String())
	}
}

func TestDoctorUsage(t *testing.T) {
	t.Setenv(envServers, "host:2181")
	for args, says := range map[string]string{
		"doctor more":                  "takes no arguments",
		"doctor -o yaml":               "want table or json",
		"doctor --path locks":          "must start with a slash, as in /locks\n",
		"doctor --path /locks/":        "must not end with a slash",
		"doctor --connect-timeout 0":   "wait for ever",
		"doctor --session-timeout 1ms": "want 200ms to 24h",
		"doctor --servers a:b:c":       `server "a:b:c": want host:port`,
	} {
		code, stdout, stderr := commandLine(strings.Fields(args)...)
		if code != exit.Usage || stdout != "" || !strings.Contains(stderr, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	for server, want := range map[string]string{"a": "a:2181", "a:1": "a:1", "::1": "[::1]:2181", "[::1]": "[::1]:2181", "[::1]:1": "[::1]:1"} {
		if got, err := withPort(server); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", server, got, err, want)
		}
	}
}

// A terminal has 80 columns.
func TestHelpIsNarrow(t *testing.T) {
	for line := range strings.Lines(doctor.Help + "\n" + serveLong) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("wide line in the help: %q", line)
		}
	}
}

func TestDoctorTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := newPair(t, dir, "authority", nil)
	_, plain := onEmbedded(t)
	addr := tlsFront(t, newPair(t, dir, "zookeeper.example", ca), ca, plain)
	us := newPair(t, dir, "client", ca)
	flags := []string{"--tls-ca", ca.certFile, "--tls-cert", us.certFile, "--tls-key", us.keyFile, "--tls-server-name", "zookeeper.example"}
	r := reported(t, newDoctorOn(t, addr, flags...), exit.Conflict)
	wantProblems(t, r, "certificate") // which lasts for an hour
	if r.Servers[0].CertExpires.IsZero() {
		t.Errorf("%+v", r.Servers[0])
	}
	for _, tt := range []struct {
		addr, advice string
		flags        []string
	}{
		{addr, "if this is a port for TLS, give --tls-ca", nil},
		{plain, "leave the --tls flags out", flags},
		{addr, "check --tls-ca", []string{"--tls-server-name", "zookeeper.example"}},
	} {
		r := reported(t, newDoctorOn(t, tt.addr, tt.flags...), exit.Unavailable)
		if f := r.Findings[0]; f.Check != "server" || !strings.Contains(f.Advice, tt.advice) {
			t.Errorf("%s %q: %+v", tt.addr, tt.flags, f)
		}
	}
}

// A signal ends the examination, and nothing is left.
func TestDoctorInterrupted(t *testing.T) {
	t.Parallel()
	srv := zktest.Run(t, zktest.WithSessionLimits(tick, time.Minute))
	srv.Delay(50 * time.Millisecond)
	d := newDoctorOn(t, srv.Addr()).Start()
	proctest.Eventually(t, "a node of the doctor's", func() bool { return srv.Tree() != "" })
	d.Signal(syscall.SIGINT)
	d.WantCode(exit.Signal + int(syscall.SIGINT))
	if said := d.Out.String() + d.Err.String(); said != "" {
		t.Errorf("output %q", said)
	}
	proctest.Eventually(t, "nothing is left", func() bool { return srv.Tree() == "" && len(srv.Sessions()) == 0 })
}

// --timeout bounds the whole command.
func TestDoctorTimeout(t *testing.T) {
	t.Parallel()
	srv := zktest.Run(t, zktest.WithSessionLimits(tick, time.Minute))
	srv.Delay(50 * time.Millisecond)
	d := newDoctorOn(t, srv.Addr(), "--timeout", "0.5").Start()
	d.WantCode(exit.Unavailable)
	if said := d.Err.String(); said != "zksync: not done within 500ms (--timeout)\n" || d.Out.String() != "" {
		t.Errorf("stderr %q, stdout %q", said, d.Out.String())
	}
	proctest.Eventually(t, "nothing is left", func() bool { return srv.Tree() == "" && len(srv.Sessions()) == 0 })
}

// A server that goes away in between is a finding, and no stack trace.
func TestDoctorServerGoesAway(t *testing.T) {
	t.Parallel()
	srv := zktest.Run(t, zktest.WithSessionLimits(tick, time.Minute))
	srv.Delay(50 * time.Millisecond)
	d := newDoctorOn(t, srv.Addr(), "--connect-timeout", "3s").Start()
	proctest.Eventually(t, "a node of the doctor's", func() bool { return srv.Tree() != "" })
	srv.Close()
	d.WantCode(exit.Conflict)
	if said := d.Err.String(); said != "" || !strings.Contains(d.Out.String(), "the examination ended early: ") {
		t.Errorf("stderr %q, stdout %s", said, d.Out.String())
	}
}

// Nobody reads the output.
func TestDoctorBrokenPipe(t *testing.T) {
	t.Parallel()
	_, addr := onEmbedded(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	d := newDoctorOn(t, addr)
	d.Stdout = w
	d.Start()
	w.Close()
	d.WantCode(exit.OS)
	if said := d.Err.String(); !strings.Contains(said, "broken pipe") || strings.Count(said, "\n") != 1 {
		t.Errorf("stderr %q", said)
	}
}

// Three real servers as they come, which answer srvr only, while one after the other goes
// away.
func TestDoctorEnsemble(t *testing.T) {
	long(t)
	e := ensemble.Run(t, 3, ensemble.WithConfig(map[string]string{
		"4lw.commands.whitelist": "srvr", "tickTime": "2000", "minSessionTimeout": "-1", "maxSessionTimeout": "-1",
	}))
	servers := strings.Join(e.Addrs(), ",")
	r := reported(t, newDoctorOn(t, servers, "--path", "/locks"), 0)
	wantProblems(t, r)
	leaders := 0
	for _, s := range r.Servers {
		if s.Version == "" || !slices.Equal(s.Words, []string{"srvr"}) || s.SameTree == nil || !*s.SameTree {
			t.Errorf("%+v", s)
		}
		if s.Role == "leader" {
			leaders++
		}
	}
	if leaders != 1 || *r.Ensemble != (doctor.Ensemble{Participants: 3}) || *r.Session != (doctor.Session{Asked: 10, Granted: 10, Shortest: 4, Longest: 40}) {
		t.Errorf("%d leaders, %+v, %+v", leaders, r.Ensemble, r.Session)
	}
	r = reported(t, newDoctorOn(t, e.Addr(0), "--session-timeout", "5s"), 0)
	notes := slices.DeleteFunc(r.Findings, func(f doctor.Finding) bool {
		return f.Level != doctor.Note || strings.Contains(f.Text, "ZOOKEEPER-4537") // some versions have that
	})
	if len(notes) != 2 { // one of three servers, and under three ticks
		t.Errorf("notes: %+v", notes)
	}
	if err := e.Pause(2); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitLeader(proctest.Limit); err != nil {
		t.Fatal(err)
	}
	r = reported(t, newDoctorOn(t, servers, "--connect-timeout", "5s"), exit.Conflict)
	wantProblems(t, r, "server", "ensemble")
	if s := r.Servers[2]; s.State != doctor.NotServing || s.Error != "no answer within 5s" {
		t.Errorf("%+v", s)
	}
	if err := e.Resume(2); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := e.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	proctest.Eventually(t, "the last server says that it does not serve", func() bool {
		answer, err := e.FourLetter(2, "srvr")
		return err == nil && strings.Contains(answer, "not currently serving")
	})
	r = reported(t, newDoctorOn(t, servers), exit.Unavailable)
	if f := r.Findings[2]; !strings.Contains(f.Text, "without a quorum") {
		t.Errorf("%+v", r.Findings)
	}
}

// A server that answers all words tells its tick.
func TestDoctorWords(t *testing.T) {
	long(t)
	e := ensemble.Run(t, 1, ensemble.WithTick(tick))
	r := reported(t, newDoctorOn(t, e.Addr(0), "--session-timeout", "1s"), exit.Conflict)
	wantProblems(t, r, "session") // two ticks
	if s := r.Servers[0]; !slices.Contains(s.Words, "conf") || s.Version == "" || s.Role != "leader" || r.Session.Tick != tick.Seconds() {
		t.Errorf("%+v, %+v", s, r.Session)
	}
}
