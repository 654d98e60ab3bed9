package znode

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzValidPath: a path that is taken is one that leads where it says, and so
// does each path above it.
func FuzzValidPath(f *testing.F) {
	for _, tt := range pathTests {
		f.Add(tt.path)
	}
	f.Fuzz(func(t *testing.T, p string) {
		err := ValidPath(p)
		if err != nil {
			if err.Error() == "" || !utf8.ValidString(err.Error()) || strings.ContainsFunc(err.Error(), unshowable) {
				t.Fatalf("%q: error %q", p, err)
			}
			return
		}
		if p[0] != '/' || p == "/" || path.Clean(p) != p || len(p) > MaxPath || !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r > 0xffff }) {
			t.Fatalf("%q is taken", p)
		}
		if up := path.Dir(p); up != "/" && ValidPath(up) != nil {
			t.Fatalf("%q is taken, %q is not: %v", p, up, ValidPath(up))
		}
		// What the names of lock nodes add is never what a path fails for.
		if node := path.Join(p, Prefix(Exclusive, GUID{})+"0000000000"); len(node) <= MaxPath && ValidPath(node) != nil {
			t.Fatalf("%q: %v", node, ValidPath(node))
		}
	})
}

// FuzzParseGUID: both forms of a GUID are read as the same one, and nothing else
// is.
func FuzzParseGUID(f *testing.F) {
	for _, s := range []string{dashed, ownDashed, hexed, strings.ToUpper(dashed), "", hexed[1:], hexed + "0", "{" + dashed + "}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, ok := ParseGUID(s)
		if !ok {
			if g != (GUID{}) {
				t.Fatalf("%q: %v without ok", s, g)
			}
			return
		}
		if low := strings.ToLower(s); low != g.String() && low != g.Hex() {
			t.Fatalf("%q was read as %v", s, g)
		}
		for _, form := range []string{g.String(), g.Hex()} {
			if again, ok := ParseGUID(form); !ok || again != g {
				t.Fatalf("%q: %v became %v", form, g, again)
			}
		}
	})
}

// FuzzLine: whatever names are in a line, everyone sees it in the same order,
// and two who see the same line never both think that they are first.
func FuzzLine(f *testing.F) {
	f.Add("lock-0000000002 lock-0000000001 config")
	f.Add("lock-2147483647 lock--2147483648 _c_" + dashed + "-lock-2147483647")
	f.Add("__WRIT__0000000003 __READ__0000000003 lock-0000000003")
	f.Fuzz(func(t *testing.T, s string) {
		var line, turned []Name
		for _, word := range strings.Fields(s) {
			if n, ok := Parse(word); ok {
				line = append(line, n)
			}
		}
		for i := range line {
			turned = append(turned, line[len(line)-1-i])
		}
		Sort(line)
		Sort(turned)
		for i := range line {
			if line[i].Raw != turned[i].Raw {
				t.Fatalf("%q and %q at %d", line[i].Raw, turned[i].Raw, i)
			}
			if i > 0 && line[i].Seq < line[i-1].Seq {
				t.Fatalf("%q behind %q", line[i].Raw, line[i-1].Raw)
			}
			if Exhausted(line, i) {
				continue
			}
			for j, n := range line {
				if i != j && n.Seq == line[i].Seq && !pair(n, line[i]) {
					t.Fatalf("%q is sure of its place beside %q", line[i].Raw, n.Raw)
				}
			}
		}
	})
}
