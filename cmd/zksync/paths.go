package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

// maxPath is the longest path of a lock, in bytes.
const maxPath = 2048

// checkPath returns a usage error unless path is one that a lock can have. what is the
// argument's name. Package zksync refuses the same paths, but only with a session.
func checkPath(what, path string) error { return checkBelow(what, path, "/locks/") }

// checkRoot is checkPath for a path below which locks are, which may be the root.
func checkRoot(what, path string) error {
	if path == "/" {
		return nil
	}
	return checkBelow(what, path, "/")
}

// checkBelow is checkPath. A name without any slash was probably meant to be below example.
func checkBelow(what, path, example string) error {
	switch {
	case path == "":
		return exit.Usagef("%s is empty", what)
	case path[0] != '/':
		if strings.Contains(path, "/") {
			example = "/"
		}
		return exit.Usagef("%s %s is not a path: it must start with a slash, as in %s", what, text.Quoted(path), text.Name(example+path))
	}
	if why := badPath(path); why != "" {
		return exit.Usagef("%s %s: %s", what, text.Quoted(path), why)
	}
	return nil
}

// checkChroot returns a usage error unless chroot can end the connect string whose
// servers are list.
func checkChroot(from, list, chroot string) error {
	if strings.Contains(chroot, ",") {
		// Every client would take it as one path, and two programs with other orders
		// of the servers would lock different nodes.
		return exit.Usagef("%s: a comma in the chroot %s: the chroot comes once, behind the last server, as in %s,...%s",
			from, text.Quoted(chroot), text.Name(list), text.Name(chroot[:strings.Index(chroot, ",")]))
	}
	if why := badPath(chroot); why != "" {
		return exit.Usagef("%s: chroot %s: %s", from, text.Quoted(chroot), why)
	}
	return nil
}

// badPath says why ZooKeeper or package zksync refuses a path that starts with a
// slash, or returns nothing.
func badPath(path string) string {
	switch {
	case len(path) > maxPath:
		return fmt.Sprintf("%d bytes are more than %d", len(path), maxPath)
	case path == "/":
		return "the root can't be a lock"
	case path[len(path)-1] == '/':
		return "it must not end with a slash"
	case path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/"):
		return "it belongs to ZooKeeper itself"
	case !utf8.ValidString(path):
		return "it is not valid UTF-8"
	}
	for _, r := range path {
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return fmt.Sprintf("ZooKeeper refuses the character %U", r)
		}
	}
	for element := range strings.SplitSeq(path[1:], "/") {
		switch element {
		case "":
			return "it has an empty element"
		case ".", "..":
			return "it has the relative element " + text.Quoted(element)
		}
	}
	return ""
}
