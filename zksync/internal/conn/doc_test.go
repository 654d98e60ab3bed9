package conn

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The package's comment names declarations that exist, and lines of the version of
// the client that is in use.
func TestDocNamesWhatExists(t *testing.T) {
	t.Parallel()
	declared := declarations(t, ".", "")
	for name := range declarations(t, "../queue", "queue.") {
		declared[name] = true
	}
	items := 0
	for _, text := range listed(t, "doc.go") {
		items++
		_, met, ok := strings.Cut(text, " Met: ")
		if !ok || !strings.HasSuffix(met, ".") {
			t.Errorf("no end of %q says what meets it", text)
		}
		for name := range strings.SplitSeq(strings.TrimSuffix(met, "."), ", ") {
			if !declared[name] {
				t.Errorf("there is no %s: %q", name, text)
			}
		}
		if !strings.Contains(text, ".go:") && !strings.Contains(text, "jute.maxbuffer") {
			t.Errorf("no line of the client: %q", text)
		}
	}
	if items < 40 {
		t.Errorf("%d defects in the list", items)
	}
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`go-zookeeper/zk (v\S+)`).FindSubmatch(mod); m == nil || string(m[1]) != "v1.0.4" {
		t.Errorf("go.mod has %q: the lines in the package's comment are those of v1.0.4", m)
	}
}

// listed returns the items of the lists in a file's package comment, each in one
// line.
func listed(t *testing.T, file string) (items []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	doc := new(comment.Parser).Parse(f.Doc.Text())
	for _, block := range doc.Content {
		list, ok := block.(*comment.List)
		if !ok {
			continue
		}
		for _, item := range list.Items {
			text := string(new(comment.Printer).Text(&comment.Doc{Content: item.Content}))
			items = append(items, strings.Join(strings.Fields(text), " "))
		}
	}
	return items
}

// declarations returns the names that the package in a directory declares: those
// of methods after their type's.
func declarations(t *testing.T, dir, prefix string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					typ := d.Recv.List[0].Type
					if star, ok := typ.(*ast.StarExpr); ok {
						typ = star.X
					}
					name = typ.(*ast.Ident).Name + "." + name
				}
				names[prefix+name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						names[prefix+spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							names[prefix+name.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}
