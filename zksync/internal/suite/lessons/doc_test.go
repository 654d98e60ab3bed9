package lessons

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../../.."

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
)

// Each entry of the list names the tests that guard it, and all of these exist.
func TestListNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	exists := tests(t)
	entries := listed(t)
	for _, text := range entries {
		names := testName.FindAllString(text, -1)
		if len(names) == 0 {
			t.Errorf("no test guards %q", text)
		}
		for _, name := range names {
			if !exists[name] {
				t.Errorf("there is no %s, which guards %q", name, text)
			}
		}
	}
	if len(entries) < 80 {
		t.Errorf("%d entries in the list", len(entries))
	}
}

// listed returns the items of all lists in the package's comment.
func listed(t *testing.T) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		list, ok := block.(*comment.List)
		if !ok {
			continue
		}
		for _, item := range list.Items {
			text := string(new(comment.Printer).Text(&comment.Doc{Content: item.Content}))
			all = append(all, strings.Join(strings.Fields(text), " "))
		}
	}
	return all
}

// tests returns the names of all tests in the repository.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
