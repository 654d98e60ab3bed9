package zktest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// Mask says what [Server.Snapshot] leaves out because it differs from run to run. The
// zero value masks nothing.
type Mask int

// The masks.
const (
	// MaskSequences puts {1}, {2}, ... for the ten digits that end the names of
	// sequential nodes: their order among the children of a node.
	MaskSequences Mask = iota + 1
	// MaskGUIDs puts {guid} for 32 hex digits in names and data, with or without the
	// hyphens of a UUID: clients put them into the names of nodes.
	MaskGUIDs
)

// Snapshot returns all nodes but ZooKeeper's own as text, for comparison with a text
// that a test has from before. [Server.Load] reads it again. The same nodes have the
// same text, whatever their history: it has neither Stats nor session ids. Each node has
// a line, in the order of the paths:
//
//	/app "v1"
//	/app/leader "host-1" ephemeral#1
//	/app/seen ttl=1m0s
//	/app/secret "x" acl=digest:bob:HJOLKaCJkAQC5uYhylpA+72TQjU=:cdrwa,ip:10.0.0.0/8:r
//	/app/work container
//
// Data is quoted as in Go, and left out if it is empty. The number behind ephemeral is
// that of the owner, the sessions being counted in the order of the lines. The ACL is
// left out if anyone may do all, and has the letters of ZooKeeper's command line. A path
// with spaces or control characters is quoted. The root has a line if it has data or such
// an ACL.
func (s *Server) Snapshot(masks ...Mask) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []tree.Given
	for _, p := range s.tree.Paths() {
		g := s.tree.Node(p).Given()
		if p == "/zookeeper" || strings.HasPrefix(p, "/zookeeper/") || p == "/" && len(g.Data) == 0 && tree.Open(g.ACL) {
			continue
		}
		list = append(list, g)
	}
	var b strings.Builder
	owners := make(map[int64]int)
	for _, n := range mask(list, masks) {
		appendNode(&b, &n.Given, owners)
	}
	return b.String()
}

// appendNode writes the line of a node. owners are the numbers of sessions so far.
func appendNode(b *strings.Builder, g *tree.Given, owners map[int64]int) {
	b.WriteString(quoteIf(g.Path, ` "`))
	if len(g.Data) > 0 {
		fmt.Fprintf(b, " %q", g.Data)
	}
	switch {
	case g.Owner != 0:
		if owners[g.Owner] == 0 {
			owners[g.Owner] = len(owners) + 1
		}
		fmt.Fprintf(b, " ephemeral#%d", owners[g.Owner])
	case g.Container:
		b.WriteString(" container")
	case g.TTL != 0:
		fmt.Fprintf(b, " ttl=%v", time.Duration(g.TTL)*time.Millisecond)
	}
	if !tree.Open(g.ACL) {
		b.WriteString(" acl=" + aclText(g.ACL))
	}
	b.WriteByte('\n')
}

// quoteIf quotes a text that has control characters or some of the given ones.
func quoteIf(s, special string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || strings.ContainsAny(s, special) {
		return q
	}
	return s
}

const permLetters = "rwcda" // of the bits, from the lowest

func aclText(list []wire.ACL) string {
	texts := make([]string, len(list))
	for i, a := range list {
		perms := ""
		for _, letter := range "cdrwa" {
			if a.Perms&(1<<strings.IndexRune(permLetters, letter)) != 0 {
				perms += string(letter)
			}
		}
		if a.Perms&^tree.PermAll != 0 {
			perms = strconv.Itoa(int(a.Perms))
		}
		texts[i] = quoteIf(a.Scheme+":"+a.ID+":"+perms, ` ,"`)
	}
	return strings.Join(texts, ",")
}

var (
	sequence = regexp.MustCompile(`[0-9]{10}$`)
	guid     = regexp.MustCompile(`(?i)[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// shown is a node as a snapshot shows it.
type shown struct {
	tree.Given
	key string // orders the nodes
}

// mask replaces what masks say in nodes, and puts them in the order of what is left.
func mask(list []tree.Given, masks []Mask) []shown {
	sequences, guids := slices.Contains(masks, MaskSequences), slices.Contains(masks, MaskGUIDs)
	numbers := sequenceNumbers(list)
	all := make([]shown, len(list))
	parents := map[string]shown{"/": {}}
	for i, g := range list { // parents come before their children
		parent := tree.Parent(g.Path)
		up, name, rank := parents[parent], g.Path[strings.LastIndexByte(g.Path, '/')+1:], ""
		key := name
		if number := sequence.FindString(name); sequences && number != "" {
			at, _ := slices.BinarySearch(numbers[parent], number)
			name = strings.TrimSuffix(name, number)
			key, rank = fmt.Sprintf("%s%010d", name, at), fmt.Sprintf("{%d}", at+1)
		}
		if guids {
			name, key = guid.ReplaceAllString(name, "{guid}"), guid.ReplaceAllString(key, "{guid}")
			g.Data = guid.ReplaceAll(g.Data, []byte("{guid}"))
		}
		own := shown{Given: g, key: up.key + "/" + key}
		own.Path = up.Path + "/" + name + rank
		if g.Path != "/" {
			parents[g.Path] = own
		}
		all[i] = own
	}
	slices.SortStableFunc(all, func(a, b shown) int {
		return cmp.Or(cmp.Compare(a.key, b.key), slices.Compare(a.Data, b.Data))
	})
	return all
}

// sequenceNumbers returns the numbers that end the names of nodes, in order, by the
// paths of the parents.
func sequenceNumbers(list []tree.Given) map[string][]string {
	numbers := make(map[string][]string)
	for _, g := range list {
		if n := sequence.FindString(g.Path); n != "" {
			p := tree.Parent(g.Path)
			numbers[p] = append(numbers[p], n)
		}
	}
	for p, all := range numbers {
		slices.Sort(all)
		numbers[p] = slices.Compact(all)
	}
	return numbers
}
