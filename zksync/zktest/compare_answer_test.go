package zktest_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// decodeBody is what follows the header of a reply to op, as text. In a multi
// the results say themselves what they are.
func decodeBody(n *namer, op wire.Op, path string, body []byte) string {
	d := wire.NewDecoder(body)
	text := decodeRecord(n, &d, op, path)
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
	case wire.OpCreate, wire.OpSync:
		return fmt.Sprintf("%q", d.String())
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return fmt.Sprintf("%q %s", d.String(), n.stat(path, d.Stat()))
	case wire.OpExists, wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		return n.stat(path, d.Stat())
	case wire.OpGetData:
		data := d.Buffer()
		return fmt.Sprintf("%.20q null=%t %s", data, data == nil, n.stat(path, d.Stat()))
	case wire.OpGetACL:
		return fmt.Sprintf("%v %s", d.ACLs(), n.stat(path, d.Stat()))
	case wire.OpGetChildren:
		return n.children(path, d.Strings())
	case wire.OpGetChildren2:
		return n.children(path, d.Strings()) + " " + n.stat(path, d.Stat())
	case wire.OpAddWatch:
		return fmt.Sprint(d.Int32())
	case wire.OpMulti:
		return decodeResults(n, d)
	}
	return ""
}

func decodeResults(n *namer, d *wire.Decoder) string {
	var out strings.Builder
	for h := d.MultiHeader(); d.Err() == nil; h = d.MultiHeader() {
		fmt.Fprintf(&out, "{%v %t %v", h.Type, h.Done, h.Err)
		if h.Done {
			out.WriteString("}")
			break
		}
		switch h.Type {
		case wire.OpError:
			fmt.Fprintf(&out, " %v", wire.Code(d.Int32()))
		case wire.OpDelete, wire.OpCheck:
		default:
			out.WriteString(" " + decodeRecord(n, d, h.Type, "?"))
		}
		out.WriteString("}")
	}
	return out.String()
}

// namer turns what differs between two servers that do the same into what does
// not: zxids count from the sequence's first transaction, sessions have the
// order of their creation, and the root has only what happened to it since.
type namer struct {
	base     int64
	sessions map[int64]int
	root     string
	top      wire.Stat // of "/" when the sequence began
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

func (n *namer) children(path string, list []string) string {
	if path == "/" || path == "" {
		list = slices.DeleteFunc(list, func(name string) bool { return "/"+name != n.root })
	}
	slices.Sort(list) // ZooKeeper gives them in the order of a hash table
	return fmt.Sprint(list)
}
