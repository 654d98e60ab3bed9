package zktest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// peerPatience bounds what a peer is asked for, on a machine that is busy.
const peerPatience = 90 * time.Second

// peer is a program of testdata in a process of its own.
type peer struct {
	in    io.Writer
	lines chan string // its output, closed at its end
	errs  *bytes.Buffer
}

// startPeer starts a program, and ends it with the test.
func startPeer(t *testing.T, command string, args ...string) *peer {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, command, args...)
	p := &peer{lines: make(chan string, 100), errs: new(bytes.Buffer)}
	cmd.Stderr = p.errs
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p.in = in
	t.Cleanup(func() {
		cancel()
		for range p.lines {
		}
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			text := p.errs.String()
			t.Logf("end of what a peer says on its standard error:\n%s", text[max(0, len(text)-2000):])
		}
	})
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p
}

func (p *peer) tell(t *testing.T, command string) {
	t.Helper()
	_, err := fmt.Fprintln(p.in, command)
	must(t, err)
}

// await returns the next line, which has to begin as it should.
func (p *peer) await(t *testing.T, prefix string) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok || !strings.HasPrefix(line, prefix) {
			t.Fatalf("a peer says %q, want %q", line, prefix)
		}
		return line
	case <-time.After(peerPatience):
		t.Fatalf("no %q from a peer in %v", prefix, peerPatience)
	}
	return ""
}

// runPeers has three processes of a program work with locks, on an embedded
// server and on a real one. At expire they have the lock whose holder's session
// ends.
func runPeers(t *testing.T, expire, command string, args ...string) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		s := zktest.Run(t, zktest.WithSessionLimits(time.Second, time.Minute))
		withPeers(t, s.Addr(), expire, command, args, func(id int64) error {
			if !s.Expire(id) {
				return fmt.Errorf("no session %#x", id)
			}
			return nil
		})
	})
	t.Run("real", func(t *testing.T) {
		e := ensemble.Run(t, 1)
		keepAwake(t, dialTCP(e.Addr(0)))
		withPeers(t, e.Addr(0), expire, command, args, e.Expire)
	})
}

func withPeers(t *testing.T, addr, expire, command string, args []string, end func(session int64) error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "held")
	peers := make([]*peer, 3)
	for i := range peers {
		peers[i] = startPeer(t, command, append(args[:len(args):len(args)], addr, file)...)
	}
	for _, p := range peers {
		p.await(t, "ready")
	}
	for _, p := range peers {
		p.tell(t, "crowd")
	}
	for _, p := range peers {
		p.await(t, "ok crowd")
	}
	checkHeld(t, file)
	peers[0].tell(t, "rules")
	peers[0].await(t, "ok rules")

	// The session of one that holds is ended from outside: it gets an event, and the
	// next one holds, not earlier.
	conn, _ := connect(t, 10*time.Second, addr)
	peers[1].tell(t, "hold")
	var id int64
	if _, err := fmt.Sscanf(peers[1].await(t, "holding "), "holding %d", &id); err != nil {
		t.Fatal(err)
	}
	peers[2].tell(t, "next")
	eventually(t, "two stand in line", peerPatience, func() bool {
		list, _, err := conn.Children(expire)
		must(t, err)
		return len(list) == 2
	})
	select {
	case line := <-peers[2].lines:
		t.Fatalf("while another one holds, a peer says %q", line)
	case <-time.After(100 * time.Millisecond):
	}
	must(t, end(id))
	peers[2].await(t, "ok next")
	peers[1].await(t, "ok hold")
}

// checkHeld replays who held what, line by line.
func checkHeld(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	now, total, most := map[string]int{}, map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		verb, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if verb == "end" {
			now[kind]--
			continue
		}
		now[kind]++
		total[kind]++
		most[kind] = max(most[kind], now[kind])
		if now["lock"] > 1 || now["write"] > 1 || now["write"] == 1 && now["read"] > 0 || now["semaphore"] > 2 {
			t.Fatalf("held at the same time: %v", now)
		}
	}
	// Three processes, two clients each, ten times.
	want := map[string]int{"lock": 60, "write": 30, "read": 30, "semaphore": 60}
	for kind, n := range want {
		if total[kind] != n || now[kind] != 0 {
			t.Errorf("%s: held %d times, want %d; %d without an end", kind, total[kind], n, now[kind])
		}
	}
	t.Logf("held %v, at the same time at most %v", total, most)
}
