package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const costPage = "docs/cost.md"

// Each command of the page on costs names tests, benchmarks and flags that exist. What
// they measure is compared with the page in package costs, and the tests themselves run
// in the short or the long form.
func TestCostPageCommands(t *testing.T) {
	text, err := os.ReadFile(costPage)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```bash\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			n++
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "go test ./"):
				checkGoTest(t, line)
			case strings.HasPrefix(line, "zksync bench "):
				checkFlags(t, line, goText(t, "cmd/zksync"), regexp.MustCompile(` --([a-z-]+)`), `"`)
			default:
				t.Errorf("%s: nothing checks %q", costPage, line)
			}
		}
	}
	if n == 0 {
		t.Errorf("%s shows no command", costPage)
	}
}

// checkGoTest checks that a command runs something.
func checkGoTest(t *testing.T, line string) {
	t.Helper()
	dir := strings.TrimPrefix(strings.Fields(line)[2], "./")
	text := goText(t, dir)
	for _, m := range regexp.MustCompile(` -(run|bench) '?([^' ]+)'?`).FindAllStringSubmatch(line, -1) {
		if m[2] == "^$" || m[2] == "." {
			continue
		}
		for part := range strings.SplitSeq(m[2], "|") {
			name, _, _ := strings.Cut(part, "/")
			if !strings.Contains(text, "\nfunc "+strings.TrimSuffix(name, "$")) {
				t.Errorf("%s: %s has no %s", costPage, dir, part)
			}
		}
	}
	line = regexp.MustCompile(` -(run|bench|benchtime|timeout)\b`).ReplaceAllString(line, " ")
	checkFlags(t, line, text, regexp.MustCompile(` -([a-z]+)`), `("`)
}

// checkFlags checks that each flag in a command is defined in a program's text.
func checkFlags(t *testing.T, line, text string, flag *regexp.Regexp, before string) {
	t.Helper()
	for _, m := range flag.FindAllStringSubmatch(line, -1) {
		if !strings.Contains(text, before+m[1]+`"`) {
			t.Errorf("%s: there is no flag %q for: %s", costPage, m[1], line)
		}
	}
}

// goText returns all Go files of a directory.
func goText(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The page names tests as the place where something is shown, and links to files.
func TestCostPageNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(costPage)
	if err != nil {
		t.Fatal(err)
	}
	tests := goText(t, "zksync/internal/suite/costs") + goText(t, "zksync/internal/suite/bench")
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(tests, "\nfunc "+m[1]+"(t *testing.T)") {
			t.Errorf("%s: there is no %s", costPage, m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("docs", m[1])); err != nil {
			t.Errorf("%s links to %s: %v", costPage, m[1], err)
		}
	}
}
