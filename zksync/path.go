package zksync

import "github.com/zklocker/go-zksync/zksync/internal/znode"

// Path returns the path of the lock for name under root. It makes one path element
// of any name, even of one with slashes, dots or bytes that are no text, and different
// names give different elements. Use it for a lock per order id, per file, per user.
//
// root is used as it is. A result that ZooKeeper would refuse (because of a bad root,
// or a name of some kilobytes) is reported when the lock is first used.
func Path(root, name string) string {
	if root == "/" {
		root = ""
	}
	return root + "/" + znode.EscapeElement(name)
}
