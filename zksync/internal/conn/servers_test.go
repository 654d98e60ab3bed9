package conn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseServers(t *testing.T) {
	for in, want := range map[string]string{
		"zk1":              "zk1:2181",
		"zk1:2182":         "zk1:2182",
		"10.0.0.1":         "10.0.0.1:2181",
		"::1":              "[::1]:2181",
		"[::1]":            "[::1]:2181",
		"[fe80::1]:99":     "[fe80::1]:99",
		"zk.example.com:1": "zk.example.com:1",
	} {
		if got, root, err := ParseServers([]string{in}); err != nil || root != "" || !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                   "empty",
		"  ":                 "empty",
		"zk://a:2181":        "bad port",
		"a b":                "white space",
		":2181":              "no host",
		"zk:":                "bad port",
		"zk:0":               "bad port",
		"zk:65536":           "bad port",
		"zk:port":            "bad port",
		"zk:1:2":             "too many colons",
		"[::1":               "missing ']'",
		"[not-an-address]":   "missing port",
		"[::1]:2181:another": "too many colons",
	} {
		_, _, err := ParseServers([]string{"good:1", in})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("server %q", strings.TrimSuffix(in, "//a:2181"))) {
			t.Errorf("%q: error %v, want %q in it", in, err, want)
		}
	}
	if _, _, err := ParseServers(nil); err == nil {
		t.Error("an empty list is taken")
	}
}

// The connect string of other clients is taken, with a chroot where they expect it.
func TestParseConnectStrings(t *testing.T) {
	for _, tt := range []struct {
		in   []string
		list []string
		root string
	}{
		{[]string{"a:1,b:2"}, []string{"a:1", "b:2"}, ""},
		{[]string{"a, b:2 ,::1"}, []string{"a:2181", "b:2", "[::1]:2181"}, ""},
		{[]string{"a:1,b:2/app/x"}, []string{"a:1", "b:2"}, "/app/x"},
		{[]string{"a:1", "b,c/app"}, []string{"a:1", "b:2181", "c:2181"}, "/app"},
		{[]string{"a/"}, []string{"a:2181"}, "/"},
	} {
		if list, root, err := ParseServers(tt.in); err != nil || root != tt.root || !slices.Equal(list, tt.list) {
			t.Errorf("%q: %q, %q, %v", tt.in, list, root, err)
		}
	}
	for _, in := range [][]string{{"a:1/app,b:2/app"}, {"a:1/app", "b:2/app"}, {"a:1/app", "b:2"}, {"a:1/app,b:2"}} {
		if _, _, err := ParseServers(in); err == nil || !strings.Contains(err.Error(), "only behind the last server") {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range []string{"a,", ",a", "a,,b", "a,/app", ","} {
		if list, _, err := ParseServers([]string{in}); err == nil || !strings.Contains(err.Error(), "empty") {
			t.Errorf("%q: %q, %v", in, list, err)
		}
	}
}
