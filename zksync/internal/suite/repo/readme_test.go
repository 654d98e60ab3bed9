package repo_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every block of code in the README is run or compared: Go is the text or the end of an
// example, which go test runs; commands are run by TestReadmeCommands.

// block is one fenced block of the README.
type block struct {
	line int
	lang string
	text string
}

func readme(t *testing.T) (text string, blocks []block) {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var in *block
	for i, line := range strings.SplitAfter(string(b), "\n") {
		fence, found := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case found && in == nil:
			in = &block{line: i + 1, lang: fence}
		case found:
			blocks = append(blocks, *in)
			in = nil
		case in != nil:
			in.text += line
		}
	}
	if in != nil || len(blocks) == 0 {
		t.Fatal("README.md: a block without an end, or no block at all")
	}
	return string(b), blocks
}

// exampleText is the body of an example as the README shows it, and its output.
func exampleText(t *testing.T) map[string][2]string {
	t.Helper()
	src, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string][2]string)
	find := regexp.MustCompile(`(?ms)^func (Example\w*)\(\) \{\n(.*?)\t// Output:(.*?)^\}\n`)
	for _, m := range find.FindAllStringSubmatch(string(src), -1) {
		body := strings.ReplaceAll("\n"+m[2], "\n\t", "\n")[1:]
		// An example has servers of its own, the README's are those of its reader.
		body = strings.ReplaceAll(body, "exampleServers()", `[]string{"127.0.0.1:2181"}`)
		var out strings.Builder
		for line := range strings.Lines(m[3]) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "//")
			if line = strings.TrimSpace(line); line != "" {
				out.WriteString(line + "\n")
			}
		}
		list[m[1]] = [2]string{body, out.String()}
	}
	return list
}

// endsExample reports whether text is the last lines of an example.
func endsExample(examples map[string][2]string, text string) bool {
	for _, ex := range examples {
		if strings.HasSuffix(ex[0], "\n"+text) {
			return true
		}
	}
	return false
}

// isTested reports whether each function of text is one of the tests and helpers
// that package zksynctest shows.
func isTested(t *testing.T, text string) bool {
	src, err := os.ReadFile("zksync/zksynctest/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for f := range strings.SplitSeq(text, "\n}\n") {
		if f = strings.TrimSpace(f); f != "" && !strings.Contains(string(src), "\n"+f+"\n}\n") {
			return false
		}
	}
	return true
}

func TestReadmeCode(t *testing.T) {
	_, blocks := readme(t)
	examples := exampleText(t)
	n := 0
	for i, b := range blocks {
		if b.lang != "go" {
			continue
		}
		n++
		name := ""
		for ex, text := range examples {
			if text[0] == b.text {
				name = ex
			}
		}
		if name == "" {
			if !endsExample(examples, b.text) && !isTested(t, b.text) {
				t.Errorf("README.md:%d is not the text of an example or its last lines, or of a test of package zksynctest", b.line)
			}
			continue
		}
		if out := blocks[i+1]; out.lang == "text" && out.text != examples[name][1] {
			t.Errorf("README.md:%d: %s prints\n%s", out.line, name, examples[name][1])
		}
	}
	if n == 0 {
		t.Error("README.md shows no Go code")
	}
}

// What the README prints without a command or code before it is the output of
// an example it names, or part of the command's help, which TestReadmeCommands
// looks for.
func (b block) isHelp() bool {
	return strings.HasPrefix(b.text, "Flags:") || strings.HasPrefix(b.text, "Exit codes:")
}

// isScreen reports whether the block is a screen of "zksync watch", which the command's
// TestReadmeScreens draws.
func (b block) isScreen() bool {
	return strings.HasPrefix(b.text, "locks below ") || strings.Contains(b.text, "\nType ")
}

func TestReadmeOutput(t *testing.T) {
	text, blocks := readme(t)
	examples := exampleText(t)
	for i, b := range blocks {
		switch {
		case b.lang == "go" || b.lang == "bash":
			continue
		case b.lang != "text":
			t.Errorf("README.md:%d: block of kind %q, which nothing checks", b.line, b.lang)
			continue
		case b.isHelp(), b.isScreen(), i > 0 && blocks[i-1].lang == "bash", i > 0 && blocks[i-1].lang == "go":
			continue
		}
		found := false
		for name, ex := range examples {
			found = found || ex[1] == b.text && strings.Contains(text, "`"+name+"`")
		}
		if !found {
			t.Errorf("README.md:%d is not the output of an example that the README names", b.line)
		}
	}
}

func TestReadmeNamesDependencies(t *testing.T) {
	text, _ := readme(t)
	for _, dir := range []string{".", "cmd/zksync"} {
		list := modFile(t, dir).Require
		if len(list) == 0 {
			t.Fatalf("the go.mod of %s requires nothing", dir)
		}
		for _, m := range list {
			if m.Path != module && !strings.Contains(text, "`"+m.Path+"`") {
				t.Errorf("the README gives no reason for %s", m.Path)
			}
		}
	}
}

func TestReadmeLinks(t *testing.T) {
	text, _ := readme(t)
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("README.md links to %s: %v", m[1], err)
		}
	}
}
