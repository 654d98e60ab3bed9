// Package zksync is sync.Mutex, sync.RWMutex and semaphore.Weighted across
// machines, on ZooKeeper.
//
//	s, err := zksync.Dial(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	...
//	defer s.Close()
//
//	mu := zksync.NewMutex(s, "/locks/orders")
//	err = mu.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
//		return charge(ctx, order, h.Fence()) // ctx ends when the lock is lost
//	})
//
// Lock and Unlock work as in package sync, without a fence, and report no loss:
//
//	mu.Lock()
//	defer mu.Unlock()
//
// Between goroutines of one session, Lock passes without a request. Do makes a new
// node for each call, because each call has a fence of its own: a node has one fence,
// and two holders with the same fence could not be told apart.
//
// [Session.Close] ends every wait. A goroutine that waits in Lock then panics, because
// Lock has no error to return. A program with such goroutines calls [Session.Shutdown]
// first, which lets them finish, or uses LockContext in them.
//
// A [Session] is the program's connection to ZooKeeper. One session is enough for
// a process. A lock belongs to a path: all programs that name the same path share
// the lock, in the order in which they came. [Locker] documents each method.
// Throughout, T is the session timeout negotiated with the servers,
// [Session.Timeout].
//
// A type documented as a plain value may be copied, has an empty zero value, and
// is safe for concurrent reads but not for concurrent writes.
//
// # Which lock when
//
//	one at a time                              NewMutex
//	many read, one writes                      NewRWMutex
//	at most n, or n units of something         NewSemaphore
//	several locks at once, without deadlock    NewMulti
//	run unless another instance does           NewMutex, TryDo
//	one of many runs, another when it fails    NewElection, Run
//	read first, then perhaps write             NewRWMutex: write first, then
//	                                           downgrade; it never upgrades
//
// Then choose how to acquire it. These methods exist on [Mutex], [Multi],
// [RWMutex] (for writing) and [RWMutex.RLocker] (for reading). A [Semaphore] has
// Do, TryDo, Hold and TryHold, and the methods of x/sync.
//
//   - [Mutex.Do] runs a function under the lock. The function gets a context
//     that ends when the lock is lost, and a handle that knows the fence. Use it
//     by default.
//   - [Mutex.Hold] returns the handle. Use it when one function takes the lock
//     and another one releases it. [Hold.Context] makes the context, [Hold.Fence]
//     is the fence, [Hold.Release] releases the lock.
//   - [Mutex.Lock] and [Mutex.LockContext] work as in sync.Mutex. They report no
//     loss and have no fence. Use them only for work that is idempotent or
//     protected by other means. In return, the lock passes from one goroutine
//     of a session to the next without a request ([WithHandoff]), and the session
//     may keep an unused lock for its next call ([WithLinger]).
//   - [Mutex.TryDo], [Mutex.TryHold], [Mutex.TryLockContext] and [Mutex.TryLock]
//     don't wait. Use them for work that is skipped when another instance does
//     it. TryLock may refuse a lock that was released a moment ago.
//   - [Mutex.As] and [WithOwner] make a lock re-entrant for one [Owner]: see
//     Owners, below. [WithLabel] names a call for others, and does nothing else.
//
// A path is a semaphore's or a lock's. A Mutex and an RWMutex on one path exclude each
// other; a Semaphore on the path of a lock fails with an error that names both kinds, and
// so does a lock on the path of a Semaphore.
//
// [Path] makes a lock's path from any string, for example from an order id.
//
// # Leader election
//
// An [Election] keeps one of several programs at work, for as long as it can, and puts
// the next one in its place when it fails. [Election.Run] is a loop around Do:
//
//	err := zksync.NewElection(s, "/leaders/billing").Run(ctx, func(ctx context.Context, h *zksync.Hold) error {
//		return bill(ctx, h.Fence()) // until ctx ends: the leadership is lost, or the program ends
//	})
//
// These are the rules:
//
//   - The function that leads returns when its context ends. If the leadership was lost
//     or asked back ([Session.Revoke]), Run stands again, at the end of the line.
//     Otherwise it has resigned, and Run returns what it has returned.
//   - While the function goes on after a loss, it works beside the next leader, for
//     which the fence is. Run does not stand again before it has returned.
//   - To resign for good, the function returns. To resign for one term, it asks for its
//     own leadership with Revoke.
//   - No method tells whether this program leads: the answer could be wrong by the time
//     that it is read. The context of the function tells.
//   - [Election.Leader] and [Election.Observe] show who leads, to any program that may
//     read the path. What a leader publishes of itself is its [WithIdentity].
//   - An election is a lock: a Mutex on its path excludes it, and so does Curator's
//     LeaderSelector. It has no owners, like a Semaphore.
//
// # Owners
//
// A lock is not re-entrant, unless calls are made for an [Owner]: a token for one
// sequential line of work, which the program passes on. It is not a goroutine.
//
//	ctx = zksync.WithOwner(ctx, zksync.NewOwner("order 7"))
//	err := mu.Do(ctx, func(ctx context.Context, h *zksync.Hold) error {
//		return book(ctx) // may call mu.Do(ctx, ...) itself
//	})
//
// These are the rules:
//
//   - A call for the owner who holds the lock enters it again at once. The lock is
//     released after as many unlocks.
//   - Calls of one owner never wait for each other. Those that wait when a call of
//     their owner is granted enter with it. So goroutines that share an owner do
//     not exclude each other: give each of them an owner of its own, or none.
//   - A call that can't enter ends with ErrDeadlock, also if it waited before its
//     owner got the lock: one that wants to write while its owner reads, or one for
//     a [Multi] while its owner holds one of its locks, or the other way round.
//   - Nothing else re-enters. A call for the lock of a Do, with the context of its
//     function and for no owner who holds it, fails at once with ErrDeadlock,
//     because it would wait for its own work. That ends with the Do.
//   - [Mutex.UnlockContext] with an owner in its context ends one of the owner's
//     levels, or one that was taken for no owner. It never ends another owner's.
//   - A [Semaphore] has no owners: each call takes permits of its own.
//
// # How it works
//
// ZooKeeper keeps a tree of small nodes on several servers. A write succeeds when a
// majority of the servers, the quorum, has it in its log. A lock's path is a node.
// Each session that wants the lock makes a child there. The child is
//
//   - ephemeral: the servers delete it when its session ends. So a program that
//     crashes releases its locks, T later.
//   - sequential: the servers add a number to its name, larger than those of all
//     children before. So the children form a line. The first one in line holds
//     the lock.
//
// A program that is not first watches the child before its own, its predecessor:
// the servers send it one event when that child goes.
//
//	the children of /locks/orders         session A     session B     session C
//
//	_c_8f3a...-lock-0000000007  of A      first: held
//	_c_19d0...-lock-0000000008  of B                    watches 7
//	_c_c4e2...-lock-0000000009  of C                                  watches 8
//
//	A releases: child 7 is deleted        done          event
//	                                                    first: held   sleeps on
//	B crashes, and T passes: child 8                    lost          event
//	is deleted with its session                                       first: held
//
// There is no herd: a release wakes one session, even when a thousand sessions
// wait. If they all watched the path, each release would wake all of them, and
// each would list a thousand children.
//
// An event says that the predecessor is gone, not that the lock is free. The
// predecessor may have given up waiting while others still stand before it. So a
// session that is woken lists the line again. It needs no list if only the holder
// stood before it, and if the connection is still the one on which it watched.
//
// A reply can be lost: the connection breaks after the servers have made the child
// and before the program hears of it. A program that simply tried again would wait
// behind its own first child for ever. So each attempt puts a new UUID into the
// name. When the connection is back, the session makes its server catch up with
// the others (sync), lists the path, and looks for the UUID. If the child is there
// and belongs to this session, the session uses it. Otherwise it makes another one
// with a new UUID. A deletion whose reply was lost is repeated until the child is
// known to be gone.
//
// A session's own child can be missing: an operator has deleted it, or the session
// has expired. Nothing then keeps the next in line from the lock. So a lock is
// granted only while the session's own child is known to exist, and while the
// session lives. A waiting call whose child is gone makes another one at the end
// of the line. A holder whose child is gone has lost the lock; see the next
// section.
//
// The line is fair among sessions: first come, first served, by the servers'
// numbers. Goroutines of one session wait in a line of their own, and their session
// stands in ZooKeeper's line once. A plain lock may pass between them 16 times in a
// row while other sessions wait ([WithHandoff]). Then the session goes to the end
// of the line. Readers wait behind a writer that came before them, so neither side
// starves. A call that waits while its session expires starts again at the end of
// the line.
//
// # Losing a lock
//
// A program holds a lock for as long as its session lives. The servers end the
// session when they have not heard from it for T: the process was stopped, the
// network was cut, or the machine slept. Then the next in line has the lock,
// whether the holder knows it or not.
//
// While a Hold or Do is open, the session proves that it lives: every T/6 it has
// the quorum check that the nodes of its holds exist. Pings and reads prove
// nothing: a server that has lost its quorum still answers them. A hold is lost
// when
//
//   - its node is gone, whoever deleted it,
//   - its session is over, or
//   - T/2 has passed since the session sent the last request that the quorum
//     answered.
//
// A disconnect alone is no loss. After a loss the contexts of the hold end.
// [context.Cause], [Hold.Err] and Release then return an [*Error] that Is [ErrLost],
// names the lock and its node, and says which of the three it was. Hold.Err compares the clock at each call,
// and so does the Err of a context from Hold.Context or Do. A process that was
// stopped thus sees the loss at its next call, before any timer has run.
//
// A lock taken by Lock, LockContext or TryLock has no handle, and the session
// does not prove that it lives for such a lock. If such a loss is detected
// anyway, it is logged at level Error, to slog.Default unless [WithLogger] is
// set; a loss by Session.Close is not. The lock then keeps its place among the goroutines of its own session
// until its Unlock. It does not hold up other sessions. UnlockContext returns
// ErrLost; Unlock logs it when the answer to its deletion shows the loss.
//
// If the session ends before the deletion was confirmed, that counts as a loss, because
// nothing shows that the lock was held until its Unlock.
//
// After a loss the same Mutex works at once, on the next session.
//
// A network that delivers the holder's requests but none of the answers, even on
// new connections, blocks the lock for as long as it lasts. The holder has lost
// the lock after T/2, but each of its attempts to connect renews its session.
//
// # Fencing
//
// No lock can promise that its holder's last write arrives in time. A process may
// be stopped after it has checked the context and before it writes. Its packet
// may still be on the way while the next holder works. So the data that the lock
// protects has to refuse late writes itself.
//
// [Hold.Fence] is the number for that. It is the zxid of the transaction that put
// the hold's node in line. Each later hold of a path has a larger one, across
// processes, machines, restarts, and the deletion of the path. Send it with every
// write, store the largest one seen beside the data, and refuse a smaller one. In
// SQL:
//
//	UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// If no row was updated, a later holder has already written. The comparison and
// the write must be atomic, as they are here.
//
// If the data is in the same ZooKeeper, it needs no fence. [Hold.Check] returns
// operations for the program's own transaction, which then succeeds only while the
// nodes of the hold exist:
//
//	ops := append(h.Check(), &zk.SetDataRequest{Path: p, Data: d, Version: -1})
//	res, err := s.Conn().Multi(ops...)
//
// ZooKeeper decides on the lock and on the write at one moment. If the lock was lost,
// the error Is zk.ErrNoNode, the result of a check has an error, and nothing is
// written. An error of the connection says nothing: read the data to learn whether the
// write was made. One transaction costs what a single write costs. It protects only
// what is written in it.
//
// Fences restart if the ensemble is rebuilt with empty data directories; reset the
// stored fences then.
//
// # What it costs
//
// Requests to ZooKeeper, counted on the wire, to acquire a lock + to release it:
//
//	a free lock that this session had last                 1 + 1
//	a free lock that another session had last              2 + 1
//	a lock whose path is new: create both + delete         1 + 1
//	the next goroutine of the same session takes over      0
//	the next session in line, from the event to the grant  0
//	a session deeper in line, when its turn comes          1
//	TryLock, TryLockContext or TryDo, refused              1
//	TryHold, refused, with the name of the holder          2
//	a Try that is granted                                  2 + 1, or 3 + 1
//	further readers of the session, on the same node       1 for the first, then 0
//	a part of them given back                              1
//	n free locks by a Multi                                1 + 1, or 1 + n + 1
//	a reader's turn when the writer before it goes         1
//	permits when it is their turn                          1, and 1 to tell who is next
//	permits that go to the next goroutine of the session   1 for the first, then 0
//
// Of the calls of a session that wait for permits, those that could be granted together
// stand in ZooKeeper's line, 256 at most. The others wait in the process.
//
// The first two rows are those of Mutex, of both sides of RWMutex and of Semaphore, by
// Lock, Hold and Do. A session does not list a lock's path if the number that ZooKeeper
// gives to its node shows that nobody else has stood there since. To rely on that, it
// watches the path from the second use on at which nobody else stands in line, with one
// read: up to 1,024 paths a session.
// While other sessions use the path, too, it sends the create and the list in one write.
// So a free lock takes one round trip. It takes two the first time after another session
// has used the path. On a program's own client (NewSession) a path is always listed, after
// the create.
//
// A Hold or Do that is older than 10 ms reads its node once, and watches it. A Try lists
// the path before it makes a node, so that a refusal leaves no trace. In addition:
//
//   - A path that is missing is made together with the first node. If levels above it
//     are missing, too, that costs two more requests for each. If a path exists that
//     the session has not used before, the attempt to make it may cost one request in
//     vain; the session remembers for each directory whether its paths were new.
//   - A call that has to wait costs a create, a list and two reads with a watch.
//     A waiting call verifies its watch with one read every T.
//   - A session that has a Hold open, or is next in line behind a holder, sends
//     one probe every T/6 for all of them together. A probe is a transaction:
//     the quorum agrees on it, and the servers write it to their logs.
//   - The first hand-over on a node costs one read. After the 16th in a row
//     ([WithHandoff]) the session lists the path. If somebody else waits, the
//     session gives the lock away and goes to the end of the line in one
//     transaction. Otherwise it goes on, and lists the path again after T/6 at
//     the latest.
//   - With [WithLinger] the first Unlock of a lock that nobody waited for costs two
//     reads. After that Lock and Unlock cost nothing until somebody else comes, apart
//     from one list every T/6 and one transaction every T/2 while the lock is in use.
//   - A lock's node names the call that it serves. After a hand-over the name is
//     wrong. After 100 ms the session rewrites it once: with the holder's name, if
//     that one has held the lock for 100 ms, else with no owner and no trace. From
//     then on it writes only the name of a holder who keeps the lock for 100 ms.
//     That is one write, and one read if the node is watched. Whoever waits behind
//     the node reads it once. Nothing is written where the data would be the same:
//     without an [Owner], [WithLabel] and [Tracer.Parent]. The access list has to let
//     the session write to its nodes; otherwise calls by Lock, LockContext and RLock
//     are not named.
//   - A Hold whose turn comes more than T/3 after the session's last transaction
//     costs one more request, which proves first that the session lives. The same
//     is true of Lock after T/2.
//   - If the same session already holds the lock, a Try is refused without a
//     request.
//   - [Election.Leader] costs a list and a read. A loop over [Election.Observe] has one
//     watch. A new leader costs it an event, a list and a read; what happens behind the
//     leader costs it nothing. One read every T checks the watch.
//
// Releasing a lock wakes one waiting session and, within it, one goroutine.
// Releasing a write lock wakes all readers that may enter. Releasing permits wakes
// the first waiter that did not fit. [Session.Stats] counts requests, grants,
// hand-overs and losses.
//
// A session takes some 20 KiB of memory, and 136 KiB more once the program has called
// [Session.Conn]. A lock that nobody uses takes neither memory nor goroutines: a
// program may make a Mutex for each request.
//
// # When not to use it
//
// A lock costs two writes, a create and a delete, and the quorum has to agree on
// each: a server sends the write to the leader, the leader sends it to the others,
// and a majority flushes it to disk. One client can't take and release a free lock
// faster than it can make these two writes. This is the floor: some hundreds of
// locks a second in this measurement. The table gives each rate as a multiple of
// the floor:
//
//	                                                  3 servers   1 server
//	create and delete a node, one client: the floor       1           2
//	read a node                                          11          14
//	Lock and Unlock, free                                 0.9         1.7
//	Hold and Release, free                                0.8         1.5
//	one lock for 3, 8 or 32 sessions                      1.1         1.9
//	one lock for 64 goroutines of a session             900         900
//	64 locks for 64 goroutines of a session               5           9
//
//	PostgreSQL: SELECT ... FOR UPDATE and COMMIT                      6
//	PostgreSQL: two UPDATEs of an owner and its expiry                4
//	PostgreSQL: pg_advisory_lock and pg_advisory_unlock              50
//	Redis, redsync, each write flushed (appendfsync always)           3
//	Redis, redsync, in memory                                        20
//
// These are medians of 24 rounds or more, each beside a round of the floor. All
// clients and servers ran on one machine, by loopback, on two busy cores and one
// disk: ZooKeeper 3.8.0 and PostgreSQL 15, which flushed each write, and Redis 7.0.
// In a second run the medians differed by up to a third. Take the orders of
// magnitude from the table, and measure on your own network.
//
// Look for something else in these cases:
//
//   - Several machines take one lock thousands of times a second. Use many locks,
//     for example one for each order id ([Path]), or have one process do the
//     work. Between goroutines of one session a lock passes without a request.
//   - The data is in one database. Lock its row in the transaction that writes
//     it (SELECT ... FOR UPDATE). Lock and data then commit together, and the
//     data needs no fence. An advisory lock makes no write at all. It ends with
//     its connection, it has no fence, and it does not work through a pooler
//     that gives each transaction another connection. ZooKeeper is for work that
//     reaches beyond one database, or lasts longer than a transaction should.
//   - Two holders at a time do no harm, because the lock only saves work. Redis
//     is faster. Its lock expires at a time set in advance unless the holder
//     extends it. It has no fence. Its replication is asynchronous, so that two
//     programs may hold the lock after a failover. It has no line: redsync's
//     waiters ask again after a random pause. When 8 clients took turns of 5 ms,
//     the longest wait was 8 times as long as in ZooKeeper's line.
//   - A handful of programs, with a ZooKeeper that is there already. The simplest
//     recipe may be enough: one ephemeral node with a fixed name. Whoever creates
//     it holds the lock; the others watch it, and try again when it goes. All of
//     them wake at each release, in no order. With 3 sessions it reached 0.8 of
//     the floor, with 8 sessions 0.7, with 32 sessions 0.4. It still has to
//     handle lost replies and lost sessions.
//   - There is no ZooKeeper yet. Three more servers are a lot of work for one
//     lock. Use the database, or a Lease if the programs run on Kubernetes.
//
// # Timeouts
//
// T is how long a lock stays taken after its holder has died. The next in line has
// it after T and one tick of the servers, or that long after the servers have
// elected a new leader. T/2 is how long a holder can do without an answer from the
// quorum. A small T frees locks sooner, and loses them more often.
//
// The default asks for 10 s. Servers grant from 2 to 20 of their ticks unless they
// are configured otherwise; Session.Timeout returns what they granted. Let T be at
// least three ticks: 6 s with the usual tick of 2 s. Below that, T/2 is too long:
// a server may report the session's activity to its leader up to half a tick late.
//
// A probe without an answer after T/6 makes the session move to another server. So
// name all servers to [Dial]. Let T/6 be well above the longest pause of a healthy
// server and of the program itself.
//
// The deadline of a context bounds the whole call, however many disconnects and
// predecessors there are. Release and UnlockContext stop waiting when their
// context ends, and Do stops after T/3. The deletion goes on in the background
// until the node is known to be gone. Release may be given the hold's own context,
// which it ends itself: it then waits for T/3 at most.
//
// Unlock, RUnlock and Semaphore.Release have no result, and don't wait for one. They
// return once the release has been sent, and never later than after T/3. Requests
// of one session come to the server in order, so the next call of the same session
// finds the lock released. Another session may be refused for that moment. Use
// UnlockContext to know that the lock is free: for example before the program tells
// another one to try. On a client of the program (NewSession) they wait for the
// confirmation, for T/3 at most.
//
// # Suspend and clocks
//
// The monotonic clock stands still while a machine sleeps. So the time since the
// last answer is measured on both clocks, the monotonic and the wall clock, and
// the longer one counts. A wall clock that is set forward by T/2 or more therefore
// ends every hold. One that is set back changes nothing.
//
// # ZooKeeper
//
// The servers must be ZooKeeper 3.5 or later; the tests run on 3.8. The servers
// need no preparation. Lock paths are made as container nodes, which the servers
// delete some time after the last lock node has gone.
//
// In an ensemble of ZooKeeper 3.6.0 to 3.6.3, 3.7.0, 3.7.1 or 3.8.0 a server may leave a
// request undone until the next one of any client comes (ZOOKEEPER-4537). With a single
// client that is its next ping, after T/3 at most.
//
// # Authentication
//
// By default everybody may do everything: a ZooKeeper server checks what the
// access lists say, and the default access list of a lock lets everybody in. The
// examples of [WithAuth] and [WithTLS] show what follows.
//
// Each node has an access list. For a lock the servers check
//
//	to get in line and to leave it       create and delete on the path
//	to see the line                      read on the path
//	to wait                              read on the own node and the one ahead
//	for the fence of a Hold              read on the own node
//	for a Semaphore to wake waiters      write on the own node
//	to ask for a lock back               write on the holder's node
//	to make a path that is missing       create on the level above it
//
// So the access list of the path guards the lock. A user who may delete there can
// take a lock from its holder, and one who may create there can block it, whatever
// the access lists of the lock's nodes say. A node does not inherit the access list
// of the level above.
//
// [WithACL] sets the access list of a lock's nodes, and of each level of the path
// that has to be made; [WithLockDefaults] sets it for all locks of a session. Give
// the programs that share a lock the same list: the servers delete an empty lock
// path after a while, and the next program makes it again with its own list. To
// keep others out, let an administrator make the level above the locks, and permit
// only the programs to create there.
//
// A connection can have several identities at once:
//
//   - digest, a user with a password: WithAuth("digest", "user:password"). The
//     access list names the user and a hash (zk.DigestACL). ZooKeeper has no
//     list of users: a wrong password makes another user. So Dial succeeds, and
//     the lock fails with [ErrNoAuth]. The password travels in clear text at
//     each connection: use TLS.
//   - x509, the subject of the client's certificate, with [WithTLS]:
//     zk.ACL{Scheme: "x509", ID: "CN=orders,O=Example", Perms: zk.PermAll}.
//   - ip, the address of the client, or of the proxy before it.
//
// zk.AuthACL stands for the users that the session itself is, by digest or x509.
// Other users can't wait behind its nodes.
//
// For TLS the servers need a port (secureClientPort), Netty
// (serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory), a
// certificate of their own (ssl.keyStore.location, ssl.keyStore.password), and the
// certificates that they trust (ssl.trustStore.location, ssl.trustStore.password).
// They refuse a client without a certificate unless ssl.clientAuth is want or none.
// With none, they ignore the client's certificate, and nobody has an x509 identity.
// A server's certificate must be for the host name in Dial's list, or for the
// ServerName of the tls.Config.
//
// SASL, and with it Kerberos, is spoken neither by this library nor by
// go-zookeeper. It would need a client that exchanges SASL tokens on each new
// connection before its first request. Servers that insist on SASL
// (sessionRequireClientSASLAuth) can't be used. Other servers accept SASL and
// certificates side by side: use x509 there.
//
// [WithChroot] protects nothing. It puts a prefix before each path, and any other
// client can name the whole path. Credentials are never logged and never written to
// a node. Dial fails with zk.ErrAuthFailed if the servers don't know the scheme.
//
// # Kubernetes
//
//   - Identity: the default names host and process, and the host name of a pod
//     is the pod's name. With hostNetwork it is the node's name: use
//     [WithIdentity] with the pod's name from the downward API (metadata.name).
//   - CPU limits: a throttled container is a stopped process. Let T/6 be well
//     above the longest throttling that the pod's metrics show.
//   - SIGTERM: call [Session.Shutdown] with a deadline that leaves 5 s of
//     terminationGracePeriodSeconds, then [Session.Close]. Shutdown refuses new
//     waits and lets holders finish. Close releases the locks that are left. A
//     process that ends without Close blocks its locks for T. A leader is told by the
//     context of Run, from signal.NotifyContext: the example of [Election] is a worker
//     with replicas. Shutdown does not tell it.
//   - Readiness: call [Session.Ping] with a timeout. Don't use it for liveness: a
//     restart does not bring ZooKeeper back, and it loses holds that would have
//     survived a short outage.
//
// # Coming from elsewhere
//
// This table maps the names; the sections below say what is different.
//
//	zksync           sync, x/sync        Curator                       kazoo         etcd
//	NewMutex         Mutex               InterProcessMutex,            Lock          concurrency.Mutex
//	                                     InterProcessSemaphoreMutex (1)
//	NewRWMutex       RWMutex             InterProcessReadWriteLock     ReadLock,     -
//	                                                                   WriteLock
//	NewSemaphore     semaphore.Weighted  InterProcessSemaphoreV2 (1)   Semaphore (1) -
//	NewMulti         -                   InterProcessMultiLock         -             -
//	NewElection      -                   LeaderSelector,               Election      concurrency.Election
//	                                     LeaderLatch (1)
//	LockContext      -                   acquire(time, unit)           acquire       Lock
//	TryLock, TryDo   TryLock             acquire(0, unit)              acquire       TryLock
//	Hold.Context     -                   ConnectionStateListener       add_listener  Session.Done
//	Hold.Fence       -                   -                             -             Header.Revision
//	Hold.Check       -                   -                             -             Mutex.IsOwner
//	Hold.Revoked     -                   makeRevocable                 -             -
//	Session.Revoke   -                   Revoker.attemptRevoke         -             -
//	Session.Inspect  -                   getParticipantNodes           contenders    -
//
// (1) Use a path of its own: these recipes and ours don't see each other's nodes.
// zk.Lock corresponds to a Mutex.
//
// # Coming from package sync
//
// Lock, TryLock and Unlock mean the same, and *Mutex is a sync.Locker. RLock and
// RUnlock of an RWMutex mean the same, too, and so do Acquire, TryAcquire and
// Release of a Semaphore. Three things differ. The zero value does not work. A lock
// can be lost. Lock panics when it can never hold: after Session.Close, for an
// invalid path, or without permission.
//
// # Coming from go-zookeeper's Lock
//
//   - zk.NewLock(c, path, acl): NewMutex(s, path, WithACL(acl...)). [NewSession]
//     takes the *zk.Conn that the program has. Dial makes its own, and avoids
//     the defects of that client.
//   - Lock, LockWithData: LockContext. The library writes the node's data;
//     WithIdentity, [WithLabel] and [NewOwner] put names into it.
//   - Unlock: UnlockContext. It returns ErrLost for a lost lock, and the next
//     Lock works.
//   - zk.ErrDeadlock: two calls exclude each other, even on one value. An Owner
//     may enter again.
//   - zk.ErrNotLocked: a panic, as in package sync.
//
// # Coming from Curator
//
//   - InterProcessMutex: Mutex, on the same path, with the same nodes.
//   - InterProcessSemaphoreMutex: Mutex, on a path of its own. Neither of them is
//     re-entrant, and any thread may release it. Its nodes stand below the
//     children locks and leases (2.3 or later), which a Mutex ignores. So move
//     all programs that use the lock at once.
//   - LeaderSelector: [Election], on the same path, with the same nodes. takeLeadership
//     is the function of Run, and autoRequeue after a loss is the rule. To lead again
//     after it has resigned, a program calls Run again. interruptLeadership is
//     Session.Revoke with [WithCancelOnRevoke]; getLeader is Leader. In Java, the id
//     of one of our candidates is its node's data: JSON, with the identity as "id".
//   - LeaderLatch: Election, on a path of its own, because the latch's nodes are no
//     lock's. hasLeadership() is the context of Run's function, isLeader() and
//     notLeader() its begin and its end, close() the end of Run's context.
//   - acquire(): Lock. acquire(time, unit): LockContext with a timeout.
//     release(): UnlockContext.
//   - RetryPolicy: none. A call tries again, through disconnects and session
//     changes, until its context ends. So RetryForever is Lock, and the limit of
//     RetryNTimes, RetryUntilElapsed or ExponentialBackoffRetry becomes the
//     deadline of the context. The library makes the pauses: none until each
//     server was tried once, then some milliseconds, growing to a second at most.
//   - Re-entrant for a thread: re-entrant for an Owner. An Owner that reads and
//     asks to write gets ErrDeadlock, where Curator waits for ever.
//   - isAcquiredInThisProcess(): Hold.Err() == nil.
//   - ConnectionStateListener, LOST: the context of a Hold. SUSPENDED alone is
//     no loss.
//   - makeRevocable, Revoker.attemptRevoke: [Hold.Revoked].
//   - A connect string, with its chroot: an element of the servers of [Dial].
//     CuratorFramework with a namespace: [WithChroot].
//
// # Coming from kazoo
//
//   - client.Lock(path, identifier): NewMutex(s, path), with WithIdentity for
//     the session or [WithLabel] for the call.
//   - acquire(blocking=False): TryLockContext. acquire(timeout=...):
//     LockContext with a timeout, which bounds the whole call.
//   - with lock: Do.
//   - KazooState.LOST: the context of a Hold.
//   - client.Election(path).run(f): Run, [WithKazooName]. cancel(): the end of Run's
//     context.
//
// # Coming from etcd
//
//   - concurrency.NewSession(c, WithTTL(...)): Dial with [WithSessionTimeout].
//   - concurrency.NewMutex(s, pfx): NewMutex(s, path).
//   - Lock(ctx): Hold(ctx), or LockContext(ctx) if the program needs no fence
//     and no notice of a loss.
//   - TryLock(ctx), ErrLocked: TryHold(ctx), [ErrBusy].
//   - NewLocker(s, pfx): a *Mutex is a sync.Locker.
//   - Header().Revision: Fence(). IsOwner() in a transaction: Hold.Check.
//   - Session.Done(): the context of a Hold.
//   - Key(): Node().
//   - NewElection(s, pfx), Campaign, Resign: [Election.Run], whose function begins and
//     returns. Leader, Observe: the same. Proclaim: WithIdentity; Rev: Fence.
//
// # Coming from client-go's leader election
//
//   - RunOrDie: [Election.Run]. OnStartedLeading is its function, whose context ends with
//     the leadership. OnStoppedLeading comes after that has returned, not while it runs.
//     A program that loses its leadership need not exit: Run stands again.
//   - OnNewLeader: [Election.Observe]. GetLeader: Leader. IsLeader has no counterpart.
//   - LeaseDuration: the session timeout, [WithSessionTimeout]. RenewDeadline: half of it.
//     RetryPeriod: none, the wait is a line. ReleaseOnCancel is the rule.
//   - Identity: WithIdentity. leaderTransitions: none; Fence grows as it does.
//
// # Coming from redsync
//
//   - NewMutex(name, WithExpiry(d)): NewMutex(s, path). There is no expiry: the
//     lock is held until it is released or its session is over.
//   - Lock, LockContext, TryLockContext: LockContext, TryLockContext, or Hold.
//     WithTries and WithRetryDelay have no counterpart: the wait is a line.
//   - Extend: not needed.
//   - Until: Hold.Err, Hold.Context.
//   - Value: it does not grow, so it is no fence. Fence is one.
//   - The bool of Unlock: ErrLost.
//
// # Sharing a path
//
// A Mutex makes the nodes that Curator's InterProcessMutex makes, in the same
// places, and an RWMutex those of its InterProcessReadWriteLock. On one path a
// Mutex excludes
//
//   - RWMutexes, Curator's InterProcessMutex and LeaderSelector, and go-zookeeper's
//     Lock, as they are;
//   - kazoo's Lock, as it is, with [WithKazooName]. Without that option each of
//     its users has to give it the pattern of our names:
//     client.Lock(path, extra_lock_patterns=["-lock-"]), kazoo 2.8 or later.
//     Otherwise kazoo does not see us, and both sides hold.
//
// An RWMutex excludes Curator's InterProcessReadWriteLock. Curator's readers and
// writers don't heed a Mutex, nor its mutexes an RWMutex: where Java takes part, use
// one kind for a path. kazoo's readers and writers are heeded; they heed an RWMutex
// if WriteLock is given extra_lock_patterns=["__WRIT__", "__READ__"] and ReadLock
// ["__WRIT__"].
//
// Curator and kazoo don't exclude each other, with or without us. Nor does
// Curator's InterProcessSemaphoreMutex (2.3 or later) stand in this queue. Use
// a path for one kind of lock.
//
// A recipe that a program has written by hand, with nodes such as seq-0000000001,
// LockA 0000000001, read-0000000001 or 0000000001, is heeded with
// [WithForeignPrefix]. That is one half. The other program has to
//
//   - make its nodes ephemeral and sequential, directly in the lock's path, so that
//     ZooKeeper numbers them and ours in one order;
//   - take every child whose name ends in ten digits for a contender, whatever
//     stands before the digits, and compare the digits, not the names;
//   - wait for every contender with a smaller number; its readers may pass those
//     that have __READ__ before the digits, and its own;
//   - delete no child but its own.
//
// A recipe that looks for its own prefix alone does not see us, and both sides
// hold: change it first. Curator, kazoo and go-zookeeper's Lock don't heed such
// nodes, so that they can't share a path with them. A Semaphore can't either.
//
// Others read the node they wait for: the access list has to permit that. Children
// that are no lock nodes are ignored here, but make go-zookeeper's Lock fail, and
// Curator waits for those whose names sort before the numbers. Keep other nodes out
// of a lock's path. Ephemeral children with a number that no lock heeds
// are logged once at level Warn, and [Session.Inspect] shows them as suspects: they
// are probably another recipe's. A lock node that belongs to no session blocks the
// lock until somebody deletes it ([Session.Break]); it is logged once, and waiting
// calls are told ([Peer]).
//
// Hold.Revoked understands Curator's request to release the lock, and the word
// "unlock". Session.Revoke writes Curator's word to nodes that are not this
// library's.
//
// # Sequence numbers
//
// ZooKeeper numbers the children of a path with 31 bits. At 1000 nodes a second the
// numbers last for 25 days. They restart when the path is deleted and made again.
// The servers delete a container node that is empty when they look, by default once
// a minute. So two kinds of path get to the end: one that is never seen empty, and
// one that some other program has made as a plain node. Near the end a call returns
// [ErrSequenceExhausted]: an order that can't be trusted grants no lock. Delete the
// path while nobody uses the lock. Fences are not affected. Hand-overs use no
// number.
//
// # What is frozen
//
// From v0.1 on, programs of all versions share a path. Frozen are
//
//   - the name of a lock's node: _c_, a UUID with dashes, a word, and ZooKeeper's
//     number. The words are -lock-, -__WRIT__, -__READ__ and, for permits,
//     -permit-<weight>of<limit>-;
//   - the data of that node, version 1: at most 512 bytes of JSON,
//     {"v":1,"id":...,"host":...,"pid":...,"owner":{"id":...,"name":...},"tp":...},
//     each field left out when it is empty. The session's identity has at most 128
//     bytes, host and owner's name 64 each, escapes included; of a longer text the
//     end is kept. tp is a W3C traceparent. Session.Revoke adds "revoke":true as
//     the last. A reader accepts longer texts and more fields than these, in data of
//     up to 4 KiB.
//     [WithoutNodeInfo] publishes nothing. The data is for people: no lock decides
//     by it, and data of any other kind is fine.
package zksync
