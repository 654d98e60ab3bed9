// Package conn is the library's connection to ZooKeeper. It uses go-zookeeper's
// client, and meets that client's defects from outside.
//
// A [Conn] outlives ZooKeeper's sessions. It knows which session exists, and on which
// TCP connection ([State]). It makes requests. It says what an error means for a
// request ([Classify]), and which session ran it ([Ran]). It replaces a client that has
// locked up.
//
// There are two ways to get a Conn. [Dial] makes a client of its own and gives it a
// dialer, a list of hosts and a callback, through which most of its defects are met.
// [Adapt] uses a client that the program has made. The defects that only a dialer, a
// list of hosts or a callback can meet remain there.
//
// After Dial, the requests of this package do not go through the client at all. They
// travel as frames of their own on the client's connection (pipe), which leaves the
// session, the pings, the reconnects and the program's requests to the client. After
// Adapt, they are calls of the client. Both are a carrier.
//
// A Conn is composed of these parts:
//
//	clock.go    quorumClock    how long ago the quorum last proved that the session lives
//	guard.go    guardSet       which guards have lost, and why
//	prober.go   prober         when to ask for a proof, and when to give a connection up
//	round.go    unreadable     how the nodes of a probe are divided into transactions
//	watches.go  watches        the table of the shared watches
//	feed.go     feed           brings the events of a program's client to the watches
//	foreign.go  foreignClient  a client that belongs to the program
//	foreign.go  absence        whether the program may have closed that client
//	outage.go   outages        logs that no connection comes, or that the contact is lost
//	link.go     link           a client of the Conn's own, with its dialer and hosts
//	frame.go    framed         what stands between such a client and its socket
//	pipe.go     pipe           our requests and their answers on that socket
//	request.go  carrier        what brings a request to the servers: a pipe, or
//	client.go   clientCarrier  the calls of a program's client
//	refusal.go  RefusalError   what an access list has refused
//	batch.go    Batch          several requests in one write
//
// All but foreignClient, clientCarrier, link and framed know no client, and are tested
// alone.
//
// Mutexes are taken in this order: foreignClient.polling, Conn.mu or framed.mu, and
// then one of link.mu, watches.mu, pipe.mu and unreadable.mu. No request is made while
// one of them is held, and nothing is written: pipe.turn, a channel, orders the writes.
//
// The list below names the defects and limits of go-zookeeper/zk v1.0.4 that matter to
// a lock. After "Met" it names the declarations of this package, or of package queue,
// that meet each one. Throughout this package, a file with a line number, such as
// conn.go:931, is one of the client's.
//
// # Requests
//
//   - No call takes a context. A call returns with its answer, or when the client is
//     closed (conn.go:931-944). Its request may take effect long after the caller has
//     given up. Here calls run in goroutines that outlive the caller and deal with the
//     nodes that a late request creates. Met: Conn.do, Batch.Send, queue.Entry.Stand,
//     queue.Entry.Remove.
//   - The queue of requests blocks. It holds 16; each further call waits in the
//     send, without a limit (conn.go:40, 918). Met: Conn.do, pipe.enqueue.
//   - Each answer costs three switches between goroutines, and each request a write of
//     its own (conn.go:768-771, 870). Met: pipe.receive, pipe.drain.
//   - A write may take two thirds of the session timeout (conn.go:750-752). The client sets
//     the deadline for its own writes and removes it after each. Met:
//     framed.SetWriteDeadline, pipe.write.
//   - A request that was not sent survives its session. A disconnect fails only the
//     requests that were sent (conn.go:497-500, 523-531). The others wait for the next
//     connection, and after an expiry the next session carries them out
//     (conn.go:435-437). Met: pipe.fail, Ran.Session, queue.Entry.trace,
//     queue.Entry.removeNode.
//   - ErrConnectionClosed does not say what became of the request. A request that was
//     sent and not answered returns it (conn.go:497-500), and so does each that races
//     with Close (conn.go:916-943). Met: Classify.
//   - ErrNoServer looks like an answer of a server, but the request was never sent
//     (conn.go:375-376, 512-521). Met: Classify.
//   - A write that fails returns the network's error as it is (conn.go:753-756), so
//     the client's own errors do not cover all failures. Met: Classify.
//   - Most of the servers' error codes have no error value. Each becomes a new error
//     with the number in its text, for which errors.Is is useless
//     (constants.go:150-155). Met: Code, Classify, toError.
//   - Calls hardly ever report that the session has expired. All requests that were
//     sent have failed with ErrConnectionClosed before the client learns of the expiry
//     (conn.go:497-500, 705-711). Met: link.event, Conn.poll, Ran.Session.
//   - Some results come together with an error. Exists returns true with one
//     (conn.go:1192-1197). Met: request.call.
//   - CreateContainer reads its result while the client may still write it, if Close
//     is called at that moment (conn.go:1098-1099). Met: request.call.
//   - A request that is too large breaks the connection for all others: above
//     1,048,575 bytes (jute.maxbuffer) the servers close it. Met: Conn.fits.
//   - A request that just fills the send buffer ends the process. The encoder recovers
//     from a slice that is out of range, but not from an index (structs.go:505-514,
//     548-554). Met: Conn.fits, clientLimit.
//   - Create returns no Stat, and the zxid of each answer is dropped
//     (conn.go:1071-1076), so that a fence costs a read. Met: Conn.Make,
//     queue.Entry.watchOwn.
//   - Create with FlagContainer makes a plain node, which the servers never remove
//     (conn.go:1057-1077). Multi makes the same node and reports an error
//     (structs.go:372-374). Met: Conn.CreateParent, Container.
//   - CreateProtectedEphemeralSequential leaves nodes behind. It searches for its node
//     without a Sync, and only after ErrConnectionClosed. It gives up at the first
//     error of the search. It takes the node of another session for its own. It panics
//     at a child with a short name after "_c_" (conn.go:1143-1168). The library does
//     not use it. Met: queue.Entry.create, queue.Entry.find.
//
// # Frames
//
//   - A malformed answer ends the process. It may be too short (conn.go:831, 865), have
//     a bool at its very end, or have a list that claims thousands of millions of items
//     (structs.go:414-423, 463, 478-480). A string that claims to be longer than its
//     frame is completed from the frame before (structs.go:472-473). Met:
//     framed.check.
//   - A limit for answers breaks the connection. With WithMaxBufferSize a larger
//     answer ends it (conn.go:811-813), and the same request ends the next one.
//     Met: link.receives.
//   - Each client allocates 1.5 MiB to send from, and each connection 1.5 MiB to
//     receive into (conn.go:38, 206, 794-798). Met: firstSendBuffer, link.lend,
//     link.receives.
//
// # Connecting
//
//   - Names are resolved once, when the client is made, and one that fails makes all
//     fail (dnshostprovider.go:60-95). A server that gets a new address is never found.
//     Met: hosts.Next, link.open.
//   - A reconnect takes a second. With one server the client waits for that long
//     before each reconnect, and fails the requests that are queued (conn.go:375-379,
//     dnshostprovider.go:118-134). Met: hosts.Next, link.pauseLocked.
//   - Without such pauses Close never ends. Only in a pause does the loop notice that
//     the client is closed: with the servers down it dials for ever
//     (conn.go:366-398). Met: hosts.Next, link.kill.
//   - The handshake is hardly bounded: the first four bytes may take 6.67 times the
//     session timeout, the rest for ever (conn.go:683-695). Met:
//     framed.SetReadDeadline, link.limitLocked.
//   - Sending the credentials again can lock the client up. If the write fails, the
//     request gets two errors and has room for one. The client then waits for ever, and
//     holds the mutex that every request needs (conn.go:415, 753-756, 524-531). Met:
//     framed.authenticate.
//   - Credentials whose request fails with the connection are forgotten
//     (conn.go:947-971). Met: framed.authenticate.
//   - The client reports a session before it has sent its credentials again
//     (conn.go:716, 455). Met: link.remember, framed.authenticate.
//   - A client that has locked up stays locked up, and reports nothing. If it recovers
//     after it was given up, it connects again and carries out the creates that it
//     has queued (conn.go:426-510, 766-771). Met: Conn.watchdog, link.kill.
//   - An expiry leaks the socket (conn.go:435-437). Met: link.dial.
//   - The dialer gets an address, so that TLS has no server name (conn.go:387). Met:
//     link.open.
//   - The list of servers is hardly checked. "host:2181/root" is accepted and never
//     connects. A bare IPv6 address and a list in one string are refused with a text
//     about colons (dnshostprovider.go:81-84). Met: ParseServers.
//   - Close takes up to three seconds. It does not end the session while the client is
//     disconnected, and does not wait for the client's goroutines (conn.go:315-324,
//     904-911). Met: link.close, link.drained.
//   - A closed client does not say that it is closed. Its calls fail as on a connection
//     that was lost (conn.go:905-943). Met: absence.suspicious, Conn.checkClosed.
//   - The client writes to the standard logger by default (conn.go:35, 204-205). Met:
//     quiet.
//
// # Sessions
//
//   - The client learns of an expiry from the servers, on the next connection
//     (conn.go:705-711). While it is cut off it believes in its session for ever. Met:
//     Conn.Alive, prober.next.
//   - A new session begins by itself on the same client, and the locks of the old one
//     look as if they were still held (conn.go:426-437). Met: Ran.Session, Conn.poll,
//     queue.Entry.walk.
//   - The client does not say which session timeout the servers have granted
//     (conn.go:714, 342-347). Met: framed.handshake, Conn.shorter.
//   - The client notices late that a server is silent. The deadline for an answer, two
//     thirds of the session timeout, begins anew with each frame (conn.go:342-347,
//     801), so that a disconnect may come after the expiry. Met: prober.next, Conn.cut.
//   - Pings prove nothing. A follower that has lost its leader answers them, while the
//     leader ends the session. ZooKeeper is made so, but the client relies on them
//     (conn.go:843-844). Met: quorumClock.proved, proves.
//   - The events of the session get lost. The channel holds six and drops the others
//     (conn.go:39, 354-364). Met: link.event, Conn.poll.
//   - The callback for events runs in the client's goroutines and under one of their
//     mutexes (conn.go:354-357, 561-568), so that a call on the client from there may
//     lock it up. Met: link.event.
//   - A new session may read the past. The client forgets what it has seen
//     (conn.go:708), so that the next server may be behind the one before. A listing
//     that decides something follows a create of the same session, or a Sync. Met:
//     queue.Entry.list, queue.Entry.find.
//
// # Watches
//
//   - A watch can't be removed. Each call that sets one adds a channel, which stays
//     until the node changes or the session ends (conn.go:883-891). Met: watches.get,
//     Conn.Leave, feed.follow.
//   - A watch on a node that is gone stays for ever (conn.go:1201-1213). Get-watches
//     set none there. Met: Conn.Watch.
//   - Watches do not report a disconnect. They report events and the expiry alone
//     (conn.go:437, 488-500). Met: Conn.setLocked, watches.drop.
//   - The client sets watches again as of the wrong moment. It names the zxid of its
//     last answer (conn.go:614), which may have come on the new connection already
//     (conn.go:848-850). Changes of data and children before that answer are never
//     reported. The deletion of a node is reported all the same. Met: framed.Write,
//     link.see, feed.lookAgain.
//   - That zxid is read and written without a mutex (conn.go:614, 849). Met: link.see.
//   - If the client fails to set watches again, only the log says so
//     (conn.go:648-653). Met: queue.Entry.block.
//   - Events lose their order. After a reconnect they come in the order of a map
//     (conn.go:602), and with a channel for each watch nobody can tell which came
//     first (conn.go:551-554). Met: link.event, Conn.Ordered, queue.Entry.turned.
//
// # Its lock
//
// The library does not use the client's own lock, zk.Lock. An error after its create
// leaves the node, which then blocks the lock until the session ends (lock.go:95-140).
// It does not check whether its own node is in the list, so that two sessions hold the
// lock after a node was deleted (lock.go:106-126). The holder does not learn of a loss,
// and the lock can't be used again after one (lock.go:55-58, 150-160). It fails if it
// can't parse a child (lock.go:109-113). When the sequence numbers become negative, two
// sessions hold it (lock.go:106-121).
package conn
