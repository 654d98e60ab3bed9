package javazk

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestServersComeAndGo(t *testing.T) {
	e := startFake(t, 3)
	if e.Leader() != 0 || len(e.Pids()) != 3 || e.Size() != 3 || len(e.Servers()) != 3 || e.Server(1) != e.Servers()[1] {
		t.Fatalf("leader %d, processes %v, servers %v", e.Leader(), e.Pids(), e.Servers())
	}
	for name, end := range map[string]func(int) error{"Kill": e.Kill, "Stop": e.Stop} {
		must(t, end(2))
		must(t, end(2)) // down already
		if len(e.Pids()) != 2 {
			t.Errorf("%s: processes %v", name, e.Pids())
		}
		if _, err := e.FourLetter(2, "ruok"); err == nil || !strings.Contains(err.Error(), "does not run") {
			t.Errorf("%s: a word to a dead server: %v", name, err)
		}
		if e.Pause(2) == nil || e.Resume(2) == nil {
			t.Errorf("%s: a dead server was paused or resumed", name)
		}
		must(t, e.WaitServing(time.Second)) // two of three are a quorum
		must(t, e.Start(2))
		must(t, e.Start(2)) // up already
	}
	before := e.Pids()
	must(t, e.Restart(1))
	if now := e.Pids(); len(now) != 3 || now[1] == before[1] {
		t.Errorf("Restart: processes %v, before %v", now, before)
	}
	if !strings.Contains(e.Tail(1, 1), "serves now") {
		t.Errorf("end of the log: %q", e.Tail(1, 1))
	}
	for _, i := range []int{-1, 3} {
		if e.Start(i) == nil || e.Kill(i) == nil {
			t.Errorf("server %d was started or killed", i)
		}
		if _, err := e.FourLetter(i, "ruok"); err == nil {
			t.Errorf("server %d answered", i)
		}
	}
	must(t, e.Close())
	if err := e.Start(0); !errors.Is(err, ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	if _, err := os.Stat(e.Dir()); !os.IsNotExist(err) {
		t.Errorf("files after Close: %v", err)
	}
}

// Two servers may say that they lead; the one of the later epoch does, if it has
// a quorum and is neither paused nor cut.
func TestLeaderIsTheLatest(t *testing.T) {
	e := startFake(t, 3)
	answers(t, e, 1, "srvr", srvr("leader", 2))
	if leader, err := e.WaitLeader(time.Second); leader != 1 || err != nil {
		t.Errorf("leader %d, %v, want 1", leader, err)
	}
	must(t, e.Cut(1))
	if e.Leader() != 0 {
		t.Errorf("leader %d after the cut of 1, want 0", e.Leader())
	}
	must(t, e.Heal(1))
	answers(t, e, 2, "srvr", notServing)
	if err := e.WaitServing(0); err == nil {
		t.Error("all serve, although one does not")
	}
	must(t, e.Kill(0))
	must(t, e.Kill(2))
	if leader, err := e.WaitLeader(0); leader != -1 || err == nil {
		t.Errorf("leader %d without a quorum, %v", leader, err)
	}
}

func TestWatchesOfAllServers(t *testing.T) {
	e := startFake(t, 3)
	answers(t, e, 0, "mntr", "zk_version\t3.8\nzk_watch_count\t3\n")
	answers(t, e, 1, "mntr", "zk_watch_count\t4\n")
	answers(t, e, 0, "wchp", "/a\n\t0x1\n\t0x2\n")
	if n, err := e.WatchCount(); n != 7 || err != nil { // the third does not serve
		t.Errorf("%d watches, %v, want 7", n, err)
	}
	if w, err := e.Watches(0); w.Total != 3 || w.Data != 2 || err != nil {
		t.Errorf("watches %+v, %v", w, err)
	}
	if _, err := e.Metrics(2); !errors.Is(err, ErrNotServing) {
		t.Errorf("metrics of a server that does not serve: %v", err)
	}
	answers(t, e, 1, "mntr", "zk_watch_count\tmany\n")
	if _, err := e.WatchCount(); err == nil {
		t.Error("a count that is no number: no error")
	}
	answers(t, e, 0, "wchp", "/a\n\tnonsense\n")
	if _, err := e.Watches(0); err == nil {
		t.Error("a session that is no number: no error")
	}
	answers(t, e, 0, "cons", " /127.0.0.1:5[1](queued=0,sid=0x7)\n")
	if list, err := e.Connections(0); len(list) != 1 || list[0].Session != 7 || err != nil {
		t.Errorf("connections %+v, %v", list, err)
	}
}

// A server that ends while it starts is an error with the end of its log, and one
// that lacks a port is started with others.
func TestStartErrors(t *testing.T) {
	for _, test := range []struct {
		how  string
		want int // ports picked
	}{{"no such option", 3}, {"java.net.BindException: in use", 3 * portAttempts}} {
		t.Setenv(fakeEnv, test.how)
		dir, picked := t.TempDir(), 0
		config := DefaultConfig()
		config.PickPort = func() (int, error) { picked++; return PickPort() }
		_, err := New(dir, 1, config, Installation{Java: os.Args[0]})
		if err == nil || !strings.Contains(err.Error(), test.how) || picked != test.want {
			t.Errorf("%q: error %v, %d ports picked, want %d", test.how, err, picked, test.want)
		}
		if left, _ := os.ReadDir(dir); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	config := DefaultConfig()
	config.PickPort = func() (int, error) { return 0, errors.New("none left") }
	if _, err := New(t.TempDir(), 1, config, Installation{}); err == nil || !strings.Contains(err.Error(), "none left") {
		t.Errorf("without ports: %v", err)
	}
	if _, err := New(t.TempDir(), 1, DefaultConfig(), Installation{Java: "/nowhere/java"}); err == nil {
		t.Error("without Java: no error")
	}
	if _, err := New("/nowhere/at/all", 1, DefaultConfig(), Installation{}); err == nil {
		t.Error("without a directory: no error")
	}
}

// Another server that answers on the port is not taken for ours.
func TestAnotherServerOnThePort(t *testing.T) {
	e := startFake(t, 1)
	answers(t, e, 0, "conf", "dataDir=/elsewhere\n")
	if err := e.verify(e.servers[0]); !errors.Is(err, errPortTaken) {
		t.Errorf("error %v", err)
	}
}
