//go:build unix

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// serving starts "zksync serve" on a free port, and returns its address.
func serving(t *testing.T, flags ...string) (p *proctest.Process, addr string) {
	t.Helper()
	p = proctest.Prepare(t, roleCommand, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...).Start()
	p.Out.Await(t, "127.0.0.1:")
	return p, strings.TrimSpace(p.Out.String())
}

// plainClient returns go-zookeeper's client with a session on a server.
func plainClient(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	proctest.Eventually(t, "a session", func() bool { // the client gives each server a second, which may be too short here
		_, _, err := c.Exists("/")
		return err == nil
	})
	return c
}

// The server is one for go-zookeeper's client, and for two zksync run that exclude
// each other. A signal ends it while they are connected, and the next one on the port
// knows nothing of it.
func TestServe(t *testing.T) {
	t.Parallel()
	p, addr := serving(t)
	c := plainClient(t, addr)
	if _, err := c.Create("/kept", []byte("no"), 0, world); err != nil {
		t.Fatal(err)
	}
	holding := newRunOn(t, addr, "/locks/one", "--", "sh", "-c", "echo held; "+proctest.Loop).Start()
	holding.Out.Await(t, "held")
	refused := newRunOn(t, addr, "-n", "/locks/one", "--", "true").Start()
	refused.WantCode(exit.Conflict)
	holding.Signal(syscall.SIGTERM)
	holding.WantCode(exit.Signal + int(syscall.SIGTERM))

	p.Signal(syscall.SIGTERM)
	p.WantCode(0)
	if said := p.Err.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, addr+", for tests: it keeps nothing") {
		t.Errorf("stderr %q", said)
	}
	if out := p.Out.String(); out != addr+"\n" {
		t.Errorf("stdout %q, want the address and nothing else", out)
	}
	again := proctest.Prepare(t, roleCommand, "serve", "--listen", addr, "--verbose").Start()
	again.Out.Await(t, addr)
	if found, _, err := plainClient(t, addr).Exists("/kept"); err != nil || found {
		t.Errorf("the next server has the node of the one before: %v, %v", found, err)
	}
	again.Err.Await(t, "op=exists path=/kept")
	again.Signal(syscall.SIGINT)
	again.WantCode(0)
}

// A server whose stdin ends with the test that started it ends, too, and without the
// flag it does not care.
func TestServeUntilEOF(t *testing.T) {
	t.Parallel()
	p := proctest.Prepare(t, roleCommand, "serve", "--listen", "127.0.0.1:0", "--until-eof")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	addr := "127.0.0.1:" + p.Out.Await(t, "127.0.0.1:")
	plainClient(t, addr)
	stdin.Close()
	p.WantCode(0)

	_, addr = serving(t) // its stdin is the null device
	plainClient(t, addr)
}

// The session timeouts are those that the flags set.
func TestServeSessionTimeouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags, asks string
		want        string
	}{
		{"", "100ms", "1s"},
		{"", "2m", "1m0s"},
		{"--tick 20ms", "1ms", "40ms"},
		{"--tick 20ms --max-session-timeout 3s", "1m", "3s"},
	} {
		_, addr := serving(t, strings.Fields(tt.flags)...)
		asks, err := time.ParseDuration(tt.asks)
		if err != nil {
			t.Fatal(err)
		}
		if got := granted(t, addr, asks).String(); got != tt.want {
			t.Errorf("%s: a client that asks for %s gets %s, want %s", tt.flags, tt.asks, got, tt.want)
		}
	}
}

// connectRequest returns the first frame of a client that asks for a session timeout.
func connectRequest(timeout time.Duration) []byte {
	request := make([]byte, 48) // length, version, zxid, timeout, session, password
	binary.BigEndian.PutUint32(request, 44)
	binary.BigEndian.PutUint32(request[16:], uint32(timeout.Milliseconds()))
	binary.BigEndian.PutUint32(request[28:], 16)
	return request
}

// granted returns the session timeout that a server grants.
func granted(t *testing.T, addr string, asks time.Duration) time.Duration {
	t.Helper()
	nc, err := net.DialTimeout("tcp", addr, proctest.Limit)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(proctest.Limit))
	if _, err := nc.Write(connectRequest(asks)); err != nil {
		t.Fatal(err)
	}
	var answer [12]byte
	if _, err := io.ReadFull(nc, answer[:]); err != nil {
		t.Fatal(err)
	}
	return time.Duration(binary.BigEndian.Uint32(answer[8:])) * time.Millisecond
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	_, addr := serving(t)
	for _, tt := range []refusal{
		{"--listen " + addr, exit.Unavailable, "can't listen on " + addr + ": "},
		{"--listen 2181", exit.Usage, "want host:port"},
		{"--listen :2181", exit.Usage, "0.0.0.0:2181 is every address"},
		{"--tick 0", exit.Usage, "want 1ms to 1m"},
		{"--tick 1s --max-session-timeout 1s", exit.Usage, "want two ticks (2s)"},
		{"more", exit.Usage, "takes no arguments"},
	} {
		tt.check(t)
	}
}

// refusal is what "zksync serve" says of flags that it refuses.
type refusal struct {
	flags string
	code  int
	says  string
}

func (r refusal) check(t *testing.T) {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, append([]string{"serve"}, strings.Fields(r.flags)...)...).Start()
	p.WantCode(r.code)
	if said := p.Err.String(); !strings.Contains(said, r.says) || p.Out.String() != "" {
		t.Errorf("%s: stdout %q, stderr %q, want %q", r.flags, p.Out.String(), said, r.says)
	}
}

// An address that others may reach is said to be one.
func TestServeWarnsOfOtherMachines(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:2181": false, "[::1]:2181": false, "[::]:2181": true, "10.1.2.3:2181": true, "[fe80::1%eth0]:2181": true,
	} {
		var out, err strings.Builder
		s := &server{stdout: &out, stderr: &err}
		if e := s.announce([]string{addr}, ""); e != nil || out.String() != addr+"\n" {
			t.Errorf("%s: %v, stdout %q", addr, e, out.String())
		}
		if got := strings.Contains(err.String(), "other machines may reach this address"); got != want {
			t.Errorf("%s: stderr %q", addr, err.String())
		}
	}
}

// kazooScript is a user's test in Python: a lock that is held excludes another client.
const kazooScript = `
import sys
from kazoo.client import KazooClient
one, two = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
one.start(); two.start()
assert one.server_version()[:3] == (3, 8, 0) and one.command(b"ruok") == "imok"
with one.Lock("/locks/python"):
    assert not two.Lock("/locks/python").acquire(blocking=False)
assert two.Lock("/locks/python").acquire(blocking=False)
one.create("/jobs/job-", b"x", ephemeral=True, sequence=True, makepath=True)
print(two.get_children("/jobs"))
one.stop(); two.stop()
`

func TestServeKazoo(t *testing.T) {
	t.Parallel()
	python := kazoo(t)
	_, addr := serving(t)
	out, err := exec.CommandContext(t.Context(), python, "-c", kazooScript, addr).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprintf("['job-%010d']", 0) {
		t.Errorf("%v: %s", err, out)
	}
}
