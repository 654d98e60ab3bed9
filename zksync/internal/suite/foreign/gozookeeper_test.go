//go:build unix

package foreign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// edits are what a copy of go-zookeeper's tests needs to start servers. The tests choose
// ports at random, which would collide, and their parser of the word "srvr" knows the
// date of releases before 3.6 only.
var edits = []struct{ from, to string }{
	{"startPort := int(rand.Int31n(6000) + 10000)\n\tcluster", "startPort := int(rand.Int31n(1)) + givenPort()\n\tcluster"},
	{"_, ok := FLWSrvr(serverAddrs, time.Second)", "ok := serve(serverAddrs)"},
}

// given is what the edits call.
const given = `package zk

import (
	"os"
	"strconv"
	"time"
)

func givenPort() int {
	port, err := strconv.Atoi(os.Getenv("ZKSYNC_FOREIGN_PORT"))
	if err != nil {
		panic(err)
	}
	return port
}

// serve reports whether each server has begun a session.
func serve(addrs []string) bool {
	for _, addr := range addrs {
		conn, events, err := Connect([]string{addr}, 10*time.Second, WithLogInfo(false))
		if err != nil {
			return false
		}
		ok := false
		for limit := time.After(time.Minute); !ok; {
			select {
			case ev := <-events:
				ok = ev.State == StateHasSession
			case <-limit:
				conn.Close()
				return false
			}
		}
		conn.Close()
	}
	return true
}
`

// portsOfOne is how many ports a test of go-zookeeper needs: three a server.
const portsOfOne = 9

// TestGoZookeeper runs the tests of go-zookeeper that need servers.
func TestGoZookeeper(t *testing.T) {
	in := needReal(t)
	binary, names := buildGoZookeeper(t)
	if len(names) < 28 {
		t.Fatalf("%d tests of go-zookeeper, want 28 or more: %v", len(names), names)
	}
	names = matching(t, names)
	known := listed(t, "go-zookeeper")
	results := map[string]outcomes{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, kind := range chosen() {
		s := serversOf(t, kind, in, 0)
		results[kind] = make(outcomes)
		work := make(chan string, len(names))
		for _, name := range names {
			work <- name
		}
		close(work)
		for range 3 { // they wait more than they work
			wg.Go(func() {
				for name := range work {
					tries := tries
					if known[name].failsOn(kind) {
						tries = 1
					}
					o := runGoZookeeper(t, s, binary, name, tries)
					mu.Lock()
					results[kind][name] = o
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	compare(t, "go-zookeeper", results)
}

// buildGoZookeeper copies go-zookeeper from the module cache, and builds its tests. It
// returns the binary and the names of the tests.
func buildGoZookeeper(t *testing.T) (binary string, names []string) {
	t.Helper()
	out, err := command(t, nil, "", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-zookeeper/zk").Output()
	suite.Must(t, err)
	dir := filepath.Join(t.TempDir(), "zk")
	suite.Must(t, os.MkdirAll(dir, 0o755))
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*"))
	suite.Must(t, err)
	found := make([]int, len(edits))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a directory
		}
		for i, e := range edits {
			found[i] += bytes.Count(text, []byte(e.from))
			text = bytes.ReplaceAll(text, []byte(e.from), []byte(e.to))
		}
		suite.Must(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644))
	}
	for i, n := range found {
		if n != 1 {
			t.Fatalf("%q is in the tests of go-zookeeper %d times", edits[i].from, n)
		}
	}
	suite.Must(t, os.WriteFile(filepath.Join(dir, "given_test.go"), []byte(given), 0o644))
	binary = filepath.Join(dir, "zk.test")
	// The caller's flags are for this repository.
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := command(t, env, dir, "go", "test", "-c", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err = command(t, nil, dir, binary, "-test.list", "^TestIntegration_").Output()
	suite.Must(t, err)
	return binary, strings.Fields(string(out))
}

var goVerdict = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// tries is how often a test may fail before that counts: the suites were written for an
// idle machine, and for a network that has taken some of their own waiting.
const tries = 3

// runGoZookeeper runs one test of go-zookeeper.
func runGoZookeeper(t *testing.T, s servers, binary, name string, tries int) outcome {
	var o outcome
	for range tries {
		if o = tryGoZookeeper(t, s, binary, name); o.passed || o.skipped {
			return o
		}
		t.Logf("%s fails\n%s", name, indent(o.said))
	}
	return o
}

func tryGoZookeeper(t *testing.T, s servers, binary, name string) outcome {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$", "-test.v", "-test.timeout", "2m")
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = filepath.Dir(binary), suite.DieWithParent(), 10*time.Second
	cmd.Env = append(s.env[:len(s.env):len(s.env)], "ZK_VERSION=3.8.0",
		"ZKSYNC_FOREIGN_PORT="+strconv.Itoa(takePorts(t, portsOfOne)))
	start := time.Now()
	out, err := cmd.CombinedOutput()
	o := outcome{took: time.Since(start), said: fmt.Sprintf("%s\n%v", out, err)}
	for _, m := range goVerdict.FindAllStringSubmatch(string(out), -1) {
		if m[2] == name {
			o.passed, o.skipped = m[1] == "PASS" && err == nil, m[1] == "SKIP"
		}
	}
	return o
}
