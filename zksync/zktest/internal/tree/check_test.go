package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// What a create makes of the node, by its operation, its flags and whether it is
// a part of a multi.
func TestCreateKinds(t *testing.T) {
	const tooLong = maxTTL + 1
	for _, test := range []struct {
		op    wire.Op
		flags int32
		ttl   int64
		part  bool
		want  kind
		code  wire.Code
	}{
		{op: wire.OpCreate, flags: 0, ttl: -1, want: persistent},
		{op: wire.OpCreate, flags: flagSequential, ttl: -1, want: persistent},
		{op: wire.OpCreate, flags: flagEphemeral, ttl: -1, want: ephemeral},
		{op: wire.OpCreate2, flags: flagEphSequential, ttl: -1, want: ephemeral},
		{op: wire.OpCreate, flags: 7, ttl: -1, code: wire.CodeBadArguments},
		{op: wire.OpCreate, flags: -1, ttl: -1, code: wire.CodeBadArguments},

		// A container is made by its own request, and in a multi by the flags.
		{op: wire.OpCreate, flags: flagContainer, ttl: -1, want: persistent},
		{op: wire.OpCreate, flags: flagContainer, ttl: -1, part: true, want: container},
		{op: wire.OpCreateContainer, flags: flagContainer, ttl: -1, want: container},
		{op: wire.OpCreateContainer, flags: 0, ttl: -1, want: container},
		{op: wire.OpCreateContainer, flags: flagEphemeral, ttl: -1, want: container},
		{op: wire.OpCreateContainer, flags: flagEphemeral, ttl: -1, part: true, want: ephemeral},
		{op: wire.OpCreateContainer, flags: flagTTL, ttl: -1, code: wire.CodeBadArguments},

		{op: wire.OpCreateTTL, flags: flagTTL, ttl: 1, want: timed},
		{op: wire.OpCreateTTL, flags: flagSeqTTL, ttl: maxTTL, want: timed},
		{op: wire.OpCreateTTL, flags: flagTTL, ttl: 1, part: true, want: timed},
		{op: wire.OpCreateTTL, flags: flagTTL, ttl: 0, code: wire.CodeBadArguments},
		{op: wire.OpCreateTTL, flags: flagTTL, ttl: tooLong, code: wire.CodeBadArguments},
		{op: wire.OpCreateTTL, flags: 0, ttl: 5, code: wire.CodeBadArguments},
		{op: wire.OpCreateTTL, flags: 0, ttl: 5, part: true, want: persistent},
		{op: wire.OpCreateTTL, flags: 0, ttl: -1, want: persistent},
		{op: wire.OpCreate, flags: flagTTL, ttl: -1, code: wire.CodeBadArguments},
		{op: wire.OpCreate, flags: flagTTL, ttl: -1, part: true, code: wire.CodeMarshallingError},
	} {
		name := fmt.Sprintf("%v flags=%d ttl=%d part=%v", test.op, test.flags, test.ttl, test.part)
		tr := New()
		r := Request{Op: test.op, Path: "/n", ACL: world, Flags: test.flags, TTL: test.ttl, Part: test.part}
		out := tr.Write(tr.Begin(now), &r, me)
		if out.Code != test.code {
			t.Errorf("%s: %v, want %v", name, out.Code, test.code)
			continue
		}
		if test.code != wire.CodeOK {
			continue
		}
		n := tr.Node(out.Path)
		if n.kind != test.want {
			t.Errorf("%s: kind %d, want %d", name, n.kind, test.want)
		}
		if owned, own := n.owner == mine, test.want == ephemeral; owned != own {
			t.Errorf("%s: owner %#x", name, n.owner)
		}
		if sequential := len(out.Path) > len("/n"); sequential != r.sequential() {
			t.Errorf("%s: path %s", name, out.Path)
		}
		wantOp := wire.OpCreate
		if n.kind.selfGoing() {
			wantOp = wire.OpCreate2
		}
		if out.Op != wantOp {
			t.Errorf("%s: answered as %v in a multi, want %v", name, out.Op, wantOp)
		}
	}
}

// The first objection is the answer: each row has the objections of the rows
// below it, too, as far as they go together.
func TestWriteErrors(t *testing.T) {
	closed := []wire.ACL{{Perms: PermRead, Scheme: "world", ID: "anyone"}}
	badACL := []wire.ACL{{Perms: PermAll, Scheme: "digest", ID: "no colon"}}
	newTree := func() *Tree {
		tr := with(t, "/open", "/open/n", "/open/n/child", "/e!", "/closed", "/closed/n")
		for _, p := range []string{"/closed/n", "/closed"} {
			must(t, tr, Request{Op: wire.OpSetACL, Path: p, ACL: closed, Version: -1})
		}
		return tr
	}
	for _, test := range []struct {
		name string
		r    Request
		want wire.Code
	}{
		{"create, flags", Request{Op: wire.OpCreate, Path: "n", Flags: 9}, wire.CodeBadArguments},
		{"create, no slash", Request{Op: wire.OpCreate, Path: "n", ACL: badACL}, wire.CodeBadArguments},
		{"create, null character", Request{Op: wire.OpCreate, Path: "/n\x00", ACL: badACL}, wire.CodeBadArguments},
		{"create, ACL", Request{Op: wire.OpCreate, Path: "/none/n", ACL: badACL}, wire.CodeInvalidACL},
		{"create, no ACL", Request{Op: wire.OpCreate, Path: "/none/n"}, wire.CodeInvalidACL},
		{"create, parent", Request{Op: wire.OpCreate, Path: "/none/..", ACL: world}, wire.CodeNoNode},
		{"create, permission", Request{Op: wire.OpCreate, Path: "/closed/..", ACL: world}, wire.CodeNoAuth},
		{"create, path", Request{Op: wire.OpCreate, Path: "/e/..", ACL: world}, wire.CodeBadArguments},
		{"create, the root", Request{Op: wire.OpCreate, Path: "/", ACL: world}, wire.CodeNodeExists},
		{"create, exists", Request{Op: wire.OpCreate, Path: "/open/n", ACL: world}, wire.CodeNodeExists},
		{"create, below an ephemeral node", Request{Op: wire.OpCreate, Path: "/e/n", ACL: world}, wire.CodeNoChildrenForEphemerals},
		{"create, a number makes the name valid", Request{Op: wire.OpCreate, Path: "/open/..", Flags: flagSequential, ACL: world}, wire.CodeOK},

		{"delete, no slash", Request{Op: wire.OpDelete, Path: "n"}, wire.CodeBadArguments},
		{"delete, the root", Request{Op: wire.OpDelete, Path: "/"}, wire.CodeBadArguments},
		{"delete, ZooKeeper's own", Request{Op: wire.OpDelete, Path: "/zookeeper/quota"}, wire.CodeBadArguments},
		{"delete, parent", Request{Op: wire.OpDelete, Path: "/none/n"}, wire.CodeNoNode},
		{"delete, permission", Request{Op: wire.OpDelete, Path: "/closed/none"}, wire.CodeNoAuth},
		{"delete, no node", Request{Op: wire.OpDelete, Path: "/open/none"}, wire.CodeNoNode},
		{"delete, version", Request{Op: wire.OpDelete, Path: "/open/n", Version: 1}, wire.CodeBadVersion},
		{"delete, children", Request{Op: wire.OpDelete, Path: "/open/n", Version: -1}, wire.CodeNotEmpty},
		{"delete", Request{Op: wire.OpDelete, Path: "/open/n/child"}, wire.CodeOK},

		{"setData, path", Request{Op: wire.OpSetData, Path: "/open/"}, wire.CodeBadArguments},
		{"setData, no node", Request{Op: wire.OpSetData, Path: "/none"}, wire.CodeNoNode},
		{"setData, permission", Request{Op: wire.OpSetData, Path: "/closed", Version: 7}, wire.CodeNoAuth},
		{"setData, version", Request{Op: wire.OpSetData, Path: "/open", Version: 7}, wire.CodeBadVersion},
		{"setData", Request{Op: wire.OpSetData, Path: "/open", Version: 0}, wire.CodeOK},

		{"setACL, path", Request{Op: wire.OpSetACL, Path: "", ACL: badACL}, wire.CodeBadArguments},
		{"setACL, ACL", Request{Op: wire.OpSetACL, Path: "/none", ACL: badACL}, wire.CodeInvalidACL},
		{"setACL, no node", Request{Op: wire.OpSetACL, Path: "/none", ACL: world}, wire.CodeNoNode},
		{"setACL, permission", Request{Op: wire.OpSetACL, Path: "/closed", ACL: world}, wire.CodeNoAuth},
		{"setACL, version of the ACL", Request{Op: wire.OpSetACL, Path: "/open", ACL: world, Version: 1}, wire.CodeBadVersion},
		{"setACL", Request{Op: wire.OpSetACL, Path: "/open", ACL: world, Version: 0}, wire.CodeOK},

		{"check, no node", Request{Op: wire.OpCheck, Path: "/none"}, wire.CodeNoNode},
		{"check, version", Request{Op: wire.OpCheck, Path: "/closed", Version: 1}, wire.CodeBadVersion},
		{"check", Request{Op: wire.OpCheck, Path: "/closed", Version: 0}, wire.CodeOK},
	} {
		tr := newTree()
		x := tr.Begin(now)
		before := dump(tr)
		test.r.TTL = -1
		out := tr.Write(x, &test.r, me)
		if out.Code != test.want {
			t.Errorf("%s: %v, want %v", test.name, out.Code, test.want)
		}
		changes := test.want == wire.CodeOK && test.r.Op != wire.OpCheck
		if changed := dump(tr) != before; changed != changes || (len(x.Changes) == 1) != changes {
			t.Errorf("%s: changed %v, %d changes in the transaction", test.name, changed, len(x.Changes))
		}
	}
}

func TestPaths(t *testing.T) {
	for p, want := range map[string]bool{
		"/": true, "/a": true, "/a/b.c": true, "/a/..b": true, "/\u00e4\u20ac": true,
		"": false, "a": false, "/a/": false, "//a": false, "/a//b": false, "/a/.": false, "/a/../b": false,
		"/a\x00": false, "/\x1f": false, "/\x7f": false, "/\ue000": false, "/\ufff0": false, "/\U0001f600": false,
	} {
		if validPath(p) != want {
			t.Errorf("path %q is valid: %v, want %v", p, !want, want)
		}
	}
	for p, want := range map[string]string{"/a": "/", "/a/b": "/a", "/": "/", "/a/": "/a", "a/b": "a", "a": "", "": "", "/a\x00/b": ""} {
		if got, ok := splitPath(p); got != want || ok != (want != "") {
			t.Errorf("parent of %q: %q, %v, want %q", p, got, ok, want)
		}
	}
}

// A multi carries out all operations, or none, and says what became of each.
func TestMulti(t *testing.T) {
	create := func(p string, flags int32) Request {
		r := createOf(wire.OpCreate, p, flags)
		r.Part = true
		return r
	}
	good := []Request{
		create("/a", 0), create("/a/s-", flagEphSequential), create("/box", flagContainer), create("/gone", 0),
		{Op: wire.OpSetData, Path: "/old", Data: []byte("new"), Part: true},
		{Op: wire.OpCheck, Path: "/old", Version: 1, Part: true},
		{Op: wire.OpDelete, Path: "/gone", Part: true},
		{Op: wire.OpDelete, Path: "/old/child", Version: -1, Part: true},
	}
	t.Run("all", func(t *testing.T) {
		tr := with(t, "/old", "/old/child!")
		x := tr.Begin(now)
		outs, failed, code := tr.Multi(x, good, me)
		if failed || code != wire.CodeOK || len(x.Changes) != 7 {
			t.Fatalf("failed %v, code %v, %d changes", failed, code, len(x.Changes))
		}
		var got strings.Builder
		for _, out := range outs {
			fmt.Fprintf(&got, "%v %s %d\n", out.Op, out.Path, out.Stat.Version)
		}
		want := "create /a 0\ncreate /a/s-0000000000 0\ncreate2 /box 0\ncreate /gone 0\n" +
			"setData /old 1\ncheck /old 1\ndelete /gone 0\ndelete /old/child 0\n"
		if got.String() != want {
			t.Errorf("got\n%swant\n%s", got.String(), want)
		}
	})
	// Whatever was done before the failure is taken back.
	for n := range len(good) + 1 {
		for name, bad := range map[string]Request{
			"fails":         {Op: wire.OpCheck, Path: "/none", Part: true},
			"has no sense":  {Op: wire.OpCreate, Path: "/ttl", ACL: world, Flags: flagTTL, TTL: -1, Part: true},
			"names nothing": create("", 0),
		} {
			t.Run(fmt.Sprintf("%d %s", n, name), func(t *testing.T) {
				tr := with(t, "/old", "/old/child!")
				x := tr.Begin(now)
				before := dump(tr)
				ops := append(append(append([]Request{}, good[:n]...), bad), good[n:]...)
				outs, failed, code := tr.Multi(x, ops, me)
				if !failed || (code == wire.CodeMarshallingError) != (name == "has no sense") || len(x.Changes) != 0 {
					t.Errorf("failed %v, code %v, %d changes", failed, code, len(x.Changes))
				}
				if got := dump(tr); got != before {
					t.Errorf("the tree changed:\n%s\nbefore\n%s", got, before)
				}
				for i, out := range outs {
					if ok := out.Code == wire.CodeOK; ok != (i < n) {
						t.Errorf("operation %d: %v", i, out.Code)
					}
					if late := out.Code == wire.CodeRuntimeInconsistency; late != (i > n) {
						t.Errorf("operation %d: %v", i, out.Code)
					}
				}
			})
		}
	}
}
