// Package zktest is ZooKeeper in memory, for tests. It needs nothing but Go, and a
// test has control over the faults of the servers and of the network.
//
// A [Server] speaks ZooKeeper's protocol to any client, over loopback TCP
// ([Server.Addr]) or without a network ([Server.Dial], [Server.DialContext]), and
// starts in microseconds. In a testing/synctest bubble it lives in virtual time,
// together with go-zookeeper's client: hours pass at once, and a session timeout takes
// no time.
//
// Tests of locks, with sessions of package zksync, begin with package
// [github.com/zklocker/go-zksync/zksync/zksynctest]. Real servers, and a proxy with
// faults in front of them, are in package
// [github.com/zklocker/go-zksync/zksync/zktest/ensemble].
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
// A test can inspect the tree ([Server.Tree], [Server.Get], [Server.Children]), the
// sessions ([Server.Sessions]), the watches ([Server.Watches]) and the counts of
// requests ([Server.Requests]). It can end a session ([Server.Expire]), restart the
// server ([Server.Restart]), and use up the sequence numbers ([Server.SetSequence]).
//
// [Faults] are what servers and networks do to their clients: close connections
// ([Faults.Disconnect], [Faults.Refuse]), hold or slow down traffic
// ([Faults.Blackhole], [Faults.Delay], [Faults.Jitter]), and lose a request or its
// answer ([Faults.DropRequest], [Faults.DropReply]). [Server.AddMember] makes the server
// an ensemble of several. Faults of the Server are those of all members, and each
// [Member] has its own: it may lag behind the others ([Faults.LagUntilSync]) or lose
// its leader ([Faults.CutFromLeader]).
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
//   - [Server.Restart] keeps the tree with its Stats and sequence numbers, and the
//     sessions with their nodes, which [Server.RestartExpired] ends. Both end
//     connections and their watches, lag, and cuts from the leader. The other
//     [Faults] stay, and so do the counts of requests.
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
// [Server.Dial] or [Server.DialContext], and don't call [Server.Addr]: an open port
// would stop the clock. Close the clients before the bubble ends.
//
// A connection by Dial is a [net.Pipe]: a write waits until the other end reads.
// On each connection the server reads ahead, up to 256 requests that it has not
// carried out yet. It never waits for a client to read: it keeps what it has to
// send, however much that is. Deadlines work. Dial connects at once or refuses at
// once. With [Faults.Blackhole] the server accepts connections and does not answer.
// For ACLs of scheme ip the client's address is 127.0.0.1.
//
// A bubble does not fix which goroutine runs first, nor the names that clients
// make up. The server's own random choices are fixed by [WithSeed].
package zktest
