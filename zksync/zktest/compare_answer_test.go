package zktest_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// decodeBody is what follows the header of a reply to r, as text. In a multi
// the results say themselves what they are.
func decodeBody(n *namer, r compareRequest, body []byte) string {
	d := wire.NewDecoder(body)
	text := ""
	if r.op == wire.OpMulti || r.op == wire.OpMultiRead {
		text = decodeResults(n, &d, r.ops)
	} else {
		text = decodeRecord(n, &d, r.op, r.path)
	}
	if err := d.Err(); err != nil {
		return fmt.Sprintf("UNREADABLE %x", body)
	}
	if d.Len() > 0 {
		text += fmt.Sprintf(" and %d bytes more", d.Len())
	}
	return text
}

func decodeRecord(n *namer, d *wire.Decoder, op wire.Op, path string) string {
	switch op {
	case wire.OpSync:
		p := d.Buffer()
		return fmt.Sprintf("%q null=%t", p, p == nil)
	case wire.OpCreate:
		return fmt.Sprintf("%q", d.String())
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return fmt.Sprintf("%q %s", d.String(), n.stat(path, d.Stat()))
	case wire.OpExists, wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		return n.stat(path, d.Stat())
	case wire.OpGetData:
		data := d.Buffer()
		return fmt.Sprintf("%.20q null=%t %s", data, data == nil, n.stat(path, d.Stat()))
	case wire.OpGetACL:
		return fmt.Sprintf("%v %s", inOrder(d.ACLs()), n.stat(path, d.Stat()))
	case wire.OpGetChildren:
		return n.children(path, d.Strings())
	case wire.OpGetChildren2:
		return n.children(path, d.Strings()) + " " + n.stat(path, d.Stat())
	case wire.OpAddWatch:
		return fmt.Sprint(d.Int32())
	case wire.OpSASL:
		return decodeToken(d.Buffer())
	case wire.OpGetEphemerals:
		return n.children("?", d.Strings())
	case wire.OpGetAllChildrenNumber:
		return n.below(path, d.Int32())
	case wire.OpWhoAmI:
		var list []string
		for _, c := range d.ClientInfos() {
			list = append(list, fmt.Sprintf("%q", c))
		}
		slices.Sort(list) // as children
		return fmt.Sprint(list)
	}
	return ""
}

func decodeResults(n *namer, d *wire.Decoder, ops []compareRequest) string {
	var out strings.Builder
	for h := d.MultiHeader(); d.Err() == nil; h = d.MultiHeader() {
		fmt.Fprintf(&out, "{%v %t %v", h.Type, h.Done, h.Err)
		if h.Done {
			out.WriteString("}")
			break
		}
		path := "?"
		if len(ops) > 0 {
			path, ops = ops[0].path, ops[1:]
		}
		switch h.Type {
		case wire.OpError:
			fmt.Fprintf(&out, " %v", wire.Code(d.Int32()))
		case wire.OpDelete, wire.OpCheck:
		default:
			out.WriteString(" " + decodeRecord(n, d, h.Type, path))
		}
		out.WriteString("}")
	}
	return out.String()
}

// inOrder sorts the identities that stand together and have the same permissions:
// ZooKeeper puts those of a client, where it asks for "auth", in the order of a hash
// table.
func inOrder(list []wire.ACL) []wire.ACL {
	proved := func(a wire.ACL) bool { return a.Scheme == "digest" || a.Scheme == "sasl" }
	alike := func(a, b wire.ACL) bool { return proved(a) && proved(b) && b.Perms == a.Perms }
	for begin := 0; begin < len(list); {
		end := begin + 1
		for end < len(list) && alike(list[begin], list[end]) {
			end++
		}
		slices.SortFunc(list[begin:end], func(a, b wire.ACL) int { return strings.Compare(a.Scheme+a.ID, b.Scheme+b.ID) })
		begin = end
	}
	return list
}

// namer turns what differs between two servers that do the same into what does
// not: zxids count from the sequence's first transaction, sessions have the
// order of their creation, and the root has only what happened to it since.
type namer struct {
	base     int64
	sessions map[int64]int
	root     string
	top      wire.Stat // of "/" when the sequence began
	all      int32     // how many nodes were below it then
}

func (n *namer) zxid(z int64) string {
	switch {
	case z <= 0:
		return fmt.Sprint(z)
	case z < n.base:
		return "old"
	}
	return fmt.Sprintf("+%d", z-n.base)
}

func (n *namer) owner(id int64) string {
	if i, ok := n.sessions[id]; ok {
		return fmt.Sprintf("S%d", i)
	}
	return fmt.Sprintf("%#x", uint64(id))
}

func (n *namer) stat(path string, s wire.Stat) string {
	times := "1970"
	if s.Ctime != 0 || s.Mtime != 0 {
		times = fmt.Sprintf("modified=%t now=%t", s.Mtime >= s.Ctime,
			max(time.Since(time.UnixMilli(s.Ctime)).Abs(), time.Since(time.UnixMilli(s.Mtime)).Abs()) < time.Hour)
	}
	// An empty path means the root to a server that does not check it.
	if path == "/" || path == "" {
		s.Version -= n.top.Version
		s.Cversion -= n.top.Cversion
		s.Aversion -= n.top.Aversion
		s.NumChildren -= n.top.NumChildren
		times = ""
	}
	return fmt.Sprintf("[c%s m%s p%s v%d cv%d av%d %s len%d n%d %s]", n.zxid(s.Czxid), n.zxid(s.Mzxid), n.zxid(s.Pzxid),
		s.Version, s.Cversion, s.Aversion, n.owner(s.EphemeralOwner), s.DataLength, s.NumChildren, times)
}

// below is a count of the nodes below a path.
func (n *namer) below(path string, count int32) string {
	if path == "/" || path == "" {
		return fmt.Sprintf("%+d", count-n.all)
	}
	return fmt.Sprint(count)
}

func (n *namer) children(path string, list []string) string {
	if path == "/" || path == "" {
		list = slices.DeleteFunc(list, func(name string) bool { return "/"+name != n.root })
	}
	slices.Sort(list) // ZooKeeper gives them in the order of a hash table
	return fmt.Sprint(list)
}
