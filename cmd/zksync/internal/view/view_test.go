package view_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

func guid(n int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", n) }

// line returns a queue whose first held nodes hold.
func line(held int, names ...string) *zksync.Queue {
	q := &zksync.Queue{Path: "/lock"}
	for i, name := range names {
		q.Nodes = append(q.Nodes, zksync.LockNode{
			Node: "/lock/" + name, Mode: zksync.ModeMutex, Held: i < held, Session: 1, Fence: int64(i + 1),
			Since: time.Unix(int64(100-i), 0),
		})
	}
	return q
}

// A second node of a call is neither a holder nor a waiter.
func TestSecondNodes(t *testing.T) {
	hex := strings.ReplaceAll(guid(1), "-", "")
	q := line(1, "_c_"+guid(1)+"-lock-0000000000", hex+"__lock__0000000001", "_c_"+guid(2)+"-lock-0000000002", "lock-0000000003")
	lock := view.NewLock(q)
	if lock.Holders != 1 || lock.Waiters != 2 || !lock.WaitingSince.Equal(time.Unix(97, 0)) {
		t.Errorf("%+v", lock)
	}
	v := view.NewQueue(q, time.Now())
	if len(v.Holders()) != 1 || v.Waiters() != 2 || !v.Nodes[1].Second || v.Nodes[2].Second {
		t.Errorf("%+v", v)
	}
	if !v.Nodes[0].SameCall(&v.Nodes[1]) || v.Nodes[0].SameCall(&v.Nodes[2]) || !v.Nodes[3].SameCall(&v.Nodes[3]) {
		t.Error("which nodes belong to one call")
	}
}

func TestKinds(t *testing.T) {
	for want, modes := range map[string][]zksync.Mode{
		"": nil, "mutex": {zksync.ModeMutex}, "rwmutex": {zksync.ModeRead, zksync.ModeWrite}, "semaphore": {zksync.ModePermit},
		"mixed": {zksync.ModePermit, zksync.ModeMutex},
	} {
		q := line(0, make([]string, len(modes))...)
		for i, m := range modes {
			q.Nodes[i].Mode = m
		}
		if got := view.NewLock(q).Kind; got != want {
			t.Errorf("%q: %q, want %q", modes, got, want)
		}
	}
}

func TestNewNode(t *testing.T) {
	for parent, want := range map[string]string{
		"": "", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "4bf92f3577b34da6a3ce929d0e0e4736",
		"00-4bf92f-00f067aa0ba902b7-01": "", "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-00f067aa0ba902b7-01": "",
	} {
		n := view.NewNode(&zksync.LockNode{TraceParent: parent, Session: -2})
		if n.TraceID != want || n.Session != "0xfffffffffffffffe" || n.Owner() != -2 {
			t.Errorf("%q: %+v", parent, n)
		}
	}
	n := view.NewNode(&zksync.LockNode{Form: zksync.FormKazoo})
	if who := n.Who(); who != "no name (kazoo, session 0x0)" || n.Stays() || n.AgeText(time.Now()) != "-" {
		t.Errorf("%s, %+v", who, n)
	}
	if who := n.Program(); who != "an unnamed program (kazoo, session 0x0)" {
		t.Errorf("%s, %+v", who, n)
	}
	n = view.NewNode(&zksync.LockNode{Identity: "a\nb", Host: "host", PID: 7, OwnerName: "own er", Since: time.Unix(100, 0)})
	if who := n.Who(); who != `"a\nb" for "own er" on host (pid 7)` || !n.Stays() || n.AgeText(time.Unix(160, 0)) != "1m00s" {
		t.Errorf("%s, %+v", who, n)
	}
}

func TestChanges(t *testing.T) {
	first := view.NewQueue(line(1, "a", "b", "c"), time.Now())
	q := line(2, "a", "b", "c", "d")
	q.Nodes = q.Nodes[1:]
	q.Nodes[1].Revoked = true
	second := view.NewQueue(q, time.Now())
	again := line(1, "b")
	again.Nodes[0].Fence = 77 // another node with the name of the first
	third := view.NewQueue(again, time.Now())
	for i, tt := range []struct {
		before, after *view.Queue
		want          string
	}{
		{nil, nil, ""}, {nil, &first, "holds a, waits b, waits c"}, {&first, &first, ""},
		{&first, &second, "left a, holds b, revoked c, waits d"}, {&second, nil, "left b, left c, left d"},
		{&second, &third, "left b, left c, left d, holds b"},
	} {
		var got []string
		for _, e := range view.Changes("/lock", tt.before, tt.after, time.Now()) {
			got = append(got, e.Event+" "+e.Node.Name)
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%d: %s, want %s", i, s, tt.want)
		}
	}
}
