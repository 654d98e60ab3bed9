//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestScripts runs the scripts in testdata/script, each on an embedded server of its own
// and on the shared server, which is a real one where there is ZooKeeper. The language is
// that of package testscript. A script finds besides:
//
//	$ZKSYNC_SERVERS   the server, with a chroot that is the script's own
//	$SERVER           the server without the chroot
//	$LOOP             a shell command that waits for signals
//	[embedded]        the condition that this is the embedded server
//	[long]            the condition that this is the long form of the tests
//
//	zksync ARG...         runs the command; "zksync ... &name&" in the background
//	code N PROGRAM ARG... runs a program, whose exit code must be N
//	await FILE TEXT       waits until a file contains a text
//	until COMMAND N       runs a shell command again and again until its exit code is N
//	network down          closes all connections with the server, and refuses new ones
//	network silent        holds back all that is sent
//	network up            ends both
//
// The chroot is the reason why the nodes that ZooKeeper knows have one more element in
// front: names of nodes in messages do not show it, ZKSYNC_NODE does.
func TestScripts(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		beside(t)
		testscript.Run(t, scripts(t, embeddedFor, "embedded"))
	})
	t.Run("shared", func(t *testing.T) {
		beside(t)
		testscript.Run(t, scripts(t, func(*testscript.Env) string { return zookeeper(t).addr }, "shared"))
	})
}

// scripts returns how to run the scripts on the server that server returns the address of.
func scripts(t *testing.T, server func(*testscript.Env) string, ground string) testscript.Params {
	return testscript.Params{
		Dir:                filepath.Join("testdata", "script"),
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(4 * proctest.Limit), // a script that hangs is shown
		Setup: func(e *testscript.Env) error {
			proxy, err := ensemble.NewProxy(server(e))
			if err != nil {
				return err
			}
			e.Defer(proxy.Close)
			root, err := makeRoot(proxy.Addr(), filepath.Base(e.WorkDir))
			if err != nil {
				return err
			}
			e.Values[proxyKey{}] = proxy
			e.Setenv("SERVER", proxy.Addr())
			e.Setenv(envServers, proxy.Addr()+root)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would wait for a second at the end
			e.Setenv("LOOP", proctest.Loop)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "embedded":
				return cond == ground, nil
			case "long":
				return isLong(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": scriptCode, "await": scriptAwait, "until": scriptUntil, "network": scriptNetwork,
		},
	}
}

// proxyKey is the key of a script's proxy among its values.
type proxyKey struct{}

// embeddedFor starts a server for one script.
func embeddedFor(e *testscript.Env) string {
	s := zktest.New(zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))
	e.Defer(s.Close)
	return s.Addr()
}

// makeRoot makes the node below which a script works. Scripts that share a server do
// not meet.
func makeRoot(addr, name string) (root string, err error) {
	c, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		return "", err
	}
	defer func() {
		c.Close()
		for range events {
		}
	}()
	root = "/" + name
	if _, err := c.Create(root, nil, 0, world); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return "", err
	}
	return root, nil
}

// scriptCode is the command "code": it runs a program and checks its exit code.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code NUMBER PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitOf(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// exitOf runs a program and returns its exit code.
func exitOf(ts *testscript.TestScript, argv []string) int {
	err := ts.Exec(argv[0], argv[1:]...)
	if why := (*exec.ExitError)(nil); errors.As(err, &why) {
		return why.ExitCode()
	}
	ts.Check(err)
	return 0
}

// scriptUntil is the command "until": it runs a shell command until it has an exit code.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until COMMAND NUMBER")
	}
	for end := time.Now().Add(proctest.Limit); strconv.Itoa(exitOf(ts, []string{"sh", "-c", args[0]})) != args[1]; {
		if time.Now().After(end) {
			ts.Fatalf("waited %v for the exit code %s", proctest.Limit, args[1])
		}
	}
}

// scriptAwait is the command "await": it waits until a file contains a text.
func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	var text []byte
	for end := time.Now().Add(proctest.Limit); !strings.Contains(string(text), args[1]); {
		if time.Now().After(end) {
			ts.Fatalf("waited %v for %q in %s:\n%s", proctest.Limit, args[1], args[0], text)
		}
		time.Sleep(10 * time.Millisecond)
		text, _ = os.ReadFile(ts.MkAbs(args[0])) // it may come later
	}
}

// scriptNetwork is the command "network": it breaks and mends the way to the server.
func scriptNetwork(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(proxyKey{}).(*ensemble.Proxy)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: network down|silent|up")
	}
	switch args[0] {
	case "down":
		p.Refuse()
		p.DisconnectAll()
	case "silent":
		p.Blackhole()
	case "up":
		p.Heal()
		p.Accept()
	default:
		ts.Fatalf("usage: network down|silent|up")
	}
}
