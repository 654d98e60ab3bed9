// Package conn is the library's connection to ZooKeeper: go-zookeeper's client,
// with its defects met from outside.
//
// A [Conn] outlives ZooKeeper's sessions. It tells which session stands and on
// which TCP connection ([State]), makes requests and says what an error means for
// them ([Classify]), and says under which session a request ran ([Ran]). It keeps
// the time of the last answer from the quorum and proves with probes that the
// session lives ([Conn.Alive], [Guard]). It shares watches ([Watch]). It replaces a
// client that has locked up.
//
// There are two ways to get one. [Dial] makes a client of its own and gives it a
// dialer, a list of hosts and a callback, through which most defects are met.
// [Adapt] takes a client that the program has made; what only a dialer or the
// callback can meet remains there.
//
// The list below names the defects and limits of go-zookeeper/zk v1.0.4 that
// matter to a lock. After "Met" come the declarations of this package, or of
// package queue, that meet it. Throughout this package, a file with a line number,
// such as conn.go:931, is one of the client's.
//
// # Requests
//
//   - No call takes a context. A call returns with its answer, or when the client
//     is closed (conn.go:931-944), and takes effect long after its caller has given
//     up. Here calls are made in goroutines that outlive the caller and answer for
//     the nodes. Met: Conn.do, queue.Entry.Stand, queue.Entry.Remove.
//   - The queue of requests blocks. It holds 16; each further call waits in the
//     send, without a limit (conn.go:40, 918). Met: Conn.do.
//   - A request that was not sent survives its session. A disconnect fails only
//     what was sent (conn.go:497-500, 523-531); the rest waits for the next
//     connection, and after an expiry it is carried out in the next session
//     (conn.go:435-437). Met: Ran.Session, queue.Entry.trace, queue.Entry.removeNode.
//   - ErrConnectionClosed says nothing about the request. It is returned for a
//     request that was sent and not answered (conn.go:497-500), and for each that
//     races with Close (conn.go:916-943). Met: Classify.
//   - ErrNoServer sounds like an answer and is none: the request was never sent
//     (conn.go:375-376, 512-521). Met: Classify.
//   - A write that fails returns the network's error as it is (conn.go:753-756), so
//     that the known errors don't cover all failures. Met: Classify.
//   - Most of the servers' error codes have no error value. They become a new error
//     with the number in its text, for which errors.Is is useless
//     (constants.go:150-155). Met: Code, Classify.
//   - Calls hardly ever report that the session has expired. What was sent has
//     failed with ErrConnectionClosed before the client learns of the expiry
//     (conn.go:497-500, 705-711). Met: link.event, Conn.poll, Ran.Session.
//   - Results come along with errors. Exists returns true with an error
//     (conn.go:1192-1197). Met: Conn.Stat.
//   - CreateContainer reads its result while the client may still write it, if
//     Close runs (conn.go:1098-1099). Met: Conn.CreateParent.
//   - A request that is too large breaks the connection for all others: above
//     1,048,575 bytes (jute.maxbuffer) the servers close it. Met: Conn.fits.
//   - A request that just fills the send buffer ends the process. The encoder
//     recovers from a slice out of range and not from an index (structs.go:505-514,
//     548-554). Met: Conn.fits, clientLimit.
//   - Create returns no Stat, and the zxid of each answer is dropped
//     (conn.go:1071-1076), so that a fence costs a read. Met: queue.Entry.watchOwn.
//   - Create with FlagContainer makes a plain node, which the servers never remove
//     (conn.go:1057-1077). In Multi the same node is made and reported as an error
//     (structs.go:372-374). Met: Conn.CreateParent.
//   - CreateProtectedEphemeralSequential leaves nodes behind. It looks for the node
//     without a Sync and only after ErrConnectionClosed, gives up on the first error
//     of the search, takes the node of another session for its own, and panics at a
//     child with a short name after "_c_" (conn.go:1143-1168). It is not used. Met:
//     queue.Entry.create, queue.Entry.find.
//
// # Frames
//
//   - An answer that is malformed ends the process: a short one (conn.go:831, 865),
//     a bool at the very end, or a list that claims thousands of millions of items
//     (structs.go:414-423, 463, 478-480). A string that is longer than its frame is
//     filled up from the frame before (structs.go:472-473). Met: framed.check.
//   - A limit for answers breaks the connection. With WithMaxBufferSize a larger
//     answer ends it (conn.go:811-813), and whoever asks again ends the next one.
//     Met: link.receives.
//   - Each client takes 1.5 MiB to send from, and each connection 1.5 MiB to receive
//     into (conn.go:38, 206, 794-798). Met: sendBuffer, link.receives.
//
// # Connecting
//
//   - Names are resolved once, when the client is made, and one that fails makes all
//     fail (dnshostprovider.go:60-95); a server that moves is never found. Met:
//     hosts.Next, link.open.
//   - A reconnect takes a second. With one server the client waits for that long
//     before each reconnect, and fails what waits to be sent (conn.go:375-379,
//     dnshostprovider.go:118-134). Met: hosts.Next, link.pauseLocked.
//   - Without such pauses Close never ends. Only there does the loop look whether
//     the client is closed: with the servers down it dials for ever
//     (conn.go:366-398). Met: hosts.Next, link.kill.
//   - The handshake is hardly bounded: the first four bytes may take 6.67 times the
//     session timeout, the rest for ever (conn.go:683-695). Met:
//     framed.SetReadDeadline, link.limitLocked.
//   - Repeating credentials can lock the client up. If that write fails, the request
//     gets two errors and has room for one; the client waits for ever, with the
//     mutex that every request needs (conn.go:415, 753-756, 524-531). Met:
//     framed.authenticate.
//   - Credentials whose request dies with the connection are forgotten
//     (conn.go:947-971). Met: framed.authenticate.
//   - A client that has locked up stays so, and tells nobody. If it comes to life
//     after it was given up, it connects again and carries out the creates that it
//     has queued (conn.go:426-510, 766-771). Met: Conn.watchdog, link.kill.
//   - An expiry leaks the socket (conn.go:435-437). Met: link.dial.
//   - The dialer gets an address, so that TLS has no server name (conn.go:387). Met:
//     link.open.
//   - The list of servers is hardly checked. "host:2181/root" is taken and never
//     connects; a bare IPv6 address and a list in one string are refused with a text
//     about colons (dnshostprovider.go:81-84). Met: ParseServers.
//   - Close takes up to three seconds, ends nothing at the servers while it is
//     disconnected, and does not wait for the client's goroutines (conn.go:315-324,
//     904-911). Met: link.close, link.drained.
//   - A closed client does not tell that it is. Its calls fail as on a connection
//     that was lost (conn.go:905-943). Met: Conn.suspect, Conn.askClosed.
//   - The client writes to the standard logger unless told otherwise (conn.go:35,
//     204-205). Met: quiet.
//
// # Sessions
//
//   - Expiry is learned from the servers, on the next connection (conn.go:705-711). A
//     client that is cut off believes in its session for ever. Met: Conn.Alive,
//     prober.next.
//   - A new session stands up by itself, on the same client, and what the old one
//     held looks as if it were held (conn.go:426-437). Met: Ran.Session, Conn.poll,
//     queue.Entry.walk.
//   - The session timeout that the servers grant is not told (conn.go:714, 342-347).
//     Met: framed.handshake, Conn.shorter.
//   - A silent server is noticed late. The deadline for an answer, two thirds of
//     the session timeout, begins anew with each frame (conn.go:342-347, 801), so
//     that a disconnect may come after the expiry. Met: prober.next, Conn.cut.
//   - Pings prove nothing. A follower that has lost its leader answers them, while
//     the leader ends the session; this is ZooKeeper's way, and the client counts
//     them all the same (conn.go:843-844). Met: Conn.Alive, proves.
//   - The events of the session get lost. The channel holds six and drops the others
//     (conn.go:39, 354-364). Met: link.event, Conn.poll.
//   - The callback for events runs in the client's goroutines and under one of their
//     mutexes (conn.go:354-357, 561-568), so that a call on the client from there may
//     lock it up. Met: link.event.
//   - A new session may read the past. The client forgets what it has seen
//     (conn.go:708), so that the next server may lag behind it. A listing that decides
//     follows a create of the session, or a Sync. Met: queue.Entry.list,
//     queue.Entry.find.
//
// # Watches
//
//   - A watch can't be removed. Each call that sets one adds a channel, which stays
//     until the node changes or the session ends (conn.go:883-891). Met: Conn.Watch,
//     Conn.followLocked.
//   - A watch on a node that is gone stays for ever (conn.go:1201-1213). Get-watches
//     set none there. Met: Conn.Watch.
//   - A disconnect is not told to watches: they hear of events and of the expiry
//     alone (conn.go:437, 488-500). Met: Conn.setLocked.
//   - Watches are set again as of the wrong moment. The client names the zxid of its
//     last answer (conn.go:614), and answers of the new connection may have moved that
//     already (conn.go:848-850): changes of data and children in between are never
//     told. The deletion of a node is told all the same. Met: framed.Write, link.see,
//     Conn.lookAgain.
//   - That zxid is read and written without a mutex (conn.go:614, 849). Met: link.see.
//   - If setting watches again fails, only the log says so (conn.go:648-653). Met:
//     queue.Entry.block.
//   - Events lose their order. After a reconnect they come in the order of a map
//     (conn.go:602), and with a channel for each watch nobody can tell which came
//     first (conn.go:551-554). Met: link.event, Conn.Ordered, queue.Entry.turned.
//
// # Its lock
//
// The client's own lock, zk.Lock, is not used. Each error after its create leaves
// the node, which then blocks the lock until the session ends (lock.go:95-140). It
// does not look whether its own node is in the list, so that two hold it when the
// node was deleted (lock.go:106-126). The holder is not told of a loss, and the lock
// is stuck after one (lock.go:55-58, 150-160). A child that it can't parse makes it
// fail (lock.go:109-113). The sequence numbers may go below zero, and then two hold it
// (lock.go:106-121).
package conn
