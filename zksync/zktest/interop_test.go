//go:build zkcompare

package zktest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// missing skips a test that has no peer to run with, or fails it, as RealEnsemble
// does.
func missing(t *testing.T, what, pkg string) {
	t.Helper()
	if os.Getenv("ZKSYNC_REAL") == "required" {
		t.Fatalf("no %s on this machine: install %s", what, pkg)
	}
	t.Skipf("SKIPPED, NOT TESTED WITH %s: not on this machine; install %s (ZKSYNC_REAL=required makes this a failure)", what, pkg)
}

// runPeer runs a program of testdata, which works with locks, and checks what it
// says that it has held.
func runPeer(t *testing.T, command string, args ...string) {
	t.Helper()
	s := zktest.Run(t, zktest.WithSessionLimits(time.Second, time.Minute))
	file := filepath.Join(t.TempDir(), "held")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, append(args, s.Addr(), file)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	expired := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var id int64
		if n, _ := fmt.Sscanf(lines.Text(), "holding %d", &id); n == 1 {
			// The next one stands in line by then, or comes to a lock that is free.
			expired = s.Expire(id)
			if !expired {
				t.Errorf("no session %#x to expire", id)
			}
		} else {
			t.Log(lines.Text())
		}
	}
	if err := cmd.Wait(); err != nil {
		text := errs.String()
		t.Fatalf("%v\n%s", err, text[max(0, len(text)-3000):])
	}
	if !expired {
		t.Error("the program has not come to the session that expires")
	}
	checkHeld(t, file)
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
	want := map[string]int{"lock": 45, "write": 30, "read": 30, "semaphore": 60}
	for kind, n := range want {
		if total[kind] != n || now[kind] != 0 {
			t.Errorf("%s: held %d times, want %d; %d without an end", kind, total[kind], n, now[kind])
		}
	}
	t.Logf("held %v, at the same time at most %v", total, most)
}

// TestServerWithKazoo runs Python's client on the embedded server.
func TestServerWithKazoo(t *testing.T) {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import kazoo").Run() == nil {
			runPeer(t, python, filepath.Join("testdata", "kazoo_locks.py"))
			return
		}
	}
	missing(t, "kazoo", "python3-kazoo")
}

// TestServerWithCurator runs Java's locks on the embedded server.
func TestServerWithCurator(t *testing.T) {
	in, err := zktest.FindZooKeeper()
	if err != nil {
		missing(t, "Curator", "libcurator-recipes-java and zookeeper")
	}
	const dir = "/usr/share/java"
	jars, err := filepath.Glob(filepath.Join(dir, "curator-*.jar"))
	must(t, err)
	if len(jars) == 0 {
		missing(t, "Curator", "libcurator-recipes-java")
	}
	jars = append(jars, in.ClassPath...)
	for _, name := range []string{"guava", "failureaccess", "slf4j-api", "zookeeper-jute"} {
		jars = append(jars, filepath.Join(dir, name+".jar"))
	}
	runPeer(t, in.Java, "-cp", strings.Join(jars, ":"), filepath.Join("testdata", "CuratorLocks.java"))
}
