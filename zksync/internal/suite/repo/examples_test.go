package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// usesTesting reports whether code names package testing.
func usesTesting(code ast.Node) bool {
	found := false
	ast.Inspect(code, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, ok := sel.X.(*ast.Ident)
			found = found || ok && x.Name == "testing"
		}
		return !found
	})
	return found
}

// What a package's comment shows is what is tested.
func TestPackageCommentsShowTests(t *testing.T) {
	for _, test := range []struct{ doc, src, names string }{
		{"zksync/zktest/doc.go", "zksync/zktest/server_example_test.go", "register TestRegisterSurvivesExpiry"},
		{"zksync/zksynctest/zksynctest.go", "zksync/zksynctest/example_test.go", "nightly TestNightlyStopsWithItsLock"},
	} {
		shown, src := commentCode(t, test.doc), funcTexts(t, test.src)
		for name := range strings.FieldsSeq(test.names) {
			if text := src[name]; text == "" || !strings.Contains(shown, text+"\n") {
				t.Errorf("%s does not show %s of %s:\n%s", test.doc, name, test.src, text)
			}
		}
	}
}

// commentCode returns the code in the comments of a file.
func commentCode(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			shown.WriteString(code)
		}
	}
	return shown.String()
}

// funcTexts returns the functions of a file, by name.
func funcTexts(t *testing.T, file string) map[string]string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	list := make(map[string]string)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
			list[fn.Name.Name] = string(src[fset.Position(fn.Pos()).Offset:fset.Position(fn.End()).Offset])
		}
	}
	return list
}

// Names that need no example: of methods that packages fmt, errors, net and log/slog call
// by themselves.
var needNoExample = strings.Fields("Error Unwrap Is As String Timeout LogValue")

// Every exported name is in an example. A type is also in one that calls its methods, or
// a function with this type in its signature.
func TestEachNameIsInAnExample(t *testing.T) {
	for _, dir := range []string{"zksync", "tracing", "zksync/zktest", "zksync/zktest/ensemble", "zksync/zksynctest"} {
		used := make(map[string]bool)
		for _, f := range parseDir(t, dir, true).files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example") {
					identifiers(fn.Body, used)
				}
			}
		}
		p, _ := docOf(t, dir)
		for _, typ := range p.Types {
			for _, f := range append(typ.Funcs, typ.Methods...) {
				if used[f.Name] {
					used[typ.Name] = true
					identifiers(f.Decl.Type, used)
				}
			}
		}
		for _, f := range p.Funcs {
			if used[f.Name] {
				identifiers(f.Decl.Type, used)
			}
		}
		for _, name := range exported(t, dir) {
			if !used[name] && !slices.Contains(needNoExample, name) {
				t.Errorf("%s: %s is in no example", filepath.ToSlash(dir), name)
			}
		}
	}
}

// identifiers adds all identifiers in code to a set.
func identifiers(code ast.Node, set map[string]bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			set[id.Name] = true
		}
		return true
	})
}

// exported returns the exported names of a package, methods included.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, f := range parseDir(t, dir, false).files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					names = append(names, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names = append(names, spec.Name.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names = append(names, name.Name)
						}
					}
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}

// receiver returns the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	id, _ := x.(*ast.Ident)
	return id.Name
}
