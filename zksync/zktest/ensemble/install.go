package ensemble

import "github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/javazk"

// ErrNoZooKeeper is wrapped by the errors of [Find] and [New] if
// Java or ZooKeeper is not on this machine. The error says which of the two is
// missing, where it was looked for, and what to install.
var ErrNoZooKeeper = javazk.ErrNoZooKeeper

// Installation is a ZooKeeper that can be started. The zero value names none. It may
// be copied; copies share ClassPath. Any number of goroutines may read it.
type Installation struct {
	Java      string   // path of the java command
	ClassPath []string // jars, including the binding for the log
	Home      string   // the directory the jars came from
}

// Find looks for Java in JAVA_HOME and then in the PATH. It looks for
// ZooKeeper in ZOOKEEPER_HOME or, if that is empty, among Debian's jars. If
// ZOOKEEPER_HOME is set but contains no ZooKeeper, it returns an error and looks
// nowhere else. The error wraps [ErrNoZooKeeper].
func Find() (Installation, error) {
	in, err := javazk.Find()
	return Installation(in), err
}
