// Package zktest is ZooKeeper for tests: a server in memory that needs nothing
// but Go, real servers on loopback, and control over faults of the servers and of
// the network between them.
//
// # In memory
//
// A [Server] speaks ZooKeeper's protocol to any client, over loopback TCP
// ([Server.Addr]) or without a network ([Server.Dial]), and starts in
// microseconds. In a testing/synctest bubble it lives in virtual time, together
// with go-zookeeper's client: hours pass at once, and a session timeout takes no
// time. This test checks what a function of the program, which works under a lock,
// does when the lock is lost after three hours:
//
//	func nightly(ctx context.Context, mu *zksync.Mutex, work func(context.Context) error) error {
//		return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return work(ctx) })
//	}
//
//	func TestNightlyStopsWithItsLock(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			srv := zktest.Run(t)
//			s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
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
// The next function uses no lock. It has to keep a node in the present session,
// whichever that is:
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
// A test can inspect the tree ([Server.Tree], [Server.Get], [Server.Children]),
// the sessions, the watches and the counts of requests. It can make faults: end a
// session ([Server.Expire]), cut connections ([Server.Disconnect],
// [Server.Refuse]), hold or slow down traffic ([Server.Blackhole], [Server.Delay],
// [Server.Latency]), lose a request or its answer ([Server.DropRequest],
// [Server.DropReply]), restart ([Server.Restart]), and use up the sequence numbers
// ([Server.SetSequence]). [Server.Member] makes it an ensemble of several servers,
// each with its own faults: one may lag behind the others ([Member.LagUntilSync]) or
// lose its leader ([Member.CutFromLeader]).
//
// # What it does as ZooKeeper does
//
// It has ZooKeeper's sessions, kinds of nodes, transactions, one-shot and lasting
// watches, their order, ACLs, zxids, Stats and error codes: its tests hold the
// same conversations with it and with ZooKeeper 3.8. Three things are as in
// ZooKeeper 3.9: exists needs the permission to read; an event carries the zxid of
// the change that it reports, and goes only to clients that may read the node; a
// client may watch a path in several ways at once.
//
//   - Requests: create, create2, createContainer, createTTL, delete, exists,
//     getData, setData, getACL, setACL, getChildren, getChildren2, check, sync,
//     multi of those that create, delete, set data or check, ping, auth,
//     closeSession, setWatches, setWatches2, addWatch, checkWatches,
//     removeWatches. A frame of 1 MiB or more ends its connection.
//   - ACLs: the schemes world, auth, digest and ip, enforced.
//   - The server deletes a container that has lost its last child, and a node with
//     a time to live when that time has passed without children. It looks for them
//     once a minute ([WithReapInterval]). A time to live needs no flag here.
//   - Sequence numbers stay at 2147483647 when they get there, as from ZooKeeper
//     3.6 on.
//   - Sessions end at a whole tick ([WithTick]). By default a tick is 500 ms, and
//     no session gets more than 10 s ([WithSessionLimits]).
//   - [Server.Restart] keeps the tree with its Stats and sequence numbers and, on
//     request, the sessions with their nodes. It ends connections and their
//     watches, lag, and cuts from the leader. The settings of Refuse, Blackhole,
//     Delay, Latency and the Drop methods stay, and so do the counts of requests.
//
// # What it does not do
//
//   - TLS, SASL, the schemes x509, sasl and super, and with them the super user:
//     authentication by any scheme but digest and ip fails, and an ACL of another
//     scheme is invalid.
//   - Four-letter words, the admin server, JMX, metrics: a connection that sends
//     such a word is closed. Use [Server.Sessions], [Server.Watches] and
//     [Server.Requests] instead.
//   - Dynamic reconfiguration: the server answers as if it were disabled.
//     "/zookeeper/config" exists and is empty.
//   - Quotas (nodes below "/zookeeper/quota" have no effect), throttling, limits
//     on the number of connections, of watches or of nodes.
//   - Observers, read-only mode, local sessions, and elections: the first member is
//     the leader.
//   - Snapshots and logs: the tree is gone with the server.
//   - multiRead, whoAmI, getEphemerals, getAllChildrenNumber, deleteContainer and
//     other requests that ZooKeeper's own servers send each other: the server
//     answers unimplemented and closes the connection.
//
// # Virtual time
//
// Time passes in a bubble when all of its goroutines wait for each other or for
// time to pass. A goroutine that reads from a socket does neither. So make the
// Server inside the bubble ([Run] with the bubble's T), give its clients
// [Server.Dial], and don't call [Server.Addr]: an open port would stop the clock.
// Close the clients before the bubble ends.
//
// A connection by Dial is a [net.Pipe]: a write waits until the other end reads.
// On each connection the server reads ahead, up to 256 requests that it has not
// carried out yet. It never waits for a client to read: it keeps what it has to
// send, however much that is. Deadlines work. Dial connects at once or refuses at
// once. With [Server.Blackhole] the server accepts connections and does not answer.
// For ACLs of scheme ip the client's address is 127.0.0.1.
//
// A bubble does not fix which goroutine runs first, nor the names that clients
// make up. The server's own random choices are fixed by [WithSeed].
//
// # Real servers
//
// An [Ensemble] is one or three real ZooKeeper servers, each a Java process with
// its own data directory. A test gets one from [RealEnsemble], which skips the test
// where no ZooKeeper is installed, or from [StartEnsemble], which fails there:
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
// A test can stop, kill, pause and restart servers ([Ensemble.Kill] and the methods
// beside it), cut one off from the others while its clients still reach it
// ([Ensemble.Cut]), and query it ([Ensemble.Metrics], [Ensemble.Watches],
// [Ensemble.Connections], [Ensemble.FourLetter]). [Ensemble.Expire] ends one
// client's session at once, from outside.
//
// # The network
//
// A [Proxy] stands between a client and one server. It holds traffic back
// without closing anything, cuts connections, refuses new ones, counts requests
// by their kind, and shows each frame to a hook that may drop it. So a test can
// have the server apply a create and lose the answer.
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
// Java comes from JAVA_HOME or the PATH. With ZKSYNC_REAL=required in the
// environment, RealEnsemble fails instead of skipping, so that a build server
// can't pass by skipping.
//
// Everything listens on 127.0.0.1 only. No server process outlives the test
// process, not even if the test process is killed with SIGKILL. [Ensemble.Close]
// deletes the files; those of a test process that was killed stay in the directory
// for temporary files.
package zktest
