package znode

import (
	"errors"
	"fmt"
	"strings"
)

// Foreign describes the nodes of another recipe: their names are Prefix, followed by
// ZooKeeper's sequence and nothing else, and they count as nodes of Kind. The empty
// Prefix means names that are only a sequence. The zero value is not valid.
type Foreign struct {
	Prefix string
	Kind   Kind
}

// maxForeignPrefix is the length in bytes of the longest prefix that Check accepts.
const maxForeignPrefix = 255

// Check returns nil if ZooKeeper accepts a node of this name and Parse does not read
// it already, and otherwise an error that says what is wrong.
func (f Foreign) Check() error {
	if len(f.Prefix) > maxForeignPrefix {
		return fmt.Errorf("prefix of %d bytes is longer than %d", len(f.Prefix), maxForeignPrefix)
	}
	if strings.Contains(f.Prefix, "/") {
		return fmt.Errorf("prefix %q has a \"/\"", f.Prefix)
	}
	const first = "0000000000"
	if err := ValidPath("/" + f.Prefix + first); err != nil {
		return fmt.Errorf("prefix %q is in no node's name: %w", f.Prefix, err)
	}
	if _, known := Parse(f.Prefix + first); known {
		return fmt.Errorf("prefix %q is one of those that every lock heeds", f.Prefix)
	}
	switch f.Kind {
	case Exclusive, Write, Read:
		return nil
	}
	return errors.New("no way to hold a lock")
}

// ParseAny reads the names that Parse reads, and those of other recipes, too. Parse
// goes first. Of several prefixes that fit, the longest counts. A name of another
// recipe has no GUID, whatever its prefix contains.
func ParseAny(child string, others []Foreign) (Name, bool) {
	n, ok := Parse(child)
	if ok || len(others) == 0 {
		return n, ok
	}
	longest := -1
	for _, f := range others {
		tail, fits := strings.CutPrefix(child, f.Prefix)
		if !fits || len(f.Prefix) <= longest {
			continue
		}
		if seq, isSeq := parseSeq(tail); isSeq {
			n, longest = Name{Raw: child, Kind: f.Kind, Form: FormForeign, Seq: seq}, len(f.Prefix)
		}
	}
	return n, longest >= 0
}

// Numbered reports whether the name ends like that of a sequential node. If Parse
// does not read the name, it may belong to a lock node of another recipe.
func Numbered(child string) bool {
	for _, n := range [...]int{10, 11} {
		if len(child) >= n {
			if _, ok := parseSeq(child[len(child)-n:]); ok {
				return true
			}
		}
	}
	return false
}
