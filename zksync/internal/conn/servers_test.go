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
		if got, err := ParseServers([]string{in}); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"":                   "empty",
		"  ":                 "empty",
		"a:1,b:2":            "several servers",
		"zk:2181/chroot":     "WithChroot",
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
		_, err := ParseServers([]string{"good:1", in})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("server %q", in)) {
			t.Errorf("%q: error %v, want %q in it", in, err, want)
		}
	}
	if _, err := ParseServers(nil); err == nil {
		t.Error("an empty list is taken")
	}
}
