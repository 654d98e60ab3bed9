package zksync

import "github.com/zklocker/go-zksync/zksync/internal/znode"

// Path returns the path of the lock for name under root: one path element
// whatever name holds (slashes, dots, bytes that are no text), and another one
// for every other name. Use it for a lock per order id, per file, per user.
//
// root is used as it is. A result that ZooKeeper would refuse (a bad root, or
// a name of some kilobytes) shows when the lock is first used.
func Path(root, name string) string {
	if root == "/" {
		root = ""
	}
	return root + "/" + znode.EscapeElement(name)
}
