package zktest_test

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// compareClients is how many sessions a sequence has at a time.
const compareClients = 3

// compareRandom makes requests. It never looks at an answer, so that any part of
// a sequence can be run without the rest.
type compareRandom struct {
	*rand.Rand
	root string
	// blind sequences have nodes that not everybody may read, and watch
	// nothing: since ZooKeeper 3.8.4 and 3.9.2, exists needs the permission and
	// events are kept from those who lack it, as the embedded server does.
	blind bool
	// watched is how each path is watched by everybody: before ZooKeeper 3.9 a
	// path that a connection watches in two ways loses one of them.
	watched map[string]int
}

// The values of watched; the latter two are one more than addWatch's modes.
const (
	watchedOnce = iota
	watchedOn
	watchedRecursive
)

// pick returns one of the values.
func pick[T any](r compareRandom, values ...T) T { return values[r.IntN(len(values))] }

// path is mostly one of a few below the root, so that requests meet.
func (r compareRandom) path() string {
	if r.IntN(100) == 0 { // what is no text, and what Java has two characters for
		return r.root + pick(r, "/", "/a") + pick(r, "\xff", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf0\x9f", "\U0001F600") +
			pick(r, "", "b", "\x82", "\xe0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\u20ac")
	}
	if r.IntN(14) == 0 {
		return pick(r, "/", "", "nonsense", r.root+"/", r.root+"//a", r.root+"/./a", r.root+"/a/..", r.root+"/a\x00b",
			r.root+"/a\u0001b", r.root+"/a\ufff5b", r.root+"/a\ue000b", r.root+"/\u00e4", r.root+"/.a", r.root+"/a/", "//")
	}
	return r.root + pick(r, "", "/a", "/a", "/a", "/b", "/b", "/e", "/a/c", "/a/c", "/a/e", "/a/c/d", "/none/x",
		"/q-0000000000", "/q-0000000001", "/q-0000000002", "/a/q-0000000000", "/a/q-0000000001")
}

func (r compareRandom) version() int32 {
	return pick[int32](r, -1, -1, -1, -1, -1, -1, 0, 0, 1, 2, 7, -2, 1<<31-1)
}

func (r compareRandom) data() []byte {
	return pick(r, nil, []byte{}, []byte("x"), []byte("some words"), make([]byte, 300))
}

// The digest of "user:secret", and one nobody has the password of.
const (
	userDigest  = "user:5w9W4eL3797Y4Wq8AcKUPPk8ha4="
	otherDigest = "other:ixk/5ZhrBQ+FKWT3oFnczU02Ryg="
)

func (r compareRandom) acl() (list []wire.ACL, null bool) {
	list, null = r.anyACL()
	if len(list) > 0 && !r.blind {
		list = append(list, wire.ACL{Perms: 1, Scheme: "world", ID: "anyone"})
	}
	return list, null
}

func (r compareRandom) anyACL() (list []wire.ACL, null bool) {
	if r.IntN(4) > 0 {
		return []wire.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}, false
	}
	perms := pick[int32](r, 31, 31, 31, 1, 2, 4, 8, 16, 3, 15, 0)
	one := func() wire.ACL {
		return pick(r,
			wire.ACL{Perms: perms, Scheme: "world", ID: "anyone"},
			wire.ACL{Perms: perms, Scheme: "auth"},
			wire.ACL{Perms: perms, Scheme: "auth", ID: "whatever"},
			wire.ACL{Perms: perms, Scheme: "digest", ID: userDigest},
			wire.ACL{Perms: perms, Scheme: "digest", ID: otherDigest},
			wire.ACL{Perms: perms, Scheme: "sasl", ID: "bob"},
			wire.ACL{Perms: perms, Scheme: "sasl", ID: "eve"},
			wire.ACL{Perms: perms, Scheme: "ip", ID: "127.0.0.1"},
			wire.ACL{Perms: perms, Scheme: "ip", ID: "127.0.0.0/8"},
			wire.ACL{Perms: perms, Scheme: "ip", ID: "10.0.0.0/8"})
	}
	switch r.IntN(8) {
	case 0:
		return nil, false
	case 1:
		return nil, true
	case 2:
		return []wire.ACL{pick(r,
			wire.ACL{Perms: perms, Scheme: "nonsense", ID: "x"}, wire.ACL{Perms: perms, Scheme: "world", ID: "me"},
			wire.ACL{Perms: perms, Scheme: "ip", ID: "300.1.1.1"}, wire.ACL{Perms: perms, Scheme: "ip", ID: "10.0.0.0/33"},
			wire.ACL{Perms: perms, Scheme: "digest", ID: "nocolon"}, wire.ACL{Perms: perms, Scheme: "sasl", ID: "a@b@c"},
			wire.ACL{Perms: perms})}, false
	case 3:
		return []wire.ACL{one(), one()}, false
	}
	return []wire.ACL{one()}, false
}

// howWatched is how a path is watched in this sequence.
func (r compareRandom) howWatched(path string) int {
	how, ok := r.watched[path]
	if !ok {
		how = pick(r, watchedOnce, watchedOnce, watchedOnce, watchedOn, watchedRecursive)
		r.watched[path] = how
	}
	return how
}

// paths is a few that are watched in one way.
func (r compareRandom) paths(how int) []string {
	var list []string
	for range r.IntN(4) {
		if p := r.path(); r.howWatched(p) == how {
			list = append(list, p)
		}
	}
	return list
}

func (r compareRandom) setWatches() compareRequest {
	q := compareRequest{op: wire.OpSetWatches, since: int64(r.IntN(40)), lists: [][]string{
		r.paths(watchedOnce), r.paths(watchedOnce), r.paths(watchedOnce)}}
	if r.IntN(3) == 0 {
		q.op = wire.OpSetWatches2
		q.lists = append(q.lists, r.paths(watchedOn), r.paths(watchedRecursive))
	}
	return q
}

// create is any of the requests that make a node.
func (r compareRandom) create() compareRequest {
	q := compareRequest{op: pick(r, wire.OpCreate, wire.OpCreate, wire.OpCreate, wire.OpCreate2, wire.OpCreate2,
		wire.OpCreateContainer, wire.OpCreateTTL), path: r.path(), data: r.data()}
	q.acl, q.nullACL = r.acl()
	switch q.op {
	case wire.OpCreateContainer:
		q.flags = pick[int32](r, 4, 4, 4, 4, 0, 1, 2)
	case wire.OpCreateTTL:
		q.flags, q.ttl = pick[int32](r, 5, 5, 5, 6, 6, 0, 1), pick[int64](r, 3600_000, 3600_000, 3600_000, 0, -1, 1<<39, 1<<40-1, 1<<40)
		if q.flags < 5 && q.ttl < 0 {
			q.ttl = 0 // a real server that is asked for this is broken from then on
		}
	default:
		q.flags = pick[int32](r, 0, 0, 0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 6, 7, -1)
	}
	// The numbers of nodes beside the root depend on what came before.
	if q.flags == 2 || q.flags == 3 || q.flags == 6 {
		q.path = r.root + pick(r, "/q-", "/q-", "/q-", "/a/q-", "/a/q-", "/", "/a/", "/e/q-", "/none/q-")
	}
	return q
}

func (r compareRandom) request() compareRequest {
	for {
		q := r.anyRequest()
		switch q.op {
		case wire.OpExists, wire.OpAddWatch, wire.OpSetWatches, wire.OpSetWatches2:
			if r.blind {
				continue
			}
		}
		if q.watch {
			q.watch = !r.blind && r.howWatched(q.path) == watchedOnce
		}
		if q.op == wire.OpCheckWatches && !strings.HasPrefix(q.path, "/") {
			continue // before ZooKeeper 3.9 an error, if anybody has a recursive watch
		}
		if q.op == wire.OpAddWatch && (q.mode == 0 || q.mode == 1) {
			if q.mode = int32(r.howWatched(q.path) - 1); q.mode < 0 {
				continue
			}
		}
		return q
	}
}

func (r compareRandom) anyRequest() compareRequest {
	q := compareRequest{path: r.path(), version: r.version(), watch: r.IntN(2) == 0}
	switch n := r.IntN(112); {
	case n < 24:
		q = r.create()
	case n < 34:
		q.op = wire.OpDelete
	case n < 42:
		q.op, q.data = wire.OpSetData, r.data()
	case n < 50:
		q.op = wire.OpExists
	case n < 58:
		q.op = wire.OpGetData
	case n < 61:
		q.op = wire.OpGetChildren
	case n < 67:
		q.op = wire.OpGetChildren2
	case n < 70:
		q.op = wire.OpGetACL
	case n < 74:
		q.op = wire.OpSetACL
		q.acl, q.nullACL = r.acl()
		// What it did to the root would outlive the sequence.
		if q.path == "/" || q.path == "" {
			q.path = r.root
		}
	case n < 76: // no check: outside a multi it stalls a real server, and no client sends it
		q.op = wire.OpSync
	case n < 80:
		q.op, q.mode = wire.OpAddWatch, pick[int32](r, 0, 0, 1, 1, 1, 2, -1)
	case n < 82:
		q.op, q.mode = wire.OpCheckWatches, pick[int32](r, 1, 2, 3, 3, 0, 4, 5)
	case n < 84:
		q.op, q.mode = wire.OpRemoveWatches, pick[int32](r, 1, 2, 3, 3, 0, 4, 5)
	case n < 86:
		q = r.setWatches()
	case n < 89:
		q = compareRequest{op: wire.OpAuth, scheme: pick(r, "digest", "digest", "digest", "digest", "ip", "nonsense", "world"),
			data: pick(r, []byte("user:secret"), []byte("user:secret"), []byte("third:x"), []byte("nocolon"), []byte{}, nil)}
	case n < 100:
		q = r.multi()
	default:
		q = r.newer(n - 100)
	}
	if r.IntN(150) == 0 && q.mayBeNull() {
		q.null, q.watch = true, false
	}
	if r.IntN(150) == 0 {
		q.cut = 1 + r.IntN(6)
	}
	if r.IntN(400) == 0 {
		q = compareRequest{op: pick(r, unknownOps...), path: q.path}
	}
	return q
}

// mayBeNull reports whether a request is to have a null path at times. A create judges its
// flags before such a path, and a lasting watch of that has no meaning.
func (q compareRequest) mayBeNull() bool {
	switch q.op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpMulti, wire.OpMultiRead, wire.OpAddWatch, wire.OpSetWatches, wire.OpSetWatches2, wire.OpAuth, wire.OpSASL,
		wire.OpWhoAmI, wire.OpCreateSession:
		return false
	}
	return true
}

var unknownOps = []wire.Op{77, 99, -5, wire.OpError, wire.OpNotify, 10, 23, 108}

func known(op wire.Op) bool { return !slices.Contains(unknownOps, op) }

// multi often has a failure in it, and now and then what no multi may hold.
func (r compareRandom) multi() compareRequest {
	q := compareRequest{op: wire.OpMulti}
	for range r.IntN(5) {
		op := compareRequest{path: r.path(), version: r.version()}
		switch n := r.IntN(40); {
		case n < 16:
			op = r.create()
			// What comes before it in such a multi stays in a real server's mind.
			if op.op != wire.OpCreateTTL && (op.flags == 5 || op.flags == 6) {
				op.flags -= 5
			}
		case n < 23:
			op.op = wire.OpDelete
		case n < 31:
			op.op, op.data = wire.OpSetData, r.data()
		case n < 39:
			op.op = wire.OpCheck
		default:
			op.op = pick(r, wire.OpGetData, wire.OpExists, wire.OpSync)
		}
		q.ops = append(q.ops, op)
	}
	return q
}
