package ensemble_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

var worldACL = zk.WorldACL(zk.PermAll)

func TestKillAndRestartKeepData(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 1)
	conn, _ := connect(t, 20*time.Second, e.Addr(0))
	create(t, conn, "/kept", 0)
	for _, step := range []struct {
		name string
		end  func(int) error
	}{{"Kill", e.Kill}, {"Stop", e.Stop}} {
		pids := e.Pids()
		must(t, step.end(0))
		must(t, step.end(0)) // down already
		if alive(pids[0]) || len(e.Pids()) != 0 || e.Leader() != -1 {
			t.Fatalf("after %s: process %v, leader %d", step.name, e.Pids(), e.Leader())
		}
		if err := e.Pause(0); err == nil {
			t.Errorf("Pause after %s: no error", step.name)
		}
		if err := e.Resume(0); err == nil {
			t.Errorf("Resume after %s: no error", step.name)
		}
		must(t, e.Start(0))
		must(t, e.Start(0)) // up already
		must(t, e.WaitServing(10*time.Second))
		next, _ := connect(t, 5*time.Second, e.Addr(0))
		if !exists(t, next, "/kept") {
			t.Errorf("node lost by %s", step.name)
		}
	}
	before := e.Pids()
	must(t, e.Restart(0))
	must(t, e.WaitServing(10*time.Second))
	if now := e.Pids(); len(now) != 1 || now[0] == before[0] {
		t.Errorf("Restart: process %v, before %v", now, before)
	}
	// The session has outlived it all.
	eventually(t, "first client connected again", 10*time.Second, func() bool { return conn.State() == zk.StateHasSession })
}

func TestKillLeader(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3)
	old, err := e.WaitLeader(time.Second)
	must(t, err)
	conn, _ := connect(t, 10*time.Second, e.Addr((old+1)%3))
	create(t, conn, "/before", 0)
	must(t, e.Kill(old))
	start := time.Now()
	next, err := e.WaitLeader(15 * time.Second)
	must(t, err)
	if next == old {
		t.Fatalf("the dead server %d leads", old)
	}
	must(t, e.WaitServing(15*time.Second))
	t.Logf("new leader and all serving %v after the kill", time.Since(start))
	late, _ := connect(t, 10*time.Second, e.Addr((old+2)%3))
	create(t, late, "/after", 0)
	must(t, e.Start(old))
	must(t, e.WaitServing(15*time.Second))
	back, _ := connect(t, 10*time.Second, e.Addr(old))
	if !exists(t, back, "/before") || !exists(t, back, "/after") {
		t.Error("the server that came back lacks a node")
	}
	// Two of three gone: no leader, and nobody serves.
	must(t, e.Kill(next))
	must(t, e.Kill(old))
	if leader, err := e.WaitLeader(50 * time.Millisecond); err == nil {
		t.Errorf("server %d leads alone", leader)
	}
	if err := e.WaitServing(50 * time.Millisecond); err == nil {
		t.Error("one of three serves")
	}
}

func TestPauseAndResume(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 1)
	conn, _ := connect(t, 20*time.Second, e.Addr(0))
	must(t, e.Pause(0))
	must(t, e.Pause(0))
	if _, err := e.FourLetter(0, "ruok"); err == nil {
		t.Error("FourLetter to a paused server: no error")
	}
	answered := make(chan error, 1)
	go func() {
		_, _, err := conn.Exists("/")
		answered <- err
	}()
	raw, err := net.Dial("tcp", e.Addr(0))
	must(t, err)
	defer raw.Close()
	_, err = raw.Write([]byte("ruok"))
	must(t, err)
	must(t, raw.SetDeadline(time.Now().Add(300*time.Millisecond)))
	if n, err := raw.Read(make([]byte, 4)); err == nil {
		t.Errorf("a paused server answered %d bytes", n)
	}
	select {
	case err := <-answered:
		t.Errorf("a paused server answered a request: %v", err)
	default:
	}
	must(t, e.Resume(0))
	must(t, e.Resume(0))
	must(t, <-answered)
	// Stop and Kill reach a paused one too.
	must(t, e.Pause(0))
	must(t, e.Stop(0))
	must(t, e.Start(0))
	must(t, e.Pause(0))
	must(t, e.Kill(0))
	if pids := e.Pids(); len(pids) != 0 {
		t.Errorf("processes left: %v", pids)
	}
}

func TestPausedLeaderIsReplaced(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3, ensemble.WithSyncLimit(4))
	old := e.Leader()
	must(t, e.Pause(old))
	next, err := e.WaitLeader(15 * time.Second)
	must(t, err)
	if next == old {
		t.Fatalf("paused server %d leads", old)
	}
	must(t, e.WaitServing(15*time.Second))
	must(t, e.Resume(old))
	must(t, e.WaitServing(15*time.Second))
	if leader := e.Leader(); leader != next {
		t.Errorf("server %d leads after all are back, want %d", leader, next)
	}
}

// serves reports whether the server says that it has a quorum.
func serves(t *testing.T, e *ensemble.Ensemble, i int) bool {
	t.Helper()
	answer, err := e.FourLetter(i, "srvr")
	return err == nil && strings.Contains(answer, "Mode:")
}

func TestCutFollower(t *testing.T) {
	e := ensemble.Run(t, 3, ensemble.WithSyncLimit(6))
	leader := e.Leader()
	follower := (leader + 1) % 3
	there, _ := connect(t, 30*time.Second, e.Addr(follower))
	main, _ := connect(t, 30*time.Second, e.Addr(leader))
	create(t, main, "/old", 0)
	eventually(t, "node on the follower", 5*time.Second, func() bool { return exists(t, there, "/old") })

	start := time.Now()
	must(t, e.Cut(follower))
	must(t, e.Cut(follower))
	create(t, main, "/new", 0) // the other two are a quorum
	if !serves(t, e, follower) {
		t.Fatal("the follower knew of the cut at once")
	}
	if !exists(t, there, "/old") || exists(t, there, "/new") {
		t.Error("the follower's own view changed")
	}
	written := make(chan error, 1)
	go func() {
		_, err := there.Create("/held", nil, 0, worldACL)
		written <- err
	}()
	eventually(t, "follower gave up serving", 15*time.Second, func() bool { return !serves(t, e, follower) })
	t.Logf("a follower that was cut off served for %v (syncLimit 1.5 s)", time.Since(start))
	if leader != e.Leader() {
		t.Errorf("server %d leads, want %d", e.Leader(), leader)
	}
	if err := <-written; err == nil {
		t.Error("a write went through the cut")
	}
	must(t, e.WaitServing(time.Second)) // of those that are not cut
	must(t, e.Heal(follower))
	must(t, e.Heal(follower))
	must(t, e.WaitServing(15*time.Second))
	eventually(t, "client back on the follower", 15*time.Second, func() bool { return there.State() == zk.StateHasSession })
	if _, err := there.Sync("/"); err != nil {
		t.Fatal(err)
	}
	if !exists(t, there, "/new") || exists(t, there, "/held") {
		t.Error("the follower does not know what happened during the cut")
	}
}

// A cut that is short is nothing but a delay.
func TestShortCut(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3)
	leader := e.Leader()
	follower := (leader + 2) % 3
	there, _ := connect(t, 30*time.Second, e.Addr(follower))
	must(t, e.Cut(follower))
	written := make(chan error, 1)
	go func() {
		_, err := there.Create("/late", nil, 0, worldACL)
		written <- err
	}()
	select {
	case err := <-written:
		t.Errorf("write during the cut: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	must(t, e.Heal(follower))
	if err := <-written; err != nil {
		t.Errorf("write after the cut: %v", err)
	}
}

func TestCutLeader(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3, ensemble.WithSyncLimit(4))
	old := e.Leader()
	must(t, e.Cut(old))
	start := time.Now()
	next, err := e.WaitLeader(20 * time.Second)
	must(t, err)
	if next == old {
		t.Fatalf("server %d leads, which is cut", old)
	}
	t.Logf("the others had a leader %v after the cut", time.Since(start))
	eventually(t, "old leader gave up", 15*time.Second, func() bool { return !serves(t, e, old) })
	conn, _ := connect(t, 10*time.Second, e.Addr(next))
	create(t, conn, "/new", 0)
	must(t, e.Heal(old))
	must(t, e.WaitServing(20*time.Second))
	back, _ := connect(t, 10*time.Second, e.Addr(old))
	if !exists(t, back, "/new") {
		t.Error("the old leader lacks what its successor wrote")
	}
}
