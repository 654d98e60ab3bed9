package javazk

import (
	"errors"
	"reflect"
	"testing"
)

func TestParseStatus(t *testing.T) {
	for answer, want := range map[string]status{
		srvr("leader", 3):       {"leader", 3},
		srvr("follower", 1<<30): {"follower", 1 << 30},
		notServing + "\n":       {},
		"":                      {},
		"Mode: standalone\n":    {"standalone", 0},
		"Zxid: what\nMode:\n":   {},
	} {
		if got := parseStatus(answer); got != want {
			t.Errorf("%q: %+v, want %+v", answer, got, want)
		}
	}
}

func TestParseMetrics(t *testing.T) {
	m, err := parseMetrics("zk_version\t3.8.0-1, built on\nzk_watch_count\t4\nno tab\n")
	if want := map[string]string{"zk_version": "3.8.0-1, built on", "zk_watch_count": "4"}; err != nil || !reflect.DeepEqual(m, want) {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := parseMetrics(notServing + "\n"); !errors.Is(err, ErrNotServing) {
		t.Errorf("not serving: %v", err)
	}
	if _, err := parseMetrics("mntr is not executed because it is not in the whitelist.\n"); err == nil || errors.Is(err, ErrNotServing) {
		t.Errorf("not allowed: %v", err)
	}
}

func TestParseWatches(t *testing.T) {
	w, err := parseWatches("/b\r\n\t0x2\n\t0x1\n/a with space\n\t0xffffffffffffffff\n\t0x1\n")
	want := Watches{
		Data:      4,
		ByPath:    map[string][]int64{"/b": {1, 2}, "/a with space": {-1, 1}},
		BySession: map[int64][]string{1: {"/a with space", "/b"}, 2: {"/b"}, -1: {"/a with space"}},
	}
	if err != nil || !reflect.DeepEqual(w, want) {
		t.Errorf("%+v, %v, want %+v", w, err, want)
	}
	if _, err := parseWatches("/a\n\tsomebody\n"); err == nil {
		t.Error("a session that is no number: no error")
	}
}

func TestParseConnections(t *testing.T) {
	list, err := parseConnections(" /127.0.0.1:5[1](queued=0,recved=5,sid=0x1000,to=10000)\n" +
		" /127.0.0.1:6[0](queued=0,recved=1,sent=0)\n\nnonsense\n /[0:0:0:0:0:0:0:1](\n")
	want := []Connection{{
		Addr: "127.0.0.1:5", Session: 0x1000,
		Fields: map[string]string{"queued": "0", "recved": "5", "sid": "0x1000", "to": "10000"},
	}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	if _, err := parseConnections(" /127.0.0.1:5[1](sid=mine)\n"); err == nil {
		t.Error("a session that is no number: no error")
	}
}

func TestInDump(t *testing.T) {
	const dump = "SessionTracker dump:\nSession Sets (2)/(1):\n1 expire at X:\n\t0x10\nephemeral nodes dump:\n" +
		"Sessions with Ephemerals (1):\n0x20:\n\t/a\nConnections dump:\nConnections Sets (1)/(1):\n\t0x30\n"
	for id, want := range map[int64]bool{0x10: true, 0x20: true, 0x30: false, 0x1: false} {
		if got, err := inDump(dump, id); got != want || err != nil {
			t.Errorf("session %#x: %v, %v, want %v", id, got, err, want)
		}
	}
	if _, err := inDump(notServing, 1); err == nil {
		t.Error("an answer that is no dump: no error")
	}
}
