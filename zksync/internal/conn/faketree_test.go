package conn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// run carries out a request and encodes the answer's body.
func (p *peer) run(op wire.Op, body []byte, e *wire.Encoder) wire.Code {
	f, d := p.f, wire.NewDecoder(body)
	switch op {
	case wire.OpCreate, wire.OpCreateContainer:
		path, data := d.String(), d.Buffer()
		d.ACLs()
		path, code := f.create(path, string(data), d.Int32(), p.session)
		e.String(path)
		return code
	case wire.OpDelete:
		return f.remove(d.String())
	case wire.OpExists, wire.OpGetData:
		path, watch := d.String(), d.Bool()
		n := f.nodes[path]
		if n == nil {
			return wire.CodeNoNode
		}
		if watch {
			n.watches = append(n.watches, p)
		}
		if op == wire.OpGetData {
			e.Buffer([]byte(n.data))
		}
		e.Stat(n.stat)
	case wire.OpGetChildren2:
		e.Strings(f.children(d.String()))
		e.Stat(wire.Stat{})
	case wire.OpSetWatches:
		zxid := d.Int64()
		if f.onSetWatches != nil {
			f.onSetWatches(p, zxid)
		}
		for _, path := range d.Strings() { // the watches on data
			if n := f.nodes[path]; n != nil && !f.losesWatches {
				n.watches = append(n.watches, p)
			}
		}
	case wire.OpSync:
		e.String(d.String())
	case wire.OpMulti:
		return p.multi(&d, e)
	}
	return 0
}

func (f *fake) create(path, data string, flags int32, session int64) (string, wire.Code) {
	f.zxid++
	if flags&zk.FlagSequence != 0 && flags != zk.FlagContainer {
		path += fmt.Sprintf("%010d", f.count)
		f.count++
	}
	if f.nodes[path] != nil {
		return "", wire.CodeNodeExists
	}
	n := &node{data: data, stat: wire.Stat{Czxid: f.zxid, Mzxid: f.zxid}}
	if flags&zk.FlagEphemeral != 0 {
		n.stat.EphemeralOwner = session
	}
	f.nodes[path] = n
	return path, 0
}

func (f *fake) remove(path string) wire.Code {
	f.zxid++
	n := f.nodes[path]
	if n == nil {
		return wire.CodeNoNode
	}
	delete(f.nodes, path)
	for _, p := range n.watches {
		body := wire.Event{Type: wire.EventDeleted, State: wire.StateConnected, Path: path}.Append(nil)
		p.out <- wire.AppendFrame(nil, append(wire.ReplyHeader{Xid: wire.XidEvent}.Append(nil), body...))
	}
	return 0
}

func (f *fake) children(path string) []string {
	var names []string
	for p := range f.nodes {
		if name, ok := strings.CutPrefix(p, strings.TrimSuffix(path, "/")+"/"); ok && name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// multi carries out checks, creates and deletes. If one fails, it does not undo those
// before: no test needs that.
func (p *peer) multi(d *wire.Decoder, e *wire.Encoder) wire.Code {
	f := p.f
	f.zxid++
	type result struct {
		op   wire.Op
		made string
		code wire.Code
	}
	var results []result
	failed := false
	for h := d.MultiHeader(); !h.Done && d.Err() == nil; h = d.MultiHeader() {
		r := result{op: h.Type}
		path := d.String()
		switch h.Type {
		case wire.OpCreate:
			data := d.Buffer()
			d.ACLs()
			r.made, r.code = f.create(path, string(data), d.Int32(), p.session)
		case wire.OpDelete:
			d.Int32()
			r.code = f.remove(path)
		default:
			d.Int32()
			r.code = f.check(path)
		}
		if failed {
			r.code = -2 // as ZooKeeper answers for the operations after the one that failed
		}
		failed = failed || r.code != 0
		results = append(results, r)
	}
	for _, r := range results {
		switch {
		case failed:
			e.MultiHeader(wire.MultiHeader{Type: wire.OpError, Err: r.code})
			e.Int32(int32(r.code))
		case r.op == wire.OpCreate:
			e.MultiHeader(wire.MultiHeader{Type: r.op})
			e.String(r.made)
		default:
			e.MultiHeader(wire.MultiHeader{Type: r.op})
		}
	}
	e.MultiEnd()
	return 0
}

// check checks that a node exists, and then that it may be read.
func (f *fake) check(path string) wire.Code {
	switch n := f.nodes[path]; {
	case n == nil:
		return wire.CodeNoNode
	case n.secret:
		return wire.CodeNoAuth
	}
	return 0
}
