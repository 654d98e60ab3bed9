//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/schematest"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// onBoth runs a test on an embedded server of its own, and on the real one that all
// tests share.
func onBoth(t *testing.T, f func(t *testing.T, z *site)) {
	t.Helper()
	beside(t)
	t.Run("embedded", func(t *testing.T) {
		beside(t)
		z := embeddedSite()
		t.Cleanup(z.close) // after the test's sessions
		f(t, z)
	})
	t.Run("real", func(t *testing.T) {
		beside(t)
		f(t, zookeeper(t))
	})
}

// command prepares "zksync" with the given command line and the servers of z.
func (z *site) command(t *testing.T, args ...string) *proctest.Process {
	t.Helper()
	return commandOn(t, z.addr, args...)
}

func commandOn(t *testing.T, servers string, args ...string) *proctest.Process {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, args...)
	p.Env = append(p.Env, envServers+"="+servers)
	return p
}

// says runs a command line, which has to end with the code, and returns its output.
func (z *site) says(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	p := z.command(t, args...).Start()
	p.WantCode(code)
	if strings.Contains(p.Err.String(), "goroutine ") {
		t.Errorf("a stack trace: %s", p.Err.String())
	}
	return p.Out.String(), p.Err.String()
}

// dial returns a session of a program, which ends with the test.
func (z *site) dial(t *testing.T, opts ...zksync.DialOption) *zksync.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), proctest.Limit)
	defer cancel()
	s, err := zksync.Dial(ctx, []string{z.addr}, append([]zksync.DialOption{zksync.WithSessionTimeout(20 * time.Second)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inLine waits until n nodes stand in line at a path.
func (z *site) inLine(t *testing.T, s *zksync.Session, lock string, n int) zksync.Queue {
	t.Helper()
	var q zksync.Queue
	proctest.Eventually(t, "nodes in line", func() (ok bool) {
		var err error
		if q, err = s.Inspect(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		return len(q.Nodes) == n
	})
	return q
}

// hold takes a lock, and gives it back at the end of the test.
func hold(t *testing.T, l zksync.Locker) *zksync.Hold {
	t.Helper()
	h, err := l.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wait stands in line for a lock until the test ends or the lock is held. The channel
// gets the result.
func wait(t *testing.T, l zksync.Locker) chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, err := l.Hold(ctx)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return done
}

// document checks a line of JSON against a part of the schema, and decodes it into v.
func document(t *testing.T, part, text string, v any) {
	t.Helper()
	if strings.Count(text, "\n") != 1 {
		t.Errorf("not one line: %q", text)
	}
	schematest.Check(t, "internal/view/schema.json", text, part)
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

// operators are command lines of all commands for operators.
var operators = [][]string{
	{"ls"}, {"ls", "/x"}, {"show", "/x"}, {"revoke", "/x"}, {"break", "--yes", "/x"}, {"deadlocks"},
}

func TestOperatorsExitCodes(t *testing.T) {
	beside(t)
	for _, args := range operators {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			beside(t)
			p := commandOn(t, "127.0.0.1:1", append(args, "--connect-timeout", "0.3")...).Start()
			p.WantCode(exit.Unavailable)
			p.Err.Await(t, "zksync: dial: ")

			p = commandOn(t, "127.0.0.1:1", append(args, "--timeout", "0.3")...).Start()
			p.WantCode(exit.Unavailable)
			p.Err.Await(t, "zksync: not done within 300ms (--timeout)")

			p = commandOn(t, "", args...).Start()
			p.WantCode(exit.Usage)
			p.Err.Await(t, "zksync: no ZooKeeper servers")
		})
	}
}

// While no connection comes, a command says so in its own words.
func TestOperatorsWait(t *testing.T) {
	beside(t)
	p := commandOn(t, "127.0.0.1:1", "ls", "--connect-timeout", "60").Start() // how it ends is TestOperatorsExitCodes'
	p.Err.Await(t, "zksync: no connection to ZooKeeper yet, after ")
	if err := p.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-p.Done
	if strings.Contains(p.Err.String(), "WARN") {
		t.Errorf("stderr %q", p.Err.String())
	}
}

// A server that goes away ends a command that is under way.
func TestOperatorsLoseTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		for _, cut := range []func(*ensemble.Proxy){
			func(p *ensemble.Proxy) { p.Refuse(); p.DisconnectAll() },
			func(p *ensemble.Proxy) { p.Blackhole() },
		} {
			proxy, err := ensemble.NewProxy(z.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			p := commandOn(t, proxy.Addr(), "ls", "--watch", "--interval", "0.1", "--connect-timeout", "5", lockPath(t)).Start()
			p.Out.Await(t, "WAITERS")
			cut(proxy)
			p.WantCode(exit.Unavailable)
			p.Err.Await(t, "zksync: contact with ZooKeeper was lost, and did not come back within 5s (--connect-timeout)")
			if strings.Contains(p.Err.String(), "goroutine") {
				t.Error("a stack trace")
			}
		}
	})
}

// A reader that has seen enough ends a command, without a word.
func TestOperatorsBrokenPipe(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := z.command(t, "ls", "--watch", "--interval", "0.1", lockPath(t))
		p.Stdout = w
		p.Start()
		w.Close()
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		p.WantCode(exit.Signal + 13) // SIGPIPE
		if said := p.Err.String(); said != "" {
			t.Errorf("stderr %q", said)
		}
	})
}

// An output that takes nothing is an error.
func TestOperatorsFullDisk(t *testing.T) {
	onBoth(t, func(t *testing.T, z *site) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err) // there is none on this system
		}
		defer full.Close()
		lock := lockPath(t)
		hold(t, zksync.NewMutex(z.dial(t), lock))
		for _, args := range [][]string{{"ls", lock}, {"show", lock}, {"ls", "-o", "json", lock}, {"version"}} {
			p := z.command(t, args...)
			p.Stdout = full
			p.Start().WantCode(exit.OS)
			p.Err.Await(t, "no space left")
		}
	})
}

// interrupt is what Ctrl-C sends.
const interrupt = syscall.SIGINT
