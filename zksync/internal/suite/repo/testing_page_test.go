package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The code of the page on tests stands in the examples, which go test runs. The page may
// show it with less indentation.
func TestTestingPageCode(t *testing.T) {
	page, err := os.ReadFile("docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("zksync/zktest/internal/examples/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var code strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	indent := regexp.MustCompile(`(?m)^\t+`)
	all := indent.ReplaceAllString(code.String(), "")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 8 {
		t.Errorf("docs/testing.md has %d blocks of code", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(all, "\n"+indent.ReplaceAllString(b[1], "")) {
			t.Errorf("docs/testing.md shows code that stands in no example:\n%s", b[1])
		}
	}
}
