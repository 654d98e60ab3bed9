//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/control"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// controlled starts "zksync serve" with a control port, and returns the addresses that it
// prints.
func controlled(t *testing.T, flags ...string) (p *proctest.Process, servers []string, port string) {
	t.Helper()
	flags = append([]string{"serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"}, flags...)
	p = proctest.Prepare(t, roleCommand, flags...).Start()
	p.Out.Await(t, "http://")
	lines := strings.Split(p.Out.String(), "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("stdout %q, want two lines", lines)
	}
	return p, strings.Split(lines[0], ","), lines[1]
}

// controls makes a request to a control port, and decodes the answer into doc.
func controls(t *testing.T, method, url string, status int, doc any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: proctest.Limit}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(doc); err != nil || answer.StatusCode != status {
		t.Fatalf("%s %s: status %d, %v, want %d: %+v", method, url, answer.StatusCode, err, status, doc)
	}
}

// A test in another process ends a session, and sees that it has ended.
func TestServeControl(t *testing.T) {
	t.Parallel()
	p, servers, port := controlled(t)
	c := plainClient(t, servers[0])
	if _, err := c.Create("/here", []byte("x"), zk.FlagEphemeral, world); err != nil {
		t.Fatal(err)
	}
	id := c.SessionID()
	var tree control.Tree
	controls(t, "GET", port+"/tree", http.StatusOK, &tree)
	if len(tree.Nodes) != 1 || tree.Nodes[0].Path != "/here" || tree.Nodes[0].Session != fmt.Sprintf("%#x", id) {
		t.Errorf("the tree is %+v", tree)
	}
	controls(t, "POST", fmt.Sprintf("%s/expire?session=%d", port, id), http.StatusOK, new(control.Status))
	controls(t, "GET", port+"/tree", http.StatusOK, &tree)
	if len(tree.Nodes) != 0 {
		t.Errorf("after the expiry: %+v", tree)
	}
	proctest.Eventually(t, "a new session", func() bool { return c.SessionID() != id && c.State() == zk.StateHasSession })
	var why control.Failure
	controls(t, "POST", fmt.Sprintf("%s/expire?session=%d", port, id), http.StatusNotFound, &why)
	if want := fmt.Sprintf("/expire: no session %#x: it has ended, or there was none", id); why.Error != want {
		t.Errorf("%q, want %q", why.Error, want)
	}
	p.Signal(syscall.SIGTERM)
	p.WantCode(0)
}

// Each member has an address of its own, can be stopped alone, and shares the tree.
func TestServeMembers(t *testing.T) {
	t.Parallel()
	_, servers, port := controlled(t, "--members", "3")
	var st control.Status
	controls(t, "GET", port+"/status", http.StatusOK, &st)
	for i, m := range st.Members {
		if len(servers) != 3 || m.Member != i || m.Address != servers[i] || m.Stopped {
			t.Errorf("member %d of %v is %+v", i, servers, m)
		}
	}
	last := plainClient(t, servers[2])
	if _, err := last.Create("/shared", nil, 0, world); err != nil {
		t.Fatal(err)
	}
	controls(t, "POST", port+"/stop?member=1", http.StatusOK, &st)
	if !st.Members[1].Stopped || st.Members[0].Stopped {
		t.Errorf("after a stop: %+v", st)
	}
	if found, _, err := plainClient(t, servers[0]).Exists("/shared"); err != nil || !found {
		t.Errorf("the first member has the node of the last: %v, %v", found, err)
	}
	if nc, err := net.DialTimeout("tcp", servers[1], proctest.Limit); err == nil {
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Error("a stopped member answers")
		}
		nc.Close()
	}
	if len(st.Faults) != 1 || st.Faults[0].Fault != "stop" || *st.Faults[0].Member != 1 {
		t.Errorf("in force: %+v", st.Faults)
	}
	st = control.Status{} // what is not in the answer would stay
	controls(t, "POST", port+"/start?member=1", http.StatusOK, &st)
	if found, _, err := plainClient(t, servers[1]).Exists("/shared"); err != nil || !found {
		t.Errorf("the member that was started: %v, %v", found, err)
	}
}

// With a fixed port the others follow it.
func TestServeMembersOnFixedPorts(t *testing.T) {
	if got := after(after("[::1]:2181")); got != "[::1]:2183" {
		t.Error(got)
	}
	if got := after("127.0.0.1:0"); got != "127.0.0.1:0" {
		t.Error(got)
	}
}

// Every address of this machine is printed as it was asked for, with the port that was
// taken. A client that connects to what is printed reaches the server.
func TestServeEveryAddress(t *testing.T) {
	t.Parallel()
	p := proctest.Prepare(t, roleCommand, "serve", "--listen", "0.0.0.0:0", "--members", "2", "--control", "0.0.0.0:0").Start()
	p.Out.Await(t, "http://")
	lines := strings.Split(p.Out.String(), "\n")
	if !regexp.MustCompile(`^0\.0\.0\.0:[1-9]\d*,0\.0\.0\.0:[1-9]\d*\nhttp://0\.0\.0\.0:[1-9]\d*\n$`).MatchString(p.Out.String()) {
		t.Fatalf("stdout %q", p.Out.String())
	}
	servers := strings.Split(lines[0], ",")
	plainClient(t, servers[1])
	var st control.Status
	controls(t, "GET", lines[1]+"/status", http.StatusOK, &st)
	if st.Members[0].Address != servers[0] || st.Members[1].Address != servers[1] {
		t.Errorf("%+v, want %v", st.Members, servers)
	}
	if said := p.Err.String(); !strings.Contains(said, "may reach this address") || !strings.Contains(said, "may reach the control port") {
		t.Errorf("stderr %q", said)
	}
	for pair, want := range map[[2]string]string{
		{"[::]:0", "[::]:7"}: "[::]:7", {"127.0.0.1:0", "127.0.0.1:7"}: "127.0.0.1:7", {"localhost:0", "127.0.0.1:7"}: "127.0.0.1:7",
		{"0.0.0.0:2181", "[::]:2181"}: "0.0.0.0:2181", {"[::1]:0", "[::1]:7"}: "[::1]:7",
	} {
		if got := bound(pair[0], pair[1]); got != want {
			t.Errorf("%v: %s", pair, got)
		}
	}
}

// The control port is for this machine and its programs: not for a page that a browser
// shows, and with a warning where others may reach it.
func TestServeControlIsGuarded(t *testing.T) {
	t.Parallel()
	p, _, port := controlled(t, "--control-host", "zk.test")
	if said := p.Err.String(); strings.Contains(said, "other machines") {
		t.Errorf("stderr %q", said)
	}
	u, err := url.Parse(port)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		u.Host: 200, "localhost:" + u.Port(): 200, "zk.test": 200, "evil.example:" + u.Port(): 403, "127.0.0.1.evil.example": 403,
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", port+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("host %s: status %d, want %d", host, answer.StatusCode, want)
		}
	}
	for addr, want := range map[string]bool{"127.0.0.1:2182": false, "0.0.0.0:2182": true} {
		var out, err strings.Builder
		s := &server{stdout: &out, stderr: &err}
		if e := s.announce([]string{"127.0.0.1:2181"}, addr); e != nil || out.String() != "127.0.0.1:2181\nhttp://"+addr+"\n" {
			t.Errorf("%s: %v, stdout %q", addr, e, out.String())
		}
		if got := strings.Contains(err.String(), "other machines may reach the control port"); got != want {
			t.Errorf("%s: stderr %q", addr, err.String())
		}
	}
}

func TestServeControlFlags(t *testing.T) {
	t.Parallel()
	_, addr := serving(t)
	for _, tt := range []refusal{
		{"--control " + addr, exit.Unavailable, "can't listen on " + addr + ": "},
		{"--control 2182", exit.Usage, `--control "2182": want host:port`},
		{"--control :2182", exit.Usage, "0.0.0.0:2182 is every address"},
		{"--control-host zk", exit.Usage, "has no meaning without --control"},
		{"--members 0", exit.Usage, "want 1 to 255"},
		{"--members 256", exit.Usage, "want 1 to 255"},
	} {
		tt.flags = "--listen 127.0.0.1:0 " + tt.flags
		tt.check(t)
	}
}

// The help has each request and each of its parameters.
func TestServeHelpHasEachRequest(t *testing.T) {
	for _, line := range strings.Split(serveLong, "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	for path, takes := range control.Paths() {
		for _, word := range append(takes, path) {
			if !strings.Contains(serveLong, word+"=") && (word[0] != '/' || !strings.Contains(serveLong, word+" ")) {
				t.Errorf("%s is not in the help", word)
			}
		}
	}
}
