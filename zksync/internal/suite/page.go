package suite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A page of the documentation has parts that are measured. Each stands between two
// comments that name it.

// RepoFile returns the path of a file, given from the root of the repository.
func RepoFile(t testing.TB, name string) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the source of this file is not known")
	}
	return filepath.Join(filepath.Dir(here), "../../..", filepath.FromSlash(name))
}

// PagePart returns a part of a page.
func PagePart(t testing.TB, page, part string) string {
	t.Helper()
	_, text, _ := cutPage(t, page, part)
	return text
}

// SetPagePart replaces a part of a page.
func SetPagePart(t testing.TB, page, part, text string) {
	t.Helper()
	before, _, after := cutPage(t, page, part)
	if err := os.WriteFile(RepoFile(t, page), []byte(before+text+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func cutPage(t testing.TB, page, part string) (before, text, after string) {
	t.Helper()
	all, err := os.ReadFile(RepoFile(t, page))
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": begin -->\n", "<!-- "+part+": end -->\n"
	before, rest, found := strings.Cut(string(all), begin)
	text, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	return before + begin, text, end + after
}
