package zktest_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// supportedWords has a row for each word of ZooKeeper 3.8.
func supportedWords(t *testing.T) [][]string {
	rows := [][]string{{"word", "answered"}}
	for word := range strings.FieldsSeq("conf cons crst dirs dump envi gtmk hash isro mntr ruok srst srvr stat stmk wchc wchp wchs") {
		answer := "yes"
		switch {
		case isWordAnswered(t, word):
		case isWordAnswered(t, word, zktest.WithFourLetterWords("*")):
			answer = "with `WithFourLetterWords`"
		default:
			answer = "**no**"
		}
		rows = append(rows, []string{word, answer})
	}
	return rows
}

// isWordAnswered reports whether a server with these options answers a word, by more than
// that it is not in the whitelist.
func isWordAnswered(t *testing.T, word string, opts ...zktest.Option) (answered bool) {
	bubble.Test(t, func(t *testing.T) {
		c := rawDial(t, zktest.Run(t, opts...).Dial, "")
		c.write([]byte(word))
		_ = c.nc.SetReadDeadline(time.Now().Add(time.Minute)) // fails if the end has come already
		text, err := io.ReadAll(c.nc)
		answered = err == nil && len(text) > 0 && !strings.Contains(string(text), "whitelist")
	})
	return answered
}

// supportedFaults has a row for each method that makes or ends a fault, whom it may be of,
// and a test or an example that shows it. These are the methods of Faults, and those of the
// files on faults and the quorum, but Leader, which only looks.
func supportedFaults(t *testing.T) [][]string {
	p, fset, shows := parseTests(t)
	type fault struct{ what, of string }
	faults := make(map[string]fault)
	for _, typ := range p.Types {
		for _, f := range typ.Methods {
			file := filepath.Base(fset.Position(f.Decl.Pos()).Filename)
			of := strings.ToLower(typ.Name)
			switch {
			case typ.Name == "Faults":
				of = "server, member"
			case file != "server_fault.go" && file != "server_quorum.go" || f.Name == "Leader":
				continue
			}
			faults[f.Name] = fault{strings.TrimPrefix(p.Synopsis(f.Doc), f.Name+" "), of}
		}
	}
	for _, name := range []string{"Refuse", "Expire", "LoseQuorum", "RegainQuorum", "Lead"} {
		if faults[name].what == "" {
			t.Errorf("%s is not found", name)
		}
	}
	for _, typ := range p.Types {
		for _, f := range typ.Methods {
			if x, ok := faults[f.Name]; ok && typ.Name == "Link" {
				faults[f.Name] = fault{x.what, x.of + ", link"}
			}
		}
	}
	rows := [][]string{{"fault", "what it does", "of", "shown by"}}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if shows[name] == "" {
			t.Errorf("no test and no example shows the fault %s", name)
		}
		rows = append(rows, []string{"`" + name + "`", faults[name].what, faults[name].of, "`" + shows[name] + "`"})
	}
	return rows
}

// parseTests returns the documentation of the package, and by the names of methods the
// test or example that shows each: the one whose name has most to do with it.
func parseTests(t *testing.T) (*doc.Package, *token.FileSet, map[string]string) {
	names, err := filepath.Glob("*.go")
	must(t, err)
	fset, shows := token.NewFileSet(), make(map[string]string)
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		must(t, err)
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Example") {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					shows[sel.Sel.Name] = better(sel.Sel.Name, shows[sel.Sel.Name], fn.Name.Name)
				}
				return true
			})
		}
	}
	p, err := doc.NewFromFiles(fset, files, "zktest")
	must(t, err)
	return p, fset, shows
}

// better returns which of two functions is the one to show a method: one that is named
// after it, a test rather than an example, then an example of faults, the first by name.
func better(method, a, b string) string {
	rank := func(name string) int {
		isTest := 0
		if strings.HasPrefix(name, "Test") {
			isTest = 1
		}
		switch {
		case strings.HasSuffix(name, method):
			return 4 + isTest
		case strings.Contains(name, method):
			return 2 + isTest
		case strings.HasPrefix(name, "ExampleFaults"):
			return 1
		}
		return 0
	}
	if a == "" || rank(b) > rank(a) || rank(b) == rank(a) && b < a {
		return b
	}
	return a
}
