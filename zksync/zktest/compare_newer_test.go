package zktest_test

import "github.com/zklocker/go-zksync/zksync/internal/wire"

// newer is one of the requests since ZooKeeper 3.6, or, seldom, one that no client
// without SASL sends; n is below 12.
func (r compareRandom) newer(n int) compareRequest {
	switch {
	case n < 3:
		return compareRequest{op: wire.OpGetEphemerals, path: r.prefix()}
	case n < 6:
		return compareRequest{op: wire.OpGetAllChildrenNumber, path: r.path()}
	case n < 10:
		return r.multiRead()
	case n < 11:
		return compareRequest{op: wire.OpWhoAmI}
	}
	switch r.IntN(3) {
	case 0:
		return compareRequest{op: wire.OpDeleteContainer, path: r.path()}
	case 1:
		return compareRequest{op: wire.OpSASL, data: r.data()}
	}
	// The session has that long until it is heard of again.
	return compareRequest{op: wire.OpCreateSession, mode: pick[int32](r, compareTimeout, 2*compareTimeout, 1<<31-1)}
}

// prefix is where a path may begin.
func (r compareRandom) prefix() string {
	switch r.IntN(3) {
	case 0:
		return pick(r, "/", "", " ", "/ ", "\t/", "//", " "+r.root, r.root+" ")
	case 1:
		p := r.path()
		return p[:r.IntN(len(p)+1)]
	}
	return r.path()
}

// multiRead now and then has in it what it must not.
func (r compareRandom) multiRead() compareRequest {
	q := compareRequest{op: wire.OpMultiRead}
	for range r.IntN(5) {
		q.ops = append(q.ops, compareRequest{
			op: pick(r, wire.OpGetData, wire.OpGetChildren), path: r.path(), watch: r.IntN(2) == 0})
	}
	switch r.IntN(40) {
	case 0:
		q.ops = append(q.ops, compareRequest{
			op: pick(r, wire.OpExists, wire.OpGetChildren2, wire.OpDelete, wire.OpCheck), path: r.path()})
	case 1:
		for i := range q.ops { // what it may have, but as a multi only
			q.ops[i] = compareRequest{op: wire.OpDelete, path: r.path(), version: -1}
		}
	}
	return q
}
