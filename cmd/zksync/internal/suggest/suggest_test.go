package suggest

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	names := []string{"create", "create2", "getData", "setData", "getChildren", "getChildren2", "NoNode", "OK"}
	for wrong, want := range map[string]string{
		"creat": "create", "CREATE2": "create2", "getdata": "getData", "tetData": "getData setData", "getChild": "getChildren getChildren2",
		"get": "getData getChildren getChildren2", "NoNodeError": "NoNode", "ok": "OK", "O": "", "xy": "", "nothing": "", "": "",
	} {
		if got := strings.Join(Names(wrong, names), " "); got != want {
			t.Errorf("%s: %q, want %q", wrong, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"watch", "wtach", 2}, {"yes", "yes", 0}, {"ab", "ba", 2},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("%s to %s: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
