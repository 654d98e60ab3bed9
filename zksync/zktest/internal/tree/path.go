package tree

import "strings"

// Parent returns the path of the parent of a valid path. That of "/" is "/".
func Parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// splitPath returns the path of the parent as ZooKeeper cuts it off, before it
// has looked at the rest.
func splitPath(p string) (string, bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 || strings.IndexByte(p, 0) >= 0 {
		return "", false
	}
	if i == 0 {
		return "/", true
	}
	return p[:i], true
}

// validPath is ZooKeeper's own test of a path.
func validPath(p string) bool {
	if p == "/" {
		return true
	}
	if !strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") {
		return false
	}
	for name := range strings.SplitSeq(p[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, r := range p {
		// Java sees characters beyond 16 bits as surrogates.
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return false
		}
	}
	return true
}
