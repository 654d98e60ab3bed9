package repo_test

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docOf is what godoc shows of a package, with the examples of its tests.
func docOf(t *testing.T, dir string) (*doc.Package, *token.FileSet) {
	t.Helper()
	src := parseDir(t, dir, false)
	files := make([]*ast.File, 0, len(src.files))
	for _, f := range src.files {
		files = append(files, f)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*_test.go")); len(found) > 0 {
		for name := range parseDir(t, dir, true).files {
			f, err := parser.ParseFile(src.fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
	}
	p, err := doc.NewFromFiles(src.fset, files, module+"/"+filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	return p, src.fset
}

// documented are the directories of the packages that programs import.
func documented(t *testing.T) []string {
	dirs := []string{".", "zksync", "zksync/zktest", "zksync/zktest/ensemble", "zksync/zksynctest"}
	if found, _ := filepath.Glob("tracing/*.go"); len(found) > 0 {
		dirs = append(dirs, "tracing")
	}
	return dirs
}

// What a struct's comment has to say, unless it calls the type a plain value,
// which the guide of package zksync explains.
var structWords = map[string]*regexp.Regexp{
	"its zero value":            regexp.MustCompile(`(?i)zero value`),
	"copying":                   regexp.MustCompile(`(?i)\bcop(y|ies|ied)\b`),
	"use by several goroutines": regexp.MustCompile(`(?i)goroutine|concurrent`),
}

func TestDocComments(t *testing.T) {
	for _, dir := range documented(t) {
		p, _ := docOf(t, dir)
		if p.Doc == "" {
			t.Errorf("%s: no package comment", dir)
		}
		need := func(kind, name, text string) {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s %s has no comment", dir, kind, name)
			}
		}
		for _, f := range p.Funcs {
			need("func", f.Name, f.Doc)
		}
		values(p.Consts, need)
		values(p.Vars, need)
		for _, typ := range p.Types {
			need("type", typ.Name, typ.Doc)
			values(typ.Consts, need)
			values(typ.Vars, need)
			for _, f := range append(slices.Clone(typ.Funcs), typ.Methods...) {
				need("func", typ.Name+"."+f.Name, f.Doc)
			}
			if !isStruct(typ) || strings.Contains(typ.Doc, "plain value") {
				continue
			}
			for what, words := range structWords {
				if !words.MatchString(flat(typ.Doc)) {
					t.Errorf("%s: the comment of type %s says nothing of: %s", dir, typ.Name, what)
				}
			}
		}
	}
}

// values requires a comment on each value or on its group.
func values(groups []*doc.Value, need func(kind, name, text string)) {
	for _, g := range groups {
		for _, spec := range g.Decl.Specs {
			v := spec.(*ast.ValueSpec)
			for _, name := range v.Names {
				if name.IsExported() {
					need("value", name.Name, g.Doc+v.Doc.Text()+v.Comment.Text())
				}
			}
		}
	}
}

func isStruct(typ *doc.Type) bool {
	for _, spec := range typ.Decl.Specs {
		if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == typ.Name {
			_, ok := s.Type.(*ast.StructType)
			return ok
		}
	}
	return false
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// Links in square brackets that lead nowhere stay in the text.
var deadLink = regexp.MustCompile(`\[\*?[A-Za-z_]\w*(\.\w+)*\]`)

func TestDocLinks(t *testing.T) {
	for _, dir := range documented(t) {
		p, _ := docOf(t, dir)
		check := func(name, text string) {
			d := p.Parser().Parse(text)
			for _, block := range d.Content {
				if _, code := block.(*comment.Code); code {
					continue
				}
				for _, l := range deadLink.FindAllString(plain(block), -1) {
					t.Errorf("%s: the comment of %s: %s leads nowhere", dir, name, l)
				}
			}
		}
		check("the package", p.Doc)
		for _, f := range p.Funcs {
			check(f.Name, f.Doc)
		}
		for _, typ := range p.Types {
			check(typ.Name, typ.Doc)
			for _, f := range append(slices.Clone(typ.Funcs), typ.Methods...) {
				check(typ.Name+"."+f.Name, f.Doc)
			}
		}
	}
}

// plain is a block's text without that of its links.
func plain(block comment.Block) string {
	var b strings.Builder
	texts := func(list []comment.Text) {
		for _, x := range list {
			switch x := x.(type) {
			case comment.Plain:
				b.WriteString(string(x))
			case comment.Italic:
				b.WriteString(string(x))
			}
		}
	}
	switch x := block.(type) {
	case *comment.Paragraph:
		texts(x.Text)
	case *comment.Heading:
		texts(x.Text)
	case *comment.List:
		for _, item := range x.Items {
			for _, sub := range item.Content {
				b.WriteString(plain(sub))
			}
		}
	}
	return b.String()
}

// An example that godoc shows on no page helps nobody, and one without output
// is not run. One that is the body of a test can't be.
func TestExamplesAreShownAndRun(t *testing.T) {
	for _, dir := range documented(t) {
		p, _ := docOf(t, dir)
		shown := make(map[string]bool)
		note := func(where string, list []*doc.Example) {
			for _, ex := range list {
				name := where
				if ex.Suffix != "" {
					name += "_" + ex.Suffix
				}
				shown["Example"+name] = true
				if (ex.Output == "" || ex.EmptyOutput) && !usesTesting(ex.Code) {
					t.Errorf("%s: Example%s has no output", dir, name)
				}
			}
		}
		note("", p.Examples)
		for _, f := range p.Funcs {
			note(f.Name, f.Examples)
		}
		for _, typ := range p.Types {
			note(typ.Name, typ.Examples)
			for _, f := range typ.Funcs {
				note(f.Name, f.Examples)
			}
			for _, f := range typ.Methods {
				note(typ.Name+"_"+f.Name, f.Examples)
			}
		}
		n := 0
		if found, _ := filepath.Glob(filepath.Join(dir, "*_test.go")); len(found) == 0 {
			continue
		}
		for file, f := range parseDir(t, dir, true).files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Example") {
					continue
				}
				n++
				if !shown[fn.Name.Name] {
					t.Errorf("%s: %s is on no page", file, fn.Name.Name)
				}
			}
		}
		if n != len(shown) {
			t.Errorf("%s: %d examples, %d on a page", dir, n, len(shown))
		}
	}
}
