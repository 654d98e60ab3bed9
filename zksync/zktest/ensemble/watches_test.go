package ensemble_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestWatchesMetricsConnections(t *testing.T) {
	suite.Long(t)
	e := ensemble.Run(t, 3)
	a, _ := connect(t, 10*time.Second, e.Addr(0))
	b, _ := connect(t, 10*time.Second, e.Addr(0))
	c, _ := connect(t, 10*time.Second, e.Addr(1))
	create(t, a, "/x", 0)
	create(t, a, "/y", 0)
	_, err := c.Sync("/")
	must(t, err)
	for range 3 { // the same watch again is one watch
		_, _, _, err := a.GetW("/x")
		must(t, err)
	}
	_, _, _, err = a.GetW("/y")
	must(t, err)
	_, _, _, err = b.GetW("/x")
	must(t, err)
	_, _, _, err = b.ExistsW("/absent")
	must(t, err)
	_, _, _, err = b.ChildrenW("/")
	must(t, err)
	_, _, _, err = c.ChildrenW("/")
	must(t, err)
	_, _, _, err = c.GetW("/y")
	must(t, err)

	w, err := e.Watches(0)
	must(t, err)
	both := []int64{a.SessionID(), b.SessionID()}
	slices.Sort(both)
	want := ensemble.Watches{
		Total: 5,
		Data:  4,
		ByPath: map[string][]int64{
			"/x":      both,
			"/y":      {a.SessionID()},
			"/absent": {b.SessionID()},
		},
		BySession: map[int64][]string{
			a.SessionID(): {"/x", "/y"},
			b.SessionID(): {"/absent", "/x"},
		},
	}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("watches of server 0:\n%+v, want\n%+v", w, want)
	}
	if w, err := e.Watches(2); err != nil || w.Total != 0 || len(w.ByPath) != 0 {
		t.Errorf("watches of server 2: %+v, %v", w, err)
	}
	if n, err := e.WatchCount(); err != nil || n != 7 {
		t.Errorf("WatchCount: %d, %v, want 7", n, err)
	}
	must(t, a.Delete("/x", -1))
	_, err = c.Sync("/")
	must(t, err)
	// Both watches on /x have fired, and those on the children of /.
	if n, err := e.WatchCount(); err != nil || n != 3 {
		t.Errorf("WatchCount after a deletion: %d, %v, want 3", n, err)
	}

	list, err := e.Connections(0)
	must(t, err)
	var ids []int64
	for _, conn := range list {
		ids = append(ids, conn.Session)
		if conn.Addr == "" || conn.Fields["to"] != "10000" {
			t.Errorf("connection %+v", conn)
		}
	}
	slices.Sort(ids)
	if !slices.Equal(ids, both) {
		t.Errorf("sessions on server 0: %x, want %x", ids, both)
	}
	leader := e.Leader()
	for i := range 3 {
		m, err := e.Metrics(i)
		must(t, err)
		if state := m["zk_server_state"]; (state == "leader") != (i == leader) {
			t.Errorf("server %d is a %q, leader is %d", i, state, leader)
		}
	}
	// A client that sets its watches again at a reconnect races with itself
	// (go-zookeeper v1.0.4, conn.go:614 and :849), and this test has no need of
	// them any more.
	for _, client := range []*zk.Conn{a, b, c} {
		client.Close()
	}
	must(t, e.Kill(2))
	if _, err := e.Metrics(2); err == nil {
		t.Error("Metrics of a dead server: no error")
	}
	if _, err := e.WatchCount(); err != nil {
		t.Errorf("WatchCount with a dead server: %v", err)
	}
}
