// Package ensemble is real ZooKeeper for tests: one or three servers on loopback that
// a test can kill, pause and cut off, and a proxy that makes a bad network in front of
// one of them. A server in memory, which needs no Java and no real time, is in package
// [github.com/zklocker/go-zksync/zksync/zktest].
//
// # Servers
//
// An [Ensemble] is one or three ZooKeeper servers, each a Java process with its own
// data directory. A test gets one from [Run], which skips the test where no ZooKeeper
// is installed. The servers of this test elect a new leader:
//
//	func TestFailover(t *testing.T) {
//		e := ensemble.Run(t, 3)
//		conn, _, err := zk.Connect(e.Addrs(), 5*time.Second)
//		if err != nil {
//			t.Fatal(err)
//		}
//		defer conn.Close()
//		if err := e.Kill(e.Leader()); err != nil {
//			t.Fatal(err)
//		}
//		if _, err := e.WaitLeader(10 * time.Second); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// A test can stop, kill, pause and restart servers ([Ensemble.Kill] and the methods
// beside it), cut one off from the others while its clients still reach it
// ([Ensemble.Cut]), and query it ([Ensemble.Metrics], [Ensemble.Watches],
// [Ensemble.Connections], [Ensemble.FourLetter]). [Ensemble.Expire] ends one client's
// session at once, from outside.
//
// # The network
//
// A [Proxy] stands between a client and one server, real or in memory. It holds
// traffic back without closing anything, closes connections, refuses new ones, counts
// requests by their kind, and shows each frame to a hook that may drop it. Here the
// server carries out a create, and the answer is lost:
//
//	p, err := ensemble.NewProxy(e.Addr(0))
//	...
//	p.SetHook(func(f ensemble.Frame) ensemble.Action {
//		if f.FromServer && f.Op == "create" {
//			return ensemble.DropAndDisconnect
//		}
//		return ensemble.Pass
//	})
//
// # What it needs
//
// An Ensemble needs Java and ZooKeeper's jars: on Debian and Ubuntu
// "apt-get install -y zookeeper", elsewhere an unpacked release of Apache ZooKeeper
// (3.5 or later) that the environment variable ZOOKEEPER_HOME names. Java comes
// from JAVA_HOME or the PATH. With ZKSYNC_REAL=required in the environment, Run fails
// instead of skipping, so that a build server can't pass by skipping. A Proxy needs
// neither.
//
// Everything listens on 127.0.0.1 only. No server process outlives the test process,
// not even if the test process is killed with SIGKILL. [Ensemble.Close] deletes the
// files; those of a test process that was killed stay in the directory for temporary
// files.
package ensemble
