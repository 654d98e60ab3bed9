package control

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wireWords returns what a pattern finds in a file of ZooKeeper's protocol, which is
// internal to another module.
func wireWords(t *testing.T, file, pattern string) (words []string) {
	t.Helper()
	text, err := os.ReadFile("../../../../zksync/internal/wire/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		words = append(words, found[1])
	}
	slices.Sort(words)
	return words
}

// The control port knows each request that the server records, and each result.
func TestWordsAreThoseOfTheServer(t *testing.T) {
	want := wireWords(t, "op.go", `(?m)^\tOp\w+ .*// (\w+)$`)
	want = slices.DeleteFunc(want, func(op string) bool { return op == "error" || op == "notify" || op == opPing })
	got := slices.Sorted(slices.Values(ops[1:]))
	if !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	want = wireWords(t, "code.go", `(?m)^\t\treturn "(\w+)"$`)
	if got := slices.Sorted(slices.Values(results)); !slices.Equal(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
}

// A misspelt word is an error that says what was meant.
func TestMisspeltWords(t *testing.T) {
	inBubble(t, func(r *rig) {
		for what, says := range map[string]string{
			"op=creat":           `op="creat": no such request; did you mean create?`,
			"op=CREATE":          `op="CREATE": no such request; did you mean create?`,
			"op=getChild":        `did you mean getChildren or getChildren2?`,
			"op=write":           `op="write": no such request; want connect, create, create2, `,
			"op=ping":            `op="ping": pings are neither recorded nor lost; blackhole holds them back`,
			"op=create,delete":   `op="create,delete": no such request; `,
			"op=Op(x)":           `no such request; `,
			"path=/x&op=getdata": `did you mean getData?`,
		} {
			r.refuses("POST", "drop?what=reply&"+what, 400, "/drop: ")
			for _, q := range []struct{ method, what string }{{"POST", "drop?what=request&"}, {"GET", "requests?"}, {"GET", "wait?timeout=0&"}} {
				r.refuses(q.method, q.what+what, 400, says)
			}
		}
		for _, q := range []string{"requests?", "wait?timeout=0&"} {
			r.refuses("GET", q+"result=Ok", 400, `result="Ok": no such result; did you mean OK?`)
			r.refuses("GET", q+"result=NoNodeError", 400, `did you mean NoNode?`)
			r.refuses("GET", q+"result=lost", 400, `result="lost": no such result; want OK, NoNode, `)
		}
		r.refuses("POST", "drop?what=request&op=connect", 400, `/drop: op="connect": a connect is never lost; refuse and blackhole keep clients from connecting`)
		if st := r.act("drop?what=request&op=Op(77)&count=2"); st.Drops != 2 {
			t.Errorf("%d to be lost, want 2", st.Drops)
		}
		r.client(0)
		var came Requests
		for _, op := range append(ops, "Op(77)") {
			r.get("requests?op="+op, &came)
		}
		r.get("wait?op=connect&result=OK", &came)
		if len(came.Requests) != 1 || strings.Join(came.Requests[0].Paths, "") != "" {
			t.Errorf("%+v", came)
		}
	})
}
