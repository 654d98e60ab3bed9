// Package zktest is ZooKeeper in memory, for tests. It needs nothing but Go, and a
// test has control over the faults of the servers and of the network.
//
// A [Server] speaks ZooKeeper's protocol to any client, over loopback TCP
// ([Server.Addr]), at an address that you choose ([Server.Listen]), on any listener
// ([Server.Serve]), or without a network ([Server.Dial], [Server.DialContext]), and starts
// in microseconds. In a testing/synctest bubble it lives in virtual time, together with
// go-zookeeper's client: hours pass at once, and a session timeout takes no time.
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
// With the race detector, set GOMAXPROCS=1 for tests in bubbles: on more processors its
// runtime may end the test's process (https://go.dev/issue/78156, Go 1.26).
//
// A test can inspect the tree ([Server.Tree], [Server.Get], [Server.Children]), the
// sessions ([Server.Sessions]), the watches ([Server.Watches]) and the counts of
// requests ([Server.Requests]). It can record the requests and wait for one
// ([Server.Record]), without a loop that looks again and again. It can load a tree from a
// text or a map ([Server.Load], [Server.LoadMap]), and compare the tree with a text
// ([Server.Snapshot]). It can end a session ([Server.Expire]), restart the server
// ([Server.Restart]), use up the sequence numbers ([Server.SetSequence]), and empty the
// server for the next test ([Server.Reset]).
//
// [Faults] are what servers and networks do to their clients: close connections
// ([Faults.Disconnect], [Faults.Refuse]), hold or slow down traffic
// ([Faults.Blackhole], [Faults.Delay], [Faults.Jitter]), and lose frames by chance
// ([Faults.Loss]), or a certain request or its answer ([Faults.DropRequest],
// [Faults.DropReply]). [Server.AddMember] makes the server an ensemble of several. Faults
// of the Server are those of all members, and each [Member] has its own: it may lag
// behind the others ([Faults.LagUntilSync]) or lose its leader ([Faults.CutFromLeader]).
// A [Link] has those of the network for single clients. The ensemble may elect another
// leader ([Member.Lead]), or have no quorum ([Server.LoseQuorum]).
//
// # What it does as ZooKeeper does
//
// Tables of requests, schemes of ACLs, four-letter words and faults, written by the tests,
// are in https://github.com/zklocker/go-zksync/blob/main/docs/test-server.md.
//
// It has ZooKeeper's sessions, kinds of nodes, transactions, one-shot and lasting
// watches, their order, ACLs, zxids, Stats and error codes: its tests hold the
// same conversations with it and with ZooKeeper 3.8. Three things are as in
// ZooKeeper 3.9: exists needs the permission to read; an event carries the zxid of
// the change that it reports, and goes only to clients that may read the node; a
// client may watch a path in several ways at once.
//
//   - Requests: create, create2, createContainer, createTTL, delete, exists,
//     getData, setData, getACL, setACL, getChildren, getChildren2, getEphemerals,
//     getAllChildrenNumber, check, sync, multi of those that create, delete, set
//     data or check, multiRead of getData and getChildren, ping, auth, whoAmI,
//     closeSession, setWatches, setWatches2, addWatch, checkWatches,
//     removeWatches, reconfig. A frame of 1 MiB or more ends its connection.
//   - A client that sends deleteContainer or createSession, which are for
//     ZooKeeper's own servers, gets the answer of ZooKeeper 3.8: an error
//     (BadArguments), and the connect answer once more.
//   - sasl, with mechanism DIGEST-MD5, for the users of [WithSASLUsers]. Without that
//     option it is answered as by a ZooKeeper without SASL: without a token.
//   - An unknown request is answered with the error Unimplemented, and then, as in
//     ZooKeeper, the connection ends.
//   - ACLs: the schemes world, auth, digest, ip and, with SASL, sasl, enforced, and the
//     super user ([WithSuperDigest]).
//   - Reconfiguration ([WithReconfig]), with changes or a whole list, and the
//     configuration in "/zookeeper/config", also of a server with one member. A
//     member that votes no longer, or
//     again, closes its connections, and a leader that is taken out is replaced.
//   - The server deletes a container that has lost its last child, and a node with
//     a time to live when that time has passed without children. It looks for them
//     once a minute ([WithReapInterval]). A time to live needs no flag here.
//   - Sequence numbers stay at 2147483647 when they get there, as from ZooKeeper
//     3.6 on.
//   - Four-letter words, over TCP and without a network: conf, cons, crst, dirs, dump,
//     envi, isro, mntr, ruok, srst, srvr, stat, wchc, wchp and wchs, line by line as
//     ZooKeeper 3.8.0 answers them. srvr is enabled, the others by [WithFourLetterWords].
//     The version is 3.8.0-zktest. A Server with one member is standalone; of several, one
//     is the leader and the others are followers. A client without a network has
//     the address 127.0.0.1:0.
//   - Sessions end at a whole tick ([WithTick]). By default a tick is 500 ms, and
//     no session gets more than 10 s ([WithSessionLimits]).
//   - [Server.Restart] keeps the tree with its Stats and sequence numbers, and the
//     sessions with their nodes, which [Server.RestartExpired] ends. Both end
//     connections and their watches, lag, and cuts from the leader. The other
//     [Faults] stay, and so do the counts of requests.
//   - Without a quorum no session ends. After an election, and so after a restart, each
//     has its whole timeout again, and the zxid has a new epoch.
//
// # What it does not do
//
//   - TLS, unless a listener for [Server.Serve] does it; SASL by Kerberos (GSSAPI), and
//     servers that insist on SASL; the schemes x509 and super: the request auth fails for
//     any scheme but digest and ip, and an ACL of scheme x509 or super is invalid.
//   - The admin server, JMX, and the four-letter words gtmk, hash and stmk. Of the other
//     words, mntr has only the metrics that mean something here, and conf none of the lines
//     on the ensemble; conf and dirs know of no directory, and of proposals there are no
//     sizes; envi has "<NA>" for what only a Java program has.
//   - Groups and weights in the configuration, and anything that its addresses would
//     do: a server joins and leaves in name only.
//   - Quotas (nodes below "/zookeeper/quota" have no effect), throttling, limits
//     on the number of connections, of watches or of nodes.
//   - Observers, read-only mode, and local sessions. Elections take no time, and are
//     made by the test alone ([Member.Lead], [Server.RegainQuorum]): a leader that is
//     cut off stays the leader.
//   - Snapshots and logs on disk: the tree is gone with the server.
//
// # Virtual time
//
// Time passes in a bubble when all of its goroutines wait for each other or for
// time to pass. A goroutine that reads from a socket does neither. So make the
// Server inside the bubble ([Run] with the bubble's T), give its clients
// [Server.Dial] or [Server.DialContext]. [Server.Addr] and [Server.Listen] panic there:
// an open port would stop the clock. Close the clients before the bubble ends.
//
// A connection by Dial is a [net.Pipe]: a write waits until the other end reads.
// On each connection the server reads ahead, up to 256 requests that it has not
// carried out yet. It never waits for a client to read: it keeps what it has to
// send, however much that is. Deadlines work. Dial connects at once or refuses at
// once. With [Faults.Blackhole] the server accepts connections and does not answer.
// For ACLs of scheme ip the client's address is 127.0.0.1.
//
// A bubble does not fix which goroutine runs first, nor the names that clients
// make up. All else is the same in each run: the same requests in the same order get the
// same answers, session ids, passwords, zxids and times of nodes included. The server's
// own random choices are fixed by [WithSeed].
package zktest
