package zktest

import "github.com/zklocker/go-zksync/zksync/zktest/internal/javazk"

// ErrNoZooKeeper is wrapped by the error that [FindZooKeeper], and with it
// [NewEnsemble], returns when Java or ZooKeeper is not on this machine. The
// error says which of the two, where it was looked for and what to install.
var ErrNoZooKeeper = javazk.ErrNoZooKeeper

// Installation is a ZooKeeper that can be started. The zero value names none.
// It may be copied; copies share ClassPath. Any number of goroutines may read it.
type Installation struct {
	Java      string   // path of the java command
	ClassPath []string // jars, the binding for its log among them
	Home      string   // the directory the jars came from
}

// FindZooKeeper looks for Java in JAVA_HOME, then in the PATH, and for ZooKeeper
// in ZOOKEEPER_HOME or, when that is empty, among Debian's jars. A ZOOKEEPER_HOME
// that is set but holds no ZooKeeper is an error: nothing else is tried. The
// error wraps [ErrNoZooKeeper].
func FindZooKeeper() (Installation, error) {
	in, err := javazk.Find()
	return Installation(in), err
}
