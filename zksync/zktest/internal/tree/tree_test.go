package tree

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	now  = 1_700_000_000_000 // milliseconds since 1970
	mine = 0x100000000000001 // a session
)

var (
	world = []wire.ACL{{Perms: PermAll, Scheme: "world", ID: "anyone"}}
	me    = Client{Session: mine, IDs: FromAddress("127.0.0.1")}
)

func createOf(op wire.Op, p string, flags int32) Request {
	return Request{Op: op, Path: p, Data: []byte("x"), ACL: world, Flags: flags, TTL: -1}
}

// with returns a tree with persistent nodes, and an ephemeral one for each path
// that ends with "!".
func with(t *testing.T, paths ...string) *Tree {
	t.Helper()
	tr := New()
	for _, p := range paths {
		r := createOf(wire.OpCreate, strings.TrimSuffix(p, "!"), 0)
		if strings.HasSuffix(p, "!") {
			r.Flags = flagEphemeral
		}
		must(t, tr, r)
	}
	return tr
}

// must carries out a request that has to succeed.
func must(t *testing.T, tr *Tree, r Request) Outcome {
	t.Helper()
	out := tr.Write(tr.Begin(now), &r, me)
	if out.Code != wire.CodeOK {
		t.Fatalf("%v %s: %v", r.Op, r.Path, out.Code)
	}
	return out
}

// dump describes all of a tree that a client can learn, but the order of
// children.
func dump(tr *Tree) string {
	var b strings.Builder
	fmt.Fprintf(&b, "zxid %d\n", tr.Zxid())
	for _, p := range tr.Paths() {
		n := tr.Node(p)
		fmt.Fprintf(&b, "%s %q %v %+v %q\n", p, n.Data(), n.ACL(), n.Stat(), slices.Sorted(slices.Values(n.Names())))
	}
	fmt.Fprintf(&b, "of the session %q\nself-going %v\n", tr.Ephemerals(mine), tr.SelfGoing())
	return b.String()
}

func TestNewTreeHasZooKeepersNodes(t *testing.T) {
	tr := New()
	want := []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}
	if got := tr.Paths(); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	if me.IDs.May(PermWrite, tr.Node("/zookeeper/config").ACL()) {
		t.Error("anyone may write /zookeeper/config")
	}
	if tr.Read("") != tr.Node("/") || tr.Node("") != nil {
		t.Error("the empty path must find the root for reads only")
	}
}

func TestStats(t *testing.T) {
	tr := New()
	at := int64(now)
	step := func(r Request) wire.Stat {
		t.Helper()
		at++
		out := tr.Write(tr.Begin(at), &r, me)
		if out.Code != wire.CodeOK {
			t.Fatalf("%v %s: %v", r.Op, r.Path, out.Code)
		}
		return out.Stat
	}
	step(createOf(wire.OpCreate, "/a", 0))                                // zxid 1
	step(createOf(wire.OpCreate, "/a/b", 1))                              // 2
	step(createOf(wire.OpCreate, "/a/c", 0))                              // 3
	step(Request{Op: wire.OpDelete, Path: "/a/c"})                        // 4
	step(Request{Op: wire.OpSetData, Path: "/a"})                         // 5
	step(Request{Op: wire.OpSetACL, Path: "/a", ACL: world, Version: -1}) // 6
	want := wire.Stat{
		Czxid: 1, Mzxid: 5, Ctime: now + 1, Mtime: now + 5, Version: 1, Cversion: 3, Aversion: 1, NumChildren: 1, Pzxid: 4,
	}
	if got := tr.Node("/a").Stat(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	want = wire.Stat{Czxid: 2, Mzxid: 2, Ctime: now + 2, Mtime: now + 2, EphemeralOwner: mine, DataLength: 1, Pzxid: 2}
	if got := tr.Node("/a/b").Stat(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := step(Request{Op: wire.OpCheck, Path: "/a/b", Version: 0}); got != want {
		t.Errorf("a check answers %+v, want %+v", got, want)
	}
}

// Sequence numbers count all creates below a parent, and stay at the highest.
func TestSequenceNumbers(t *testing.T) {
	tr := with(t, "/q", "/q/plain")
	seq := createOf(wire.OpCreate, "/q/n-", flagSequential)
	if got := must(t, tr, seq).Path; got != "/q/n-0000000001" {
		t.Errorf("after one create: %s", got)
	}
	must(t, tr, Request{Op: wire.OpDelete, Path: "/q/n-0000000001"})
	if got := must(t, tr, seq).Path; got != "/q/n-0000000002" {
		t.Errorf("after a delete: %s", got)
	}
	zxid := tr.Zxid()
	if x := tr.SetSequence("/q", math.MaxInt32); x == nil || x.Zxid != zxid || tr.Zxid() != zxid {
		t.Errorf("SetSequence took a zxid: %+v", x)
	}
	for _, flags := range []int32{flagSequential, flagEphSequential} {
		seq.Path, seq.Flags = fmt.Sprint("/q/", flags, "-"), flags
		if got := must(t, tr, seq).Path; !strings.HasSuffix(got, "-2147483647") {
			t.Errorf("at the end: %s", got)
		}
	}
	if tr.Write(tr.Begin(now), &seq, me).Code != wire.CodeNodeExists {
		t.Error("the highest number was given twice")
	}
	if tr.SetSequence("/none", 1) != nil {
		t.Error("SetSequence of a node that does not exist")
	}
}

// The names of the children are all there, whatever was created and deleted.
func TestNamesOfChildren(t *testing.T) {
	tr := with(t, "/p")
	want := make(map[string]bool)
	for i := range 300 {
		name := fmt.Sprint("n", i)
		must(t, tr, createOf(wire.OpCreate, "/p/"+name, 0))
		want[name] = true
		if i%3 == 0 {
			gone := fmt.Sprint("n", i/2)
			if want[gone] {
				must(t, tr, Request{Op: wire.OpDelete, Path: "/p/" + gone, Version: -1})
				delete(want, gone)
			}
		}
	}
	names := tr.Node("/p").Names()
	if len(names) != len(want) {
		t.Errorf("%d names, want %d", len(names), len(want))
	}
	for _, name := range names {
		if !want[name] {
			t.Errorf("child %s", name)
		}
	}
	if slices.IsSorted(names) {
		t.Error("the names are sorted, which hides a client that relies on it")
	}
}

// A transaction has the same effect on a copy as on the tree that it was made on.
func TestReplay(t *testing.T) {
	tr := with(t, "/a", "/a/e!")
	copied := tr.Clone()
	if dump(copied) != dump(tr) {
		t.Fatalf("a clone differs:\n%s\n%s", dump(copied), dump(tr))
	}
	before := dump(copied)
	var txns []*Txn
	write := func(ops ...Request) {
		x := tr.Begin(now + 5)
		if _, failed, code := tr.Multi(x, ops, me); failed || code != wire.CodeOK {
			t.Fatal(failed, code)
		}
		txns = append(txns, x)
	}
	write(createOf(wire.OpCreate, "/a/s-", flagSequential), createOf(wire.OpCreate, "/a/c", flagContainer))
	write(Request{Op: wire.OpSetData, Path: "/a", Data: []byte("new")}, Request{Op: wire.OpCheck, Path: "/a", Version: 1})
	write(Request{Op: wire.OpSetACL, Path: "/a", ACL: world})
	txns = append(txns, tr.SetSequence("/a", 77))
	end := tr.Begin(now + 9)
	tr.Remove(end, tr.Ephemerals(mine)...)
	txns = append(txns, end)
	if dump(copied) != before {
		t.Fatalf("the copy changed with the tree:\n%s", dump(copied))
	}
	for _, x := range txns {
		copied.Replay(x)
	}
	if got, want := dump(copied), dump(tr); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNewEpoch(t *testing.T) {
	tr := New()
	tr.Begin(now)
	for _, want := range []int64{1 << 32, 2 << 32} {
		if tr.NewEpoch(); tr.Zxid() != want {
			t.Errorf("zxid %#x, want %#x", tr.Zxid(), want)
		}
	}
	copied := New()
	copied.SetZxid(tr.Zxid())
	if x := copied.Begin(now); x.Zxid != 2<<32+1 {
		t.Errorf("zxid %#x", x.Zxid)
	}
}

// Containers go after their last child, and nodes with a time to live after it.
func TestBelow(t *testing.T) {
	tr := with(t, "/a", "/a/b", "/a/b/c!", "/a/d", "/ab", "/ab/x")
	for p, want := range map[string]int{
		"/": 9, "": 10, // which is how ZooKeeper counts, with its own three
		"/a": 3, "/a/b": 1, "/a/b/c": 0, "/ab": 1, "/zookeeper": 2,
	} {
		if got := tr.Below(p); got != want {
			t.Errorf("%d below %q, want %d", got, p, want)
		}
	}
}

func TestDue(t *testing.T) {
	tr := New()
	must(t, tr, createOf(wire.OpCreateContainer, "/never", flagContainer))
	must(t, tr, createOf(wire.OpCreateContainer, "/used", flagContainer))
	brief := createOf(wire.OpCreateTTL, "/brief", flagTTL)
	brief.TTL = 100
	must(t, tr, brief)
	must(t, tr, createOf(wire.OpCreate, "/used/a", 0))
	must(t, tr, createOf(wire.OpCreate, "/brief/a", 0))
	if due := tr.Due(now + 200); due != nil {
		t.Errorf("due although they have children: %q", due)
	}
	must(t, tr, Request{Op: wire.OpDelete, Path: "/used/a"})
	must(t, tr, Request{Op: wire.OpDelete, Path: "/brief/a"})
	if due := tr.Due(now + 100); !slices.Equal(due, []string{"/used"}) {
		t.Errorf("due at the end of the time to live: %q", due)
	}
	due := tr.Due(now + 101)
	if !slices.Equal(due, []string{"/brief", "/used"}) {
		t.Errorf("due after the time to live: %q", due)
	}
	tr.Remove(tr.Begin(now), due...)
	if !tr.SelfGoing() {
		t.Error("the unused container is forgotten")
	}
	tr.Remove(tr.Begin(now), "/never")
	if tr.SelfGoing() {
		t.Error("nodes that are gone are not forgotten")
	}
}

func TestEphemeralsOfASession(t *testing.T) {
	tr := with(t, "/b!", "/a!", "/p")
	if got := tr.Ephemerals(mine); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("nodes %q", got)
	}
	x := tr.Begin(now)
	tr.Remove(x, "/b", "/a")
	want := []Change{{Op: wire.OpDelete, Path: "/b", ACL: world}, {Op: wire.OpDelete, Path: "/a", ACL: world}}
	if !reflect.DeepEqual(x.Changes, want) {
		t.Errorf("changes %+v, want %+v", x.Changes, want)
	}
	if got := tr.Ephemerals(mine); got != nil {
		t.Errorf("nodes %q after all were removed", got)
	}
}
