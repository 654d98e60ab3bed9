package table_test

import (
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
)

func TestWrite(t *testing.T) {
	var b strings.Builder
	table.Write(&b, nil, []table.Column{{Head: "N", Align: table.Right}, {Head: "NAME"}, {Head: "END"}}, [][]string{
		{"1", "größe", "x"}, {"10", "錠", ""}, {"100", "plain", "y"},
	})
	want := "  N  NAME   END\n  1  größe  x\n 10  錠\n100  plain  y\n"
	if b.String() != want {
		t.Errorf("\n%swant\n%s", b.String(), want)
	}
}

// What is no terminal gets no colours.
func TestStyle(t *testing.T) {
	var b strings.Builder
	s := table.NewStyle(&b)
	table.Write(&b, s, []table.Column{{Head: "N"}}, [][]string{{s.Good("1")}, {s.Warn("2")}, {s.Bad("3")}, {s.Faint("4")}})
	if want := "N\n1\n2\n3\n4\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
