package zktest_test

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

const supportPage = "docs/test-server.md"

var update = flag.Bool("update", false, "have TestSupport write the tables of "+supportPage)

// TestSupport compares the tables of the page on the server with what the server does.
func TestSupport(t *testing.T) {
	t.Run("requests", func(t *testing.T) { supportPart(t, "requests", supportedRequests(t)) })
	t.Run("schemes", func(t *testing.T) { supportPart(t, "schemes", supportedSchemes(t)) })
	t.Run("words", func(t *testing.T) { supportPart(t, "words", supportedWords(t)) })
	t.Run("majorities", func(t *testing.T) { supportPart(t, "majorities", supportedMajorities(t)) })
	t.Run("faults", func(t *testing.T) { supportPart(t, "faults", supportedFaults(t)) })
}

// supportPart compares a table with the page, or writes it there.
func supportPart(t *testing.T, name string, rows [][]string) {
	t.Helper()
	var b strings.Builder
	line := func(row []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | ")) }
	line(rows[0])
	line(slices.Repeat([]string{"---"}, len(rows[0])))
	for _, row := range rows[1:] {
		line(row)
	}
	switch {
	case t.Failed():
	case *update:
		suite.SetPagePart(t, supportPage, name, b.String())
	default:
		if shown := suite.PagePart(t, supportPage, name); shown != b.String() {
			t.Errorf("only %s has\n%sonly the server has\n%swrite it: go test ./zksync/zktest -run TestSupport -update",
				supportPage, notIn(b.String(), shown), notIn(shown, b.String()))
		}
	}
}

// notIn returns the lines of text that other does not have.
func notIn(other, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains("\n"+other, "\n"+line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// supportedRequests has a row for each request that a client may send.
func supportedRequests(t *testing.T) [][]string {
	results, random := resultsInConversations(t), inRandomConversations()
	rows := [][]string{{"request", "carried out", "results in the conversations with both servers", "in random conversations"}}
	for _, op := range clientOps() {
		list := results[op]
		carriedOut := "yes"
		switch {
		case len(list) == 0 && !isAnswered(t, op):
			carriedOut = "**no**: Unimplemented"
		case len(list) == 0 && random[op] == nil:
			carriedOut = "yes, not compared"
		case len(list) == 0:
			carriedOut = "yes"
		case !list["OK"] && !slices.Contains(random[op], "in a multi"): // a good check alone stalls ZooKeeper
			carriedOut = "refused"
		}
		shown := make([]string, 0, len(list))
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if name != "OK" {
				shown = append(shown, name)
			}
		}
		if list["OK"] {
			shown = slices.Insert(shown, 0, "OK")
		}
		rows = append(rows, []string{op.String(), carriedOut, strings.Join(shown, ", "), strings.Join(random[op], ", ")})
	}
	return rows
}

// clientOps returns all requests that package wire knows, but the types that only
// answers have.
func clientOps() (ops []wire.Op) {
	for op := wire.Op(-100); op < 1000; op++ {
		if strings.HasPrefix(op.String(), "Op(") || op == wire.OpError || op == wire.OpNotify {
			continue
		}
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b wire.Op) int { return strings.Compare(a.String(), b.String()) })
	return ops
}

var partResult = regexp.MustCompile(`\berror:(\w+)`)

// resultsInConversations has the conversations that TestProtocol requires of both servers,
// and returns the results by request.
func resultsInConversations(t *testing.T) map[wire.Op]map[string]bool {
	all := make(map[wire.Op]map[string]bool)
	for _, cv := range conversations {
		inBubble(t, func(t *testing.T, s *zktest.Server) {
			c := open(t, s)
			for _, step := range cv.steps {
				r, _ := c.do(step.op, step.parts...)
				if r.closed {
					return
				}
				if all[step.op] == nil {
					all[step.op] = make(map[string]bool)
				}
				results := []string{r.Err.String()}
				if parts := partResult.FindAllStringSubmatch(text(c, step.op, r, 0), -1); parts != nil {
					results = nil
					for _, m := range parts {
						results = append(results, m[1])
					}
				}
				for _, name := range results {
					all[step.op][name] = true
				}
			}
		})
	}
	for _, ch := range slices.Concat(reconfigsOfAnybody, reconfigsOfSuper) { // those of TestReconfig
		result := ch.want
		if result == "" || strings.Contains(result, "server.") {
			result = "OK"
		}
		all[wire.OpReconfig][result] = true
	}
	for op, list := range all {
		if len(list) == 1 && list["Unimplemented"] {
			delete(all, op) // both servers agree that there is no such request
		}
	}
	return all
}

// inRandomConversations returns how a request is in the conversations by which the
// comparison draws: by itself, in a multi.
func inRandomConversations() map[wire.Op][]string {
	all := make(map[wire.Op][]string)
	note := func(op wire.Op, how string) {
		if !slices.Contains(all[op], how) {
			all[op] = append(all[op], how)
			slices.Sort(all[op])
		}
	}
	for seed := range uint64(300) {
		for _, step := range randomSteps(seed, "/root", compareLength) {
			for _, r := range step.requests {
				note(r.op, "alone")
				for _, part := range r.ops {
					note(part.op, "in a "+r.op.String())
				}
			}
		}
	}
	return all
}

// isAnswered reports whether the server knows a request.
func isAnswered(t *testing.T, op wire.Op) (known bool) {
	inBubble(t, func(t *testing.T, s *zktest.Server) {
		c := open(t, s)
		c.sendXid(math.MaxInt32, op)
		r := c.recv()
		known = !r.closed && r.Err != wire.CodeUnimplemented
	})
	return known
}

// The package comment says of each request whether the server carries it out.
func TestPackageCommentNamesRequests(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	must(t, err)
	for _, op := range clientOps() {
		if !strings.Contains(strings.ToLower(string(text)), strings.ToLower(op.String())) {
			t.Errorf("doc.go does not say what becomes of the request %v", op)
		}
	}
}

// supportedSchemes has a row for each scheme of ZooKeeper.
func supportedSchemes(t *testing.T) [][]string {
	rows := [][]string{{"scheme", "in an ACL", "by the request auth"}}
	for _, scheme := range []struct {
		name, id, proof string
		opts            []zktest.Option
		by              string // the options
	}{
		{name: "world", id: "anyone"}, {name: "auth"}, {name: "digest", id: digestAB, proof: "a:b"}, {name: "ip", id: "127.0.0.1"},
		{name: "sasl", id: "bob", proof: "bob"},
		{name: "sasl", id: "bob", proof: "bob", opts: []zktest.Option{zktest.WithSASLUsers(saslUsers)}, by: ", with `WithSASLUsers`"},
		{name: "x509", id: "CN=bob", proof: "CN=bob"}, {name: "super", id: digestAB, proof: "a:b"},
	} {
		inBubble(t, func(t *testing.T, _ *zktest.Server) {
			s := zktest.Run(t, scheme.opts...)
			answer := func(c *rawConn, op wire.Op, parts ...any) string {
				switch r, _ := c.do(op, parts...); {
				case r.closed:
					return "**no**: the connection ends"
				case r.Err != 0:
					return "**no**: " + r.Err.String()
				}
				return "yes"
			}
			c := open(t, s)
			c.ok(wire.OpAuth, 0, "digest", []byte("a:b")) // scheme auth needs an identity
			inACL := answer(c, wire.OpCreate, "/a", null, acl(31, scheme.name, scheme.id), 0)
			byAuth := answer(open(t, s), wire.OpAuth, 0, scheme.name, []byte(scheme.proof))
			rows = append(rows, []string{scheme.name + scheme.by, inACL, byAuth})
		})
	}
	return rows
}
