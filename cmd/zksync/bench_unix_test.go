//go:build unix

package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/bench"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// onEmbedded returns a client of an embedded server, the test's own, and its address.
func onEmbedded(t *testing.T, opts ...zktest.Option) (c *zk.Conn, addr string) {
	t.Helper()
	srv := zktest.Run(t, append(opts, zktest.WithTick(tick), zktest.WithSessionLimits(tick, time.Minute))...)
	c, events, err := zk.Connect([]string{srv.Addr()}, 10*time.Second, zk.WithLogger(mute{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events {
		}
	})
	return c, srv.Addr()
}

// parent makes a node for the measurement of a test.
func parent(t *testing.T, c *zk.Conn, acl []zk.ACL) string {
	t.Helper()
	p := "/" + strings.ReplaceAll(t.Name(), "/", "-")
	if _, err := c.Create(p, nil, 0, acl); err != nil {
		t.Fatal(err)
	}
	return p
}

// wantEmpty checks that nothing is left below a node.
func wantEmpty(t *testing.T, c *zk.Conn, p string) {
	t.Helper()
	if left, _, err := c.Children(p); err != nil || len(left) > 0 {
		t.Errorf("left below %s: %v, %v", p, left, err)
	}
}

func newBenchOn(t *testing.T, servers string, args ...string) *proctest.Process {
	t.Helper()
	p := proctest.Prepare(t, roleCommand, append([]string{"bench"}, args...)...)
	p.Env = append(p.Env, envServers+"="+servers)
	return p
}

// grounds runs a test on the embedded server, and on the shared one, which is a real
// one where there is ZooKeeper.
func grounds(t *testing.T, f func(t *testing.T, c *zk.Conn, addr string)) {
	t.Run("embedded", func(t *testing.T) {
		beside(t)
		c, addr := onEmbedded(t)
		f(t, c, addr)
	})
	t.Run("shared", func(t *testing.T) {
		beside(t)
		f(t, client(t), zookeeper(t).addr)
	})
}

var world = zk.WorldACL(zk.PermAll)

func TestBenchTable(t *testing.T) {
	grounds(t, func(t *testing.T, c *zk.Conn, addr string) {
		p := parent(t, c, world)
		b := newBenchOn(t, addr, "--path", p, "--duration", "0.5", "--sessions", "2", "--goroutines", "3").Start()
		b.WantCode(0)
		for _, want := range []string{
			"a free lock, one goroutine\n", "\n3 goroutines of one session on one lock\n", "\n2 sessions on one lock\n",
			"\n2 sessions of 3 goroutines on one lock\n", "cycles/s", " zksync Hold ", " create+delete ", " zk.Lock ", " 3.00 ", " 2.00 ",
		} {
			if !strings.Contains(b.Out.String(), want) {
				t.Errorf("nothing says %q", want)
			}
		}
		if said := b.Err.String(); said != "" {
			t.Errorf("stderr %q", said)
		}
		wantEmpty(t, c, p)
	})
}

func TestBenchJSON(t *testing.T) {
	grounds(t, func(t *testing.T, c *zk.Conn, addr string) {
		p := parent(t, c, world)
		b := newBenchOn(t, addr+p, "--duration", "300ms", "--sessions", "3", "--goroutines", "2", "--json").Start()
		b.WantCode(0)
		var r struct {
			Version   int
			Path      string
			Servers   []string
			Workloads []struct {
				Name  string
				Locks []struct {
					Name     string
					Cycles   int64
					Rate     float64 `json:"cycles_per_second"`
					Ratio    float64
					Requests float64            `json:"requests_per_cycle"`
					Acquire  map[string]float64 `json:"acquire_seconds"`
					Pass     map[string]float64 `json:"pass_seconds"`
					Fairness map[string]float64
				}
			}
		}
		if err := json.Unmarshal([]byte(b.Out.String()), &r); err != nil {
			t.Fatal(err)
		}
		if r.Version != 1 || !strings.HasPrefix(r.Path, p+"/zksync-bench-") || len(r.Servers) != 1 || len(r.Workloads) != 4 {
			t.Fatalf("%+v", r)
		}
		for _, w := range r.Workloads {
			for _, l := range w.Locks {
				shared := w.Name == "sessions" || w.Name == "crowd"
				if l.Cycles == 0 || l.Rate <= 0 || l.Ratio <= 0 || l.Acquire["max"] < l.Acquire["p99"] || l.Acquire["p50"] <= 0 ||
					l.Name == "zk.Lock" && (l.Ratio != 1 || l.Requests < 3) || shared && l.Fairness["jain"] < 0.3 ||
					w.Name == "free" && (l.Pass != nil || l.Fairness != nil) {
					t.Errorf("%s: %+v", w.Name, l)
				}
			}
		}
		wantEmpty(t, c, p)
	})
}

// The help documents each field of the JSON.
func TestBenchHelpNamesTheFields(t *testing.T) {
	var names func(typ reflect.Type) []string
	names = func(typ reflect.Type) (all []string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return nil
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			all = append(append(all, name), names(typ.Field(i).Type)...)
		}
		return all
	}
	_, fields, _ := strings.Cut(bench.Help, "With --json")
	all := names(reflect.TypeFor[bench.Report]())
	if len(all) < 20 {
		t.Fatalf("only %v", all)
	}
	for _, name := range all {
		if !strings.Contains(fields, name) {
			t.Errorf("the help says nothing of the field %q", name)
		}
	}
	for line := range strings.Lines(bench.Help) {
		if len(line) > 81 {
			t.Errorf("a line of more than 80 columns: %q", line)
		}
	}
}

func TestBenchUsage(t *testing.T) {
	beside(t)
	for _, args := range []string{
		"x", "--sessions 0", "--sessions 101", "--goroutines 0", "--goroutines 1001", "--duration 1ms", "--duration 2h", "--path x",
		"--path /x/", "--path //x", "--servers host:port", "--session-timeout 1ms", "--tls-cert x",
	} {
		b := newBenchOn(t, "127.0.0.1:1", strings.Fields(args)...).Start()
		b.WantCode(exit.Usage)
		if said := b.Err.String(); !strings.HasPrefix(said, "zksync: ") || !strings.HasSuffix(said, "Try 'zksync bench --help'.\n") {
			t.Errorf("%s: stderr %q", args, said)
		}
	}
}

func TestBenchOutOfReach(t *testing.T) {
	beside(t)
	b := newBenchOn(t, "127.0.0.1:1", "--connect-timeout", "300ms").Start()
	b.WantCode(exit.Unavailable)
	_, addr := onEmbedded(t)
	b = newBenchOn(t, addr, "--path", "/missing").Start()
	b.WantCode(exit.Unavailable)
	b.Err.Await(t, "there is no node /missing")
	// A server that is down is left out.
	newBenchOn(t, "127.0.0.1:1,"+addr, "--duration", "100ms", "--goroutines", "1").Start().WantCode(0)
}

func TestBenchWithoutPermission(t *testing.T) {
	beside(t)
	c, addr := onEmbedded(t)
	p := parent(t, c, zk.DigestACL(zk.PermAll, "alice", "secret"))
	b := newBenchOn(t, addr, "--path", p, "--duration", "0.2").Start()
	b.WantCode(exit.NoPermission)
	b.Err.Await(t, "zksync: no permission to create, list or delete nodes below "+p+" (without credentials: see --auth-file)")
	b = newBenchOn(t, addr, "--path", p, "--duration", "0.2")
	b.Env = append(b.Env, envAuth+"=digest:alice:secret")
	b.Start().WantCode(0)
	if err := c.AddAuth("digest", []byte("alice:secret")); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, c, p)
}

func TestBenchTLS(t *testing.T) {
	long(t)
	dir := t.TempDir()
	ca := newPair(t, dir, "authority", nil)
	c, addr := onEmbedded(t)
	// The name in the certificate is the one that the servers are given by.
	front := tlsFront(t, newPair(t, dir, "localhost", ca), ca, addr)
	us := newPair(t, dir, "client", ca)
	p := parent(t, c, world)
	b := newBenchOn(t, "localhost"+front[strings.LastIndex(front, ":"):], "--path", p, "--duration", "0.3",
		"--tls-ca", ca.certFile, "--tls-cert", us.certFile, "--tls-key", us.keyFile).Start()
	b.WantCode(0)
	if !strings.Contains(b.Out.String(), " 3.00 ") {
		t.Error("no requests counted")
	}
	wantEmpty(t, c, p)
}

func TestBenchOutputThatFails(t *testing.T) {
	beside(t)
	c, addr := onEmbedded(t)
	p := parent(t, c, world)
	b := newBenchOn(t, addr, "--path", p, "--duration", "100ms", "--sessions", "1", "--goroutines", "1")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	b.Stdout = writer
	b.Start()
	writer.Close()
	b.WantCode(exit.OS)
	b.Err.Await(t, "broken pipe")
	wantEmpty(t, c, p)
}
