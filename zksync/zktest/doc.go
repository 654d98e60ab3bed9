// Package zktest is ZooKeeper for tests: a server in memory that needs nothing
// but Go, real servers on loopback, and a hand on the faults that happen to them
// and to the network between.
//
// # In memory
//
// A [Server] speaks ZooKeeper's protocol to any client, over loopback TCP
// ([Server.Addr]) or without a network ([Server.Dial]), and starts in
// microseconds. In a testing/synctest bubble it lives in virtual time, together
// with go-zookeeper's client: hours pass at once, and a session timeout takes no
// time. Here a program's own function, which does its work under a lock, is
// tested for what happens when the lock is lost after three hours:
//
//	func nightly(ctx context.Context, mu *zksync.Mutex, work func(context.Context) error) error {
//		return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return work(ctx) })
//	}
//
//	func TestNightlyStopsWithItsLock(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := zktest.Run(t)
//			s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialer(srv.Dial))
//			if err != nil {
//				t.Fatal(err)
//			}
//			defer s.Close()
//			err = nightly(t.Context(), zksync.NewMutex(s, "/nightly"), func(ctx context.Context) error {
//				time.Sleep(3 * time.Hour) // the lock is held, and costs no time
//				srv.Expire(s.ID())
//				<-ctx.Done()
//				return ctx.Err()
//			})
//			if !errors.Is(err, zksync.ErrLost) {
//				t.Errorf("error %v, want ErrLost", err)
//			}
//		})
//	}
//
// And one that knows nothing of locks, but has to keep a node in whatever session
// stands:
//
//	func register(conn *zk.Conn, events <-chan zk.Event) {
//		for range events { // whatever has happened, the node is to be there
//			conn.Create("/here", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
//		}
//	}
//
//	func TestRegisterSurvivesExpiry(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := zktest.Run(t)
//			conn, events, err := zk.Connect([]string{"127.0.0.1"}, 6*time.Second, zk.WithDialer(srv.Dial))
//			if err != nil {
//				t.Fatal(err)
//			}
//			defer conn.Close()
//			go register(conn, events)
//			time.Sleep(time.Minute)
//			srv.Expire(conn.SessionID())
//			time.Sleep(time.Minute)
//			if _, st, ok := srv.Get("/here"); !ok || st.EphemeralOwner != conn.SessionID() {
//				t.Error("the session that stands has no node")
//			}
//		})
//	}
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
// # What it does as ZooKeeper does
//
// It has ZooKeeper's sessions, kinds of nodes, transactions, one-shot and lasting
// watches, their order, ACLs, zxids, Stats and error codes: its tests hold the
// same conversations with it and with ZooKeeper 3.8. Three things are as in
// ZooKeeper 3.9: exists asks for the permission to read; events carry the zxid of
// what they tell, and go only to those who may read the node; a client may watch
// a path in several ways at once.
//
//   - Requests: create, create2, createContainer, createTTL, delete, exists,
//     getData, setData, getACL, setACL, getChildren, getChildren2, check, sync,
//     multi of the ones that create, delete, set data or check, ping, auth,
//     closeSession, setWatches, setWatches2, addWatch, checkWatches,
//     removeWatches. A frame of 1 MiB or more ends its connection.
//   - ACLs: the schemes world, auth, digest and ip, enforced.
//   - Containers go once they have lost their last child, and nodes with a time to
//     live, which need no flag here, once it has passed without children: both
//     when the server next looks, which is once a minute ([WithReapInterval]).
//   - Sequence numbers stay at 2147483647 when they get there, as from ZooKeeper
//     3.6 on.
//   - Sessions end at a whole tick ([WithTick]). By default a tick is 500 ms, and
//     no session gets more than 10 s ([WithSessionLimits]).
//   - [Server.Restart] keeps the tree with its Stats and sequence numbers and, if
//     told to, the sessions with their nodes. Connections and their watches, lag
//     and cuts from the leader end; what Refuse, Blackhole, Delay, Latency and the
//     Drop methods have set stays, and so do the counts of requests.
//
// # What it does not do
//
//   - TLS, SASL, the schemes x509, sasl and super, and with them the super user:
//     authentication by any scheme but digest and ip fails, and an ACL of another
//     one is invalid.
//   - Four-letter words, the admin server, JMX, metrics: a connection that sends
//     such a word is closed. [Server.Sessions], [Server.Watches] and
//     [Server.Requests] tell what there is to know.
//   - Dynamic reconfiguration, which answers as if disabled; "/zookeeper/config" is
//     there, and empty.
//   - Quotas (what is written below "/zookeeper/quota" has no effect), throttling,
//     limits on the number of connections, of watches or of nodes.
//   - Observers, read-only mode, local sessions, and elections: the first door is
//     the leader.
//   - Snapshots and logs: the tree is gone with the server.
//   - multiRead, whoAmI, getEphemerals, getAllChildrenNumber, deleteContainer and
//     what else ZooKeeper's own servers send each other: answered as
//     unimplemented, and the connection is closed.
//
// # Virtual time
//
// Time passes in a bubble when all of its goroutines wait for each other or for
// the time. One that reads from a socket does neither: so within a bubble make
// the Server there ([Run] with the bubble's T), give its clients [Server.Dial],
// and don't call [Server.Addr], whose open port would stop the clock. The clients
// have to be closed before the bubble ends.
//
// A connection by Dial is a [net.Pipe]: a write waits until the other end reads.
// The server reads ahead of what it carries out, up to 256 requests a connection,
// and never waits for a client to read: what it has to send is kept, however much
// that is. Deadlines work. Dial connects at once or refuses at once; a server that
// does not answer is made with [Server.Blackhole], which takes connections. The
// client's address is 127.0.0.1 for ACLs of scheme ip.
//
// Which goroutine runs first is not fixed by a bubble, nor are the names that
// clients make up; what the server does at random is ([WithSeed]).
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
