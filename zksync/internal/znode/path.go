package znode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPath is the length in bytes of the longest path that ValidPath accepts.
const MaxPath = 2048

// ValidPath returns nil if a lock can have the path, and otherwise an error that says
// what is wrong with it. A valid path is absolute, has no empty, "." or ".." element
// and no "/" at its end, and is valid UTF-8 of at most MaxPath bytes. It has only
// characters that every part of ZooKeeper accepts: no control characters, nothing from
// U+E000 to U+F8FF or from U+FFF0 to U+FFFF, and nothing above, because the server
// refuses characters that take two units in UTF-16. The root, "/zookeeper" and all
// paths below that are not for locks.
func ValidPath(path string) error {
	switch {
	case path == "":
		return errors.New("path is empty: want one like \"/locks/orders\"")
	case len(path) > MaxPath:
		return fmt.Errorf("path of %d bytes is longer than %d", len(path), MaxPath)
	case path[0] != '/':
		if ValidPath("/"+path) != nil {
			return fmt.Errorf("path %q does not start with \"/\"", path)
		}
		return fmt.Errorf("path %q does not start with \"/\": it may mean %q", path, "/"+path)
	case path == "/":
		return fmt.Errorf("path \"/\" is the root")
	case path[len(path)-1] == '/':
		return fmt.Errorf("path %q ends with \"/\"", path)
	case path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/"):
		return fmt.Errorf("path %q belongs to ZooKeeper itself", path)
	}
	for i, r := range path {
		if r == utf8.RuneError {
			if _, width := utf8.DecodeRuneInString(path[i:]); width == 1 {
				return fmt.Errorf("path %q is not valid UTF-8 at byte %d", path, i)
			}
		}
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Errorf("path %q has the character %U at byte %d, which ZooKeeper refuses", path, r, i)
		}
	}
	for element := range strings.SplitSeq(path[1:], "/") {
		switch element {
		case "":
			return fmt.Errorf("path %q has an empty element", path)
		case ".", "..":
			return fmt.Errorf("path %q has the relative element %q", path, element)
		}
	}
	return nil
}

const (
	maxElement = 255 // bytes of an escaped element
	keptOfLong = 128 // bytes kept, at most, of one that would be longer
)

// EscapeElement turns any string into one valid element of a path, of at most 255
// bytes. Different strings give different elements. ASCII letters, digits and the
// characters of "-_.~:@=+," stay the same; every other byte becomes "%" and two hex
// digits. The empty string becomes "%", and the dots of "." and ".." are escaped. A
// string that would become longer than 255 bytes becomes its beginning, "%~" and the
// SHA-256 of the whole string.
func EscapeElement(name string) string {
	switch name {
	case "":
		return "%"
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	size := 0
	for i := range len(name) {
		size += width(name[i])
	}
	limit := maxElement
	if size > maxElement {
		limit = keptOfLong
	}
	b := make([]byte, 0, min(size, maxElement))
	for i := 0; i < len(name) && len(b)+width(name[i]) <= limit; i++ {
		if c := name[i]; plain(c) {
			b = append(b, c)
		} else {
			const digits = "0123456789ABCDEF"
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	if size > maxElement {
		// No byte becomes "%~", so no shorter string can give this.
		sum := sha256.Sum256([]byte(name))
		b = append(b, '%', '~')
		b = hex.AppendEncode(b, sum[:])
	}
	return string(b)
}

// width returns the number of bytes that c becomes.
func width(c byte) int {
	if plain(c) {
		return 1
	}
	return 3
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~:@=+,", c) >= 0
}
