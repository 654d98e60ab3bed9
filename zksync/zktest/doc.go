// Package zktest is ZooKeeper for tests: real servers on loopback, and a hand on
// the faults that happen to them and to the network between.
//
// # Servers
//
// An [Ensemble] is one or three real ZooKeeper servers, each a Java process with
// a data directory of its own. A test takes one with [RealEnsemble], which skips
// where no ZooKeeper is installed, or with [StartEnsemble], which fails there:
//
//	func TestFailover(t *testing.T) {
//		e := zktest.RealEnsemble(t, 3)
//		conn, _, err := zk.Connect(e.Servers(), 5*time.Second)
//		...
//		err = e.Kill(e.Leader())
//		...
//		_, err = e.WaitLeader(10 * time.Second)
//	}
//
// Servers can be stopped, killed, paused and started again ([Ensemble.Kill] and
// its neighbours), cut off from the others while their clients still reach them
// ([Ensemble.Cut]), and asked what they know ([Ensemble.Metrics],
// [Ensemble.Watches], [Ensemble.Connections], [Ensemble.FourLetter]).
// [Ensemble.Expire] ends one client's session at once, from outside.
//
// # The network
//
// A [Proxy] stands between a client and one server. It holds traffic back
// without closing anything, cuts connections, refuses new ones, counts requests
// by their kind, and shows each frame to a hook that may drop it: so a test can
// have a create applied and its answer lost.
//
//	p, err := zktest.NewProxy(e.Server(0))
//	...
//	p.SetHook(func(f zktest.Frame) zktest.Action {
//		if f.FromServer && f.Op == "create" {
//			return zktest.DropAndCut
//		}
//		return zktest.Pass
//	})
//
// # What it needs
//
// An Ensemble needs Java and ZooKeeper's jars: on Debian and Ubuntu
// "apt-get install -y zookeeper", elsewhere an unpacked release of Apache
// ZooKeeper (3.5 or later) that the environment variable ZOOKEEPER_HOME names.
// Java is taken from JAVA_HOME or the PATH. With ZKSYNC_REAL=required in the
// environment, RealEnsemble fails where it would skip, so that a build server
// can't pass by skipping.
//
// Everything listens on 127.0.0.1 alone. No process outlives the test process,
// not even one killed with SIGKILL. Files are gone after [Ensemble.Close]; those
// of a test process that was killed stay in the directory for temporary files.
package zktest
