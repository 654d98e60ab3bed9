package znode

import (
	"math"
	"strconv"
	"strings"
)

// Kind is what a lock node asks for. The zero value is no kind.
type Kind uint8

// The kinds.
const (
	Exclusive Kind = iota + 1 // a mutex: "lock-", kazoo's "__lock__"
	Write                     // the write side of a read-write lock: "__WRIT__"
	Read                      // its read side: "__READ__", kazoo's "__rlock__"
	Permit                    // permits of a semaphore: "permit-<weight>of<limit>-", 1 <= weight <= limit
)

// Alone reports whether a lock of the kind has one holder at a time.
func (k Kind) Alone() bool { return k == Exclusive || k == Write }

// String returns "exclusive", "write", "read", "permit" or "kind(9)".
func (k Kind) String() string {
	switch k {
	case Exclusive:
		return "exclusive"
	case Write:
		return "write"
	case Read:
		return "read"
	case Permit:
		return "permit"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Form says which library writes names like this; it is for display. The zero value,
// FormOther, is a name with a marker and a sequence but without a GUID in a known
// form.
type Form uint8

// The forms.
const (
	FormOther   Form = iota
	FormOwn          // this library's, made by any process
	FormCurator      // "_c_<dashed uuid>-": Curator's protected nodes
	FormZKLock       // "_c_<32 hex>-": go-zookeeper's Lock
	FormKazoo        // "<32 hex>__lock__", "<32 hex>__rlock__"
	FormForeign      // of a recipe that the program has named: see Foreign
)

// String returns "other", "zksync", "curator", "zk.Lock", "kazoo", "foreign" or
// "form(9)".
func (f Form) String() string {
	switch f {
	case FormOther:
		return "other"
	case FormOwn:
		return "zksync"
	case FormCurator:
		return "curator"
	case FormZKLock:
		return "zk.Lock"
	case FormKazoo:
		return "kazoo"
	case FormForeign:
		return "foreign"
	}
	return "form(" + strconv.Itoa(int(f)) + ")"
}

const (
	protected = "_c_"
	permit    = "permit-"
)

// marker is a text in a name that says what kind the node is.
type marker struct {
	text string
	kind Kind
}

// markers stand before the sequence. No marker ends in another one, so that the last
// marker in a name is not ambiguous.
var markers = [...]marker{
	{"lock-", Exclusive},
	{"__lock__", Exclusive},
	{"__WRIT__", Write},
	{"__READ__", Read},
	{"__rlock__", Read},
	{permit, Permit},
}

// Prefix returns the name of a node of the kind, to which ZooKeeper adds the
// sequence. It panics for Permit, which needs PermitPrefix, and for an invalid kind.
func Prefix(kind Kind, g GUID) string {
	switch kind {
	case Exclusive:
		return protected + g.String() + "-lock-"
	case Write:
		return protected + g.String() + "-__WRIT__"
	case Read:
		return protected + g.String() + "-__READ__"
	}
	panic("zksync: no name for a node of kind " + kind.String())
}

// PermitPrefix returns the name of a node that asks for weight of a semaphore's
// limit permits, to which ZooKeeper adds the sequence. The weight must be from 1 to
// limit: otherwise Parse does not read the name.
func PermitPrefix(g GUID, weight, limit int64) string {
	return protected + g.String() + "-" + permit + strconv.FormatInt(weight, 10) + "of" + strconv.FormatInt(limit, 10) + "-"
}

// KazooPrefix returns the name of an exclusive node that kazoo sees, to which
// ZooKeeper adds the sequence.
func KazooPrefix(g GUID) string { return g.Hex() + "__lock__" }

// Name is the parsed name of a lock node. The zero value stands for no name.
type Name struct {
	Raw     string // as ZooKeeper lists it
	Kind    Kind
	Form    Form
	HasGUID bool
	GUID    GUID  // zero without one
	Seq     int64 // ZooKeeper's 32-bit counter: negative once it has wrapped
	Weight  int64 // of a permit
	Limit   int64 // of a permit
}

// Parse reads the name of a child. It returns false for every name that is not a lock
// node's; a lock ignores that child. Such a name has no marker, or its last marker is
// not directly followed by a sequence, as ZooKeeper writes it, and nothing else. As in
// Curator the last marker decides, whatever stands before it.
func Parse(child string) (Name, bool) {
	head, m := quickMarker(child)
	if m.kind == 0 {
		head, m = lastMarker(child)
	}
	if m.kind == 0 {
		return Name{}, false
	}
	n := Name{Raw: child, Kind: m.kind}
	tail := child[len(head)+len(m.text):]
	var ok bool
	if m.kind == Permit {
		if n.Weight, n.Limit, tail, ok = cutPermit(tail); !ok {
			return Name{}, false
		}
	}
	if n.Seq, ok = parseSeq(tail); !ok {
		return Name{}, false
	}
	n.GUID, n.Form, n.HasGUID = parseGUID(head, m.text)
	return n, true
}

// lastMarker returns the last marker in a name, and what stands before it. The kind of the
// marker is 0 if there is none.
func lastMarker(child string) (head string, last marker) {
	end := -1
	for _, m := range markers {
		if i := strings.LastIndex(child, m.text); i >= 0 && i+len(m.text) > end {
			head, last, end = child[:i], m, i+len(m.text)
		}
	}
	return head, last
}

// quickMarker does the same as lastMarker for a name in which ten digits stand behind a
// marker, as in most names. No marker has a digit, so that it is the last one. Of any other
// name it returns none.
func quickMarker(child string) (head string, last marker) {
	at := len(child) - 10
	if at < 0 {
		return "", marker{}
	}
	for _, c := range []byte(child[at:]) {
		if c < '0' || c > '9' {
			return "", marker{}
		}
	}
	for _, m := range markers {
		if head, found := strings.CutSuffix(child[:at], m.text); found {
			return head, m
		}
	}
	return "", marker{}
}

// cutPermit reads "<weight>of<limit>-" off the front of s.
func cutPermit(s string) (weight, limit int64, rest string, ok bool) {
	w, s, ok1 := strings.Cut(s, "of")
	l, rest, ok2 := strings.Cut(s, "-")
	weight, ok3 := parseAmount(w)
	limit, ok4 := parseAmount(l)
	return weight, limit, rest, ok1 && ok2 && ok3 && ok4 && 1 <= weight && weight <= limit
}

// parseAmount reads a number as PermitPrefix writes it: no sign, and no zeros
// before it.
func parseAmount(s string) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// parseSeq reads a sequence exactly as ZooKeeper writes it, by Java's
// String.format("%010d", int): ten characters, the sign included, and eleven below
// -999999999. A name with any other number was made by hand. It would be first in
// line for ever, because no session removes it.
func parseSeq(s string) (int64, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	switch {
	case len(s) != 10 && len(s) != 11:
		return 0, false
	case len(s) == 11 && (!negative || digits[0] == '0'):
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < math.MinInt32 || v > math.MaxInt32 || negative && v == 0 {
		return 0, false
	}
	return v, true
}

// parseGUID reads the GUID in head, the part of the name before the marker.
func parseGUID(head, marker string) (g GUID, form Form, ok bool) {
	if rest, found := strings.CutPrefix(head, protected); found {
		if len(rest) > 36 && rest[36] == '-' {
			if g, ok = ParseGUID(rest[:36]); ok {
				return g, ownOr(g, FormCurator), true
			}
		}
		if len(rest) > 32 && rest[32] == '-' {
			if g, ok = ParseGUID(rest[:32]); ok {
				return g, FormZKLock, true
			}
		}
	} else if len(head) == 32 && (marker == "__lock__" || marker == "__rlock__") {
		if g, ok = ParseGUID(head); ok {
			return g, ownOr(g, FormKazoo), true
		}
	}
	return GUID{}, FormOther, false
}

// ownOr returns FormOwn for our GUIDs, and other for the random ones (version 4) of
// other libraries.
func ownOr(g GUID, other Form) Form {
	if g.own() {
		return FormOwn
	}
	return other
}
