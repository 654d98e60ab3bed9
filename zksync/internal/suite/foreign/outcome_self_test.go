//go:build unix

package foreign

import (
	"slices"
	"strings"
	"testing"
)

// A list that is wrong in either direction is noticed.
func TestJudge(t *testing.T) {
	passes, fails, skipped := outcome{passed: true}, outcome{said: "why"}, outcome{skipped: true}
	real := outcomes{"a": passes, "b": passes, "c": fails, "d": passes, "e": skipped, "f": passes, "g": fails}
	embedded := outcomes{"a": passes, "b": fails, "c": fails, "d": passes, "e": skipped, "g": passes, "h": passes}
	for _, tt := range []struct {
		list string
		want []string
	}{
		{"s b zktest r\ns c both r\ns g real r\nother a both r", []string{"f: ran on one", "h: ran on one"}},
		{"s c both r", []string{"b: passes on real ZooKeeper, fails on zktest", "f: ran", "g: fails on real", "h: ran"}},
		{"s b both r\ns c zktest r\ns d zktest r\ns e both r\ns g real r\ns z both r",
			[]string{"b: passes", "c: fails", "d: passes", "e: is skipped", "f: ran", "h: ran", "z is listed, and there is no such test"}},
	} {
		known, err := readKnown(tt.list, "s")
		if err != nil {
			t.Fatal(err)
		}
		got := judge(real, embedded, known)
		if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%q:\n%s\nwant %q", tt.list, strings.Join(got, "\n"), tt.want)
		}
	}
}

// Each entry of a list has all its parts, once.
func TestReadKnown(t *testing.T) {
	for _, text := range []string{"s a zktest", "s a nowhere r", "s a zktest r\ns a both r"} {
		if known, err := readKnown(text, "s"); err == nil {
			t.Errorf("%q is read as %v", text, known)
		}
	}
	known, err := readKnown("# comment\n\ns a both two words\n", "s")
	if err != nil || known["a"].reason != "two words" || !known["a"].failsOn("real") || !known["a"].failsOn("zktest") {
		t.Errorf("%v, %v", known, err)
	}
}
