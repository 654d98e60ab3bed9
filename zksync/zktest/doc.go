// Package zktest is ZooKeeper for tests: a server in memory that needs nothing
// but Go, real servers on loopback, and a hand on the faults that happen to them
// and to the network between.
//
// # In memory
//
// A [Server] speaks ZooKeeper's protocol to any client, over loopback TCP
// ([Server.Addr]) or without a network ([Server.Dial]), and starts in
// microseconds. In a testing/synctest bubble it lives in virtual time, together
// with go-zookeeper's client: a session timeout takes no time, and the test runs
// the same each time.
//
//	func TestSurvivesExpiry(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			s := zktest.Run(t)
//			conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial))
//			...
//			s.Blackhole(true, true) // the network is gone
//			time.Sleep(10 * time.Minute)
//			...
//			s.Heal()
//		})
//	}
//
// It has ZooKeeper's sessions, kinds of nodes, transactions, one-shot and lasting
// watches, their order, ACLs (world, auth, digest, ip), zxids, Stats and error
// codes: its tests hold the same conversations with it and with ZooKeeper 3.8.
// Three things are as in ZooKeeper 3.9: exists asks for the permission to read;
// events carry the zxid of what they tell, and go only to those who may read the
// node; a client may watch a path in several ways at once.
//
// A test can look at the tree ([Server.Tree], [Server.Get], [Server.Children]),
// at sessions, watches and counts of requests, and make faults: end a session
// ([Server.Expire]), cut connections ([Server.Disconnect], [Server.Refuse]), hold
// or slow traffic ([Server.Blackhole], [Server.Delay], [Server.Latency]), lose a
// request or its answer ([Server.DropRequest], [Server.DropReply]), restart
// ([Server.Restart]), and have sequence numbers run out ([Server.SetSequence]).
// With [Server.Door] it becomes an ensemble of several servers, each with faults
// of its own: one may lag behind the others ([Door.LagUntilSync]) or lose its
// leader ([Door.CutFromLeader]).
//
// What it does not do:
//
//   - SASL, TLS and the super user; four-letter words and the admin server
//   - observers, read-only mode, local sessions, dynamic reconfiguration (which
//     answers as if disabled), elections: the first door is the leader
//   - snapshots and logs: the tree is gone with the server, though not with
//     [Server.Restart]
//   - quotas, throttling and limits on the number of connections
//   - multiRead, whoAmI, getEphemerals, getAllChildrenNumber, and what ZooKeeper's
//     own servers send each other: answered as unimplemented, and closed
//
// Nodes with a time to live need no flag. Sequence numbers wrap at the end of 31
// bits.
//
// # Real servers
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
