package ensemble_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestEnsembleStartsAndLeavesNothing(t *testing.T) {
	suite.Long(t)
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("servers=%d", n), func(t *testing.T) {
			needZooKeeper(t)
			dir := t.TempDir()
			start := time.Now()
			e, err := ensemble.New(dir, n)
			must(t, err)
			defer e.Close()
			up := time.Since(start)
			if len(e.Addrs()) != n || e.Addr(0) != e.Addrs()[0] || len(e.Pids()) != n {
				t.Errorf("servers %v, processes %v, want %d", e.Addrs(), e.Pids(), n)
			}
			if e.Leader() < 0 {
				t.Error("no leader")
			}
			if up > 15*time.Second {
				t.Errorf("took %v to start", up)
			}
			pids := e.Pids()
			start = time.Now()
			must(t, e.Close())
			t.Logf("%d servers: started in %v, closed in %v", n, up, time.Since(start))
			must(t, e.Close()) // once more does nothing
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d is still there", pid)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			for _, addr := range e.Addrs() {
				l, err := net.Listen("tcp", addr)
				if err != nil {
					t.Errorf("port still taken: %v", err)
					continue
				}
				l.Close()
			}
			if err := e.Start(0); !errors.Is(err, ensemble.ErrClosed) {
				t.Errorf("Start after Close: %v", err)
			}
			if _, err := e.FourLetter(0, "ruok"); err == nil {
				t.Error("FourLetter after Close: no error")
			}
		})
	}
}

func TestEnsembleSizes(t *testing.T) {
	for _, n := range []int{-1, 0, 2, 4} {
		if e, err := ensemble.New(t.TempDir(), n); err == nil {
			e.Close()
			t.Errorf("ensemble of %d: no error", n)
		}
	}
}

// Session timeouts between one second and one minute are granted as asked for.
func TestEnsembleSessionTimeouts(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 1)
	for _, timeout := range []time.Duration{time.Second, 20 * time.Second, time.Minute} {
		conn, _ := connect(t, timeout, e.Addr(0))
		list, err := e.Connections(0)
		must(t, err)
		granted := ""
		for _, c := range list {
			if c.Session == conn.SessionID() {
				granted = c.Fields["to"]
			}
		}
		if want := fmt.Sprint(timeout.Milliseconds()); granted != want {
			t.Errorf("asked for %v: granted %q ms, want %s (%v)", timeout, granted, want, list)
		}
	}
}

func TestEnsembleOptions(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 1,
		ensemble.WithTick(400*time.Millisecond),
		ensemble.WithConfig(map[string]string{"maxSessionTimeout": "12345", "maxClientCnxns": "77", "forceSync": "yes"}),
		ensemble.WithSuperDigest("super:xQJmxLMiHGwaqBvst5y6rkB6HQs="),
		ensemble.WithReapInterval(50*time.Millisecond))
	conf, err := e.FourLetter(0, "conf")
	must(t, err)
	envi, err := e.FourLetter(0, "envi")
	must(t, err)
	for _, want := range []string{"tickTime=400\n", "maxClientCnxns=77\n", "maxSessionTimeout=12345\n"} {
		if !strings.Contains(conf, want) {
			t.Errorf("conf has no %q:\n%s", want, conf)
		}
	}
	if !strings.Contains(envi, "java.version") {
		t.Errorf("answer to envi: %q", envi)
	}
	conn, _ := connect(t, 5*time.Second, e.Addr(0))
	// The super user gets in where nobody may.
	must(t, conn.AddAuth("digest", []byte("super:admin")))
	if _, err := conn.Create("/closed", nil, 0, nil); err == nil {
		t.Error("create with an empty ACL: no error")
	}
	if _, err := conn.CreateContainer("/box", nil, 4, worldACL); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CreateTTL("/brief", nil, 5, worldACL, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	create(t, conn, "/box/a", 0)
	must(t, conn.Delete("/box/a", -1))
	eventually(t, "container and TTL node removed", 5*time.Second, func() bool {
		return !exists(t, conn, "/box") && !exists(t, conn, "/brief")
	})
}

func TestEnsembleBadIndex(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 1)
	for name, call := range map[string]func(int) error{
		"Start": e.Start, "Stop": e.Stop, "Kill": e.Kill, "Restart": e.Restart,
		"Pause": e.Pause, "Resume": e.Resume, "Cut": e.Cut, "Heal": e.Heal,
		"FourLetter": func(i int) error { _, err := e.FourLetter(i, "ruok"); return err },
	} {
		for _, i := range []int{-1, 1} {
			if call(i) == nil {
				t.Errorf("%s(%d): no error", name, i)
			}
		}
	}
}

// A port that somebody takes between the look at it and the server's start
// costs another try, no more.
func TestEnsemblePortTaken(t *testing.T) {
	suite.Long(t)
	needZooKeeper(t)
	for place := range 3 { // for clients, for followers, for elections
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		calls := 0
		e, err := ensemble.New(t.TempDir(), 1, ensemble.WithPorts(func(usual func() (int, error)) (int, error) {
			calls++
			if calls == place+1 {
				return l.Addr().(*net.TCPAddr).Port, nil
			}
			return usual()
		}))
		if err != nil {
			t.Fatalf("port %d taken: %v", place, err)
		}
		if calls != 6 {
			t.Errorf("port %d taken: %d ports picked, want 3 and 3 more", place, calls)
		}
		must(t, e.Close())
	}
}

// A server that can't start says why.
func TestEnsembleStartError(t *testing.T) {
	needZooKeeper(t)
	dir := t.TempDir()
	e, err := ensemble.New(dir, 1, ensemble.WithConfig(map[string]string{"tickTime": "soon"}))
	if err == nil {
		e.Close()
		t.Fatal("no error")
	}
	if !strings.Contains(err.Error(), "soon") {
		t.Errorf("error without the reason: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
