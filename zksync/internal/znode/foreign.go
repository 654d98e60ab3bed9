package znode

import (
	"errors"
	"fmt"
	"strings"
)

// Foreign is how another recipe names its nodes: Prefix, followed by ZooKeeper's
// sequence and nothing else. Such a node counts as one of Kind. The empty Prefix
// means bare sequences. The zero value is not valid.
type Foreign struct {
	Prefix string
	Kind   Kind
}

// maxForeignPrefix is the length in bytes of the longest prefix that Check takes.
const maxForeignPrefix = 255

// Check returns nil if ZooKeeper takes a node of this name and Parse does not know
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

// ParseAny is Parse, and takes the names of other recipes, too. What Parse knows
// is read as Parse reads it; of several prefixes that fit the longest counts. A
// name of another recipe has no GUID, whatever stands in its prefix.
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

// Numbered reports whether the name ends as those of sequential nodes do. If
// Parse does not know it, it may be a lock node of another recipe.
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
