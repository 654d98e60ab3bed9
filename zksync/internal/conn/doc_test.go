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

// The package comment names declarations that exist, and lines of the version of the
// client that is in use.
func TestDocNamesWhatExists(t *testing.T) {
	t.Parallel()
	declared := declarations(t, ".", "")
	for name := range declarations(t, "../queue", "queue.") {
		declared[name] = true
	}
	parts := partsListed(t, "doc.go")
	for _, part := range parts {
		if !declarations(t, part[0], "")[part[1]] {
			t.Errorf("there is no %s in %s", part[1], part[0])
		}
	}
	if len(parts) < 10 {
		t.Errorf("%d parts in the list", len(parts))
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

// packageDoc returns the package comment of a file.
func packageDoc(t *testing.T, file string) *comment.Doc {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return new(comment.Parser).Parse(f.Doc.Text())
}

// partsListed returns the files and types that stand in the table of a file's package
// comment.
func partsListed(t *testing.T, file string) (parts [][2]string) {
	t.Helper()
	for _, block := range packageDoc(t, file).Content {
		code, ok := block.(*comment.Code)
		if !ok {
			continue
		}
		for line := range strings.Lines(code.Text) {
			fields := strings.Fields(line)
			parts = append(parts, [2]string{fields[0], fields[1]})
		}
	}
	return parts
}

// listed returns the items of the lists in a file's package comment, each as one line.
func listed(t *testing.T, file string) (items []string) {
	t.Helper()
	for _, block := range packageDoc(t, file).Content {
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

// declarations returns the names that a file declares, or all files in a directory.
// The name of a method stands after the name of its type.
func declarations(t *testing.T, where, prefix string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	files := []string{where}
	if !strings.HasSuffix(where, ".go") {
		var err error
		if files, err = filepath.Glob(filepath.Join(where, "*.go")); err != nil {
			t.Fatal(err)
		}
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
