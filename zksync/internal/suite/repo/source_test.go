package repo_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/zklocker/go-zksync"

// source is the Go files of one directory.
type source struct {
	fset  *token.FileSet
	files map[string]*ast.File // by name
}

// parseDir reads the files of a directory for every platform; tests says
// whether those of tests are wanted, or the others.
func parseDir(t *testing.T, dir string, tests bool) source {
	t.Helper()
	src := source{fset: token.NewFileSet(), files: make(map[string]*ast.File)}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		f, err := parser.ParseFile(src.fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		src.files[name] = f
	}
	if len(src.files) == 0 {
		t.Fatalf("no Go files in %s", dir)
	}
	return src
}

// Programmer errors panic, with the package's name first.
func TestPanicsSayWhoTheyAre(t *testing.T) {
	for _, dir := range librarySources(t) {
		src := parseDir(t, dir, false)
		for _, f := range src.files {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "panic" {
					return true
				}
				// What is no text is an error that was made elsewhere.
				text, ok := leftmost(call.Args[0])
				if ok && !strings.HasPrefix(text, "zksync: ") {
					t.Errorf("%s: panic(%q ...)", src.fset.Position(call.Pos()), text)
				}
				return true
			})
		}
	}
}

// leftmost is the string that a text begins with.
func leftmost(x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, err == nil && x.Kind == token.STRING
	case *ast.BinaryExpr:
		return leftmost(x.X)
	case *ast.CallExpr: // fmt.Sprintf and the like
		if len(x.Args) > 0 {
			return leftmost(x.Args[0])
		}
	}
	return "", false
}

func TestErrorsSayWhoTheyAre(t *testing.T) {
	good := regexp.MustCompile(`^zksync: [a-z]`)
	n := 0
	for _, f := range parseDir(t, "zksync", false).files {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				v := spec.(*ast.ValueSpec)
				for i, name := range v.Names {
					if !strings.HasPrefix(name.Name, "Err") {
						continue
					}
					n++
					if text, ok := leftmost(v.Values[i]); !ok || !good.MatchString(text) {
						t.Errorf("%s is %q", name.Name, text)
					}
					if !strings.Contains(flat(v.Doc.Text()), "is returned ") {
						t.Errorf("the comment of %s does not say when it is returned", name.Name)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no errors found")
	}
}

// librarySources are the directories of the library, tools for tests included.
func librarySources(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir("zksync", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != "testdata" {
			found, _ := filepath.Glob(filepath.Join(path, "*.go"))
			if slices.ContainsFunc(found, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
				dirs = append(dirs, path)
			}
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	return dirs
}

// One concern a file. A package's guide is its comment, in one piece: go doc shows
// the parts of one that is spread over files in the order of their names.
func TestFilesAreShort(t *testing.T) {
	const most = 400 // lines
	for _, dir := range librarySources(t) {
		src := parseDir(t, dir, false)
		for name, f := range src.files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n := bytes.Count(text, []byte("\n"))
			if f.Doc != nil {
				n -= src.fset.Position(f.Package).Line - src.fset.Position(f.Doc.Pos()).Line
			}
			if n >= most {
				t.Errorf("%s has %d lines, want fewer than %d", name, n, most)
			}
		}
	}
}

// Whoever imports the library gets two modules with it.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", "./zksync").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	modules := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		pkg, mod, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(pkg, "opentelemetry") {
			t.Errorf("zksync depends on %s", pkg)
		}
		if pkg != "" {
			modules[mod] = true
		}
	}
	for _, want := range []string{module, "github.com/go-zookeeper/zk", "golang.org/x/sync"} {
		if !modules[want] {
			t.Errorf("zksync does not depend on %s:\n%s", want, out)
		}
		delete(modules, want)
	}
	for mod := range modules {
		t.Errorf("zksync depends on module %s", mod)
	}
}

// See package bubble. What users copy needs only the standard library, and so does
// a module of its own.
func TestBubblesAreOfPackageBubble(t *testing.T) {
	plain := []string{"adapters", "internal/bubble", "zksync/zksynctest", "zksync/zktest/internal/examples", "zksync/zktest/server_example_test.go"}
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		isPlain := slices.Contains(plain, filepath.ToSlash(path))
		if isPlain && d.IsDir() {
			return fs.SkipDir
		}
		if isPlain || filepath.Ext(path) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(node ast.Node) bool {
			if name, ok := node.(*ast.SelectorExpr); ok {
				switch types.ExprString(name) {
				case "bubble.Test":
					n++
				case "synctest.Test":
					t.Errorf("%s: synctest.Test, want bubble.Test", fset.Position(name.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || n == 0 {
		t.Errorf("%d bubbles, %v", n, err)
	}
}
