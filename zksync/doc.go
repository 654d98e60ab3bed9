// Package zksync is sync.Mutex, sync.RWMutex and semaphore.Weighted across
// machines, on ZooKeeper.
//
//	s, err := zksync.Dial(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	...
//	mu := zksync.NewMutex(s, "/locks/orders")
//	mu.Lock()
//	defer mu.Unlock()
//
// A [Session] is the program's connection; one is enough for a process. A lock
// belongs to a path: all programs that name the same path share it, in the order
// in which they came. [Locker] says what each method promises. T below is the
// session timeout that the servers granted, [Session.Timeout].
//
// Where a type is called a plain value, its zero value is the empty one, it may
// be copied, and it follows Go's usual rule for several goroutines: all may
// read it while nobody writes.
//
// # Which lock when
//
//	one at a time                              NewMutex
//	many read, one writes                      NewRWMutex
//	at most n, or n units of something         NewSemaphore
//	several locks at once, without deadlock    NewMulti
//	run unless another instance does           NewMutex, TryHold
//	first read-only, then alone                no lock: write from the start,
//	                                           then RWMutex's downgrade
//
// What differs next is how to take it; an [RWMutex] has all of this for writing,
// its [RWMutex.RLocker] for reading, a [Multi] for all its locks, and a
// [Semaphore] has Do, Hold and TryHold beside x/sync's methods:
//
//   - [Mutex.Do] runs a function under the lock, with a context that ends when
//     the lock is lost and a handle that knows the fence. Take it unless
//     something speaks against it.
//   - [Mutex.Hold] returns the handle, for a lock that is not given back in the
//     function that took it. [Hold.Context] makes the context, [Hold.Fence] is
//     the fence, [Hold.Release] gives the lock back.
//   - [Mutex.Lock] and [Mutex.LockContext] are what a program has that uses
//     sync.Mutex. They can't tell of a loss and have no fence. They are for work
//     that may happen twice without harm, or that is protected otherwise. In
//     return the lock passes from one goroutine of a session to the next
//     without a request ([WithHandoff]).
//   - [Mutex.TryHold], [Mutex.TryLockContext] and [Mutex.TryLock] don't wait:
//     they are for work that is to run unless another instance does it.
//     TryLock may refuse a lock that was freed a moment ago.
//   - [Mutex.As], [WithOwner] and Do's own context enter a lock again that the
//     same [Owner] holds. An owner is a token that the program passes on, not a
//     goroutine.
//
// [Path] makes a lock's path from any string: a lock for each order id.
//
// # Losing a lock
//
// Whoever holds a lock on ZooKeeper holds it as long as its session lives. The
// servers end the session when they have not heard from it for T: the process
// was stopped, the network was cut, the machine slept. Then the lock goes to
// the next in line, whether the holder knows or not.
//
// While a Hold or Do is open the session proves its life: every T/6 it has the
// quorum check that the nodes of its holds exist. Answers to pings and reads
// count for nothing, since a server that has lost its quorum gives them. A hold
// is lost when
//
//   - its node is gone, whoever deleted it,
//   - its session is over, or
//   - T/2 has passed since the sending of the last request that the quorum has
//     answered.
//
// A disconnect alone is no loss. After a loss the contexts of the hold end,
// [context.Cause] gives an error that Is [ErrLost] and says which of the three
// it was, [Hold.Err] returns it, and so does Release. Err asks the clock at
// each call, and so does the Err of a context that Hold.Context or Do has made:
// a process that was stopped sees the loss at the next call, before a timer has
// run.
//
// A lock taken by Lock, LockContext or TryLock has no handle to tell its
// holder, and the session does not prove its life for it. A loss that is
// noticed all the same is logged at level Error, with slog.Default where there
// is no [WithLogger]. Such a lock keeps its place among the goroutines of its
// own session until its Unlock has come; other sessions are not held up.
// UnlockContext returns ErrLost then; Unlock logs it.
//
// After a loss the same Mutex works at once, on the next session.
//
// One broken network keeps a lock from the others for as long as it lasts: one
// in which the holder's requests arrive and no answer comes back, on new
// connections neither. The holder has lost after T/2, but each of its attempts
// to connect renews its session.
//
// # Fencing
//
// No lock can promise that its holder's last write comes in time. A process
// may be stopped between looking at the context and writing, and its packet may
// be on the way while the next holder works. So what the lock protects has to
// refuse late writes itself.
//
// [Hold.Fence] is the number for that: the zxid of the transaction that put the
// hold's node in line. It is larger for each later hold of a path, across
// processes, machines, restarts, and the deletion of the path. Send it with
// every write, store the largest one seen beside the data, and refuse a
// smaller one. In SQL:
//
//	UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// No row updated means: too late, somebody else has the lock. The test and the
// write have to be one step, as they are here.
//
// Fences start again when the ensemble itself is made anew, with empty data
// directories: reset what is stored then.
//
// # What it costs
//
// Requests to ZooKeeper, counted on the wire, to take a lock + to give it back:
//
//	a free lock: create and list + delete                  2 + 1
//	a free lock by Hold or Do                              3 + 1
//	the next goroutine of the same session takes over      0
//	the next session in line, from the event to the grant  0
//	a session deeper in line, when its turn comes          1
//	TryLock, TryLockContext or TryHold, refused            1
//	TryLock or TryLockContext, granted                     3 + 1
//	TryHold, granted                                       4 + 1
//	a free read lock                                       2 + 1
//	further readers of the session, on the same node       1 for the first, then 0
//	free permits of a Semaphore                            2 + 1
//	a part of them given back                              1
//	n free locks by a Multi                                1 + n + 1
//	a reader's turn when the writer before it goes         1
//	permits when it is their turn                          1, and 1 to tell who is next
//
// Hold's additional request is a read of its node, for the fence; it is sent
// beside the list. A Try lists the path before it makes a node, so that a
// refusal leaves no trace. A Multi sends its lists together: it takes two round
// trips, of however many locks it is. On top of these come:
//
//   - The first use of a path makes it: two requests more for each level that
//     is missing.
//   - Getting in line behind somebody costs a create, a list and two reads with
//     a watch. While the call waits, one read every T looks after the watch.
//   - A session that has a Hold open, or is next in line behind a holder, sends
//     one probe every T/6 for all of them together. It is a transaction, which
//     the quorum agrees on and a server writes to its log.
//   - The first hand-over on a node costs one read; after the 16th in a row
//     ([WithHandoff]) the session lists the path. If somebody else waits it goes
//     to the back of the line. Otherwise it goes on, and as long as it hears of
//     nobody it need not ask again for T/6.
//   - A lock that the same session holds already refuses a Try without a
//     request.
//
// A release wakes one waiting session, and within a session one goroutine; that of
// a writer wakes the readers that can enter. Permits that become free wake the
// first that did not fit.
// [Session.Stats] counts requests, grants, hand-overs and losses.
//
// A session has a send buffer of 136 KiB and a receive buffer of 16 KiB, which
// grows for a large answer. A lock that nobody uses has neither memory nor
// goroutines: making a Mutex for each request is fine.
//
// # Timeouts
//
// T is how long a lock stays taken when its holder has died: the next in line
// has it after T and a tick of the servers, or that long after they have
// elected a new leader. T/2 is how long a holder can do without an answer from
// the quorum. A small T frees locks sooner and loses them more often.
//
// The default asks for 10 s. Servers grant from 2 to 20 of their ticks unless
// they are set up otherwise; look at Session.Timeout. Let T be three ticks or
// more: 6 s with the usual tick of 2 s. T/2 is the right measure from there on
// only, because a server tells its leader up to half a tick later that it has
// heard from us.
//
// A probe that has no answer after T/6 makes the session move to another
// server. So name all servers to [Dial], and let T/6 be well above the longest
// pause of a healthy server and of the program itself.
//
// A deadline on a context bounds the whole call, however many disconnects and
// predecessors there are. Release and UnlockContext end their wait with their
// context, Unlock and Do after T/3. None gives up on the deletion: it goes on
// in the background until the node is known to be gone.
//
// # Suspend and clocks
//
// The monotonic clock stands still while a machine sleeps; so the time since
// the last answer is the larger of the monotonic and the wall clock's. A wall
// clock that is set forward by T/2 or more therefore ends every hold, as if it
// had been lost. One that is set back changes nothing.
//
// # ZooKeeper
//
// The servers have to be ZooKeeper 3.5 or later; tests run on 3.8. Nothing has
// to be set up there. Lock paths are made as container nodes, which the servers
// delete some time after the last lock node has gone.
//
// Whoever uses a lock needs the permissions to create, read and delete below
// its path ([WithACL], [WithAuth]). Credentials that the servers refuse make
// Dial fail; a refused request makes the call fail with zk.ErrNoAuth.
//
// # Kubernetes
//
//   - Identity: the default names host and process, and the host name of a pod
//     is the pod's name. With hostNetwork it is the node's: use [WithIdentity]
//     and the name from the downward API (metadata.name).
//   - CPU limits: a container that is throttled is a process that is stopped.
//     Let T/6 be well above the longest throttling that the pod's metrics show.
//   - SIGTERM: call [Session.Shutdown] with a deadline that leaves 5 s of
//     terminationGracePeriodSeconds, then [Session.Close]. Shutdown refuses new
//     waits and lets holders finish; Close gives back what is left. A process
//     that ends without Close blocks its locks for T.
//   - Readiness: [Session.Ping] with a timeout. Don't use it for liveness: a
//     restart does not bring ZooKeeper back, and loses the holds that a short
//     outage would not have cost.
//
// # Coming from elsewhere
//
// The names of things, ours first; the sections below say what is different.
//
//	zksync           sync, x/sync        Curator                       kazoo         etcd
//	NewMutex         Mutex               InterProcessMutex             Lock          concurrency.Mutex
//	NewRWMutex       RWMutex             InterProcessReadWriteLock     ReadLock,     -
//	                                                                   WriteLock
//	NewSemaphore     semaphore.Weighted  InterProcessSemaphoreV2 (1)   Semaphore (1) -
//	NewMulti         -                   InterProcessMultiLock         -             -
//	LockContext      -                   acquire(time, unit)           acquire       Lock
//	TryLock          TryLock             acquire(0, unit)              acquire       TryLock
//	Hold.Context     -                   ConnectionStateListener       add_listener  Session.Done
//	Hold.Fence       -                   -                             -             Header.Revision
//	Hold.Revoked     -                   makeRevocable                 -             -
//	Session.Revoke   -                   Revoker.attemptRevoke         -             -
//	Session.Inspect  -                   getParticipantNodes           contenders    -
//
// (1) on a path of its own: permits are shared with programs of this library
// only. zk.Lock is a Mutex.
//
// # Coming from package sync
//
// Lock, TryLock and Unlock mean the same, and *Mutex is a sync.Locker; so do
// RLock and RUnlock of an RWMutex, and Acquire, TryAcquire and Release of a
// Semaphore. What is different: the zero value does not work, a lock can be
// lost, and Lock panics when it can never hold: after Session.Close, for an
// invalid path, without permission.
//
// # Coming from go-zookeeper's Lock
//
//   - zk.NewLock(c, path, acl): NewMutex(s, path, WithACL(acl...)). [NewSession]
//     takes the *zk.Conn that the program has; Dial avoids that client's
//     defects.
//   - Lock, LockWithData: LockContext. The node's data is the library's own;
//     WithIdentity and [NewOwner] put names there.
//   - Unlock: UnlockContext. The error for a lock that was lost is ErrLost, and
//     the next Lock works.
//   - zk.ErrDeadlock: calls exclude each other, also on one value; an Owner
//     enters again.
//   - zk.ErrNotLocked: a panic, as in package sync.
//
// # Coming from Curator
//
//   - InterProcessMutex: Mutex, on the same path, with the same nodes.
//   - acquire(): Lock. acquire(time, unit): LockContext with a timeout.
//     release(): UnlockContext.
//   - Re-entrant for a thread: re-entrant for an Owner. An Owner that reads and
//     asks to write gets ErrDeadlock instead of waiting for ever.
//   - isAcquiredInThisProcess(): Hold.Err() == nil.
//   - ConnectionStateListener, LOST: the context of a Hold. SUSPENDED alone is
//     no loss.
//   - makeRevocable, Revoker.attemptRevoke: [Hold.Revoked].
//   - CuratorFramework with a namespace: [WithChroot].
//
// # Coming from kazoo
//
//   - client.Lock(path, identifier): NewMutex(s, path), and WithIdentity for
//     the session or an Owner's label for the call.
//   - acquire(blocking=False): TryLockContext. acquire(timeout=...):
//     LockContext with a timeout, which bounds the whole call.
//   - with lock: Do.
//   - KazooState.LOST: the context of a Hold.
//
// # Coming from etcd
//
//   - concurrency.NewSession(c, WithTTL(...)): Dial with [WithSessionTimeout].
//   - concurrency.NewMutex(s, pfx): NewMutex(s, path).
//   - Lock(ctx): Hold(ctx), or LockContext(ctx) without fence and loss.
//   - TryLock(ctx), ErrLocked: TryHold(ctx), [ErrBusy].
//   - NewLocker(s, pfx): a *Mutex is a sync.Locker.
//   - Header().Revision, IsOwner() in a transaction: Fence().
//   - Session.Done(): the context of a Hold.
//   - Key(): Node().
//
// # Coming from redsync
//
//   - NewMutex(name, WithExpiry(d)): NewMutex(s, path). There is no expiry: the
//     lock is held until it is given back or its session is over.
//   - Lock, LockContext, TryLockContext: LockContext, TryLockContext, or Hold.
//     WithTries and WithRetryDelay have no counterpart: the wait is a queue.
//   - Extend: not needed.
//   - Until: Hold.Err, Hold.Context.
//   - Value: no fence, since it does not grow; Fence is one.
//   - Unlock's bool: ErrLost.
//
// # Sharing a path
//
// A Mutex makes the nodes that Curator's InterProcessMutex makes, in the same
// places, and an RWMutex those of its InterProcessReadWriteLock. On one path a
// Mutex excludes
//
//   - RWMutexes, Curator's InterProcessMutex and LeaderSelector, and go-zookeeper's
//     Lock, as they are;
//   - kazoo's Lock, as it is, with [WithKazooQueue]; without that each of its
//     users has to give it the pattern of our names:
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
// Others read the node they wait for: an access list has to let them. Children
// that are no lock nodes are ignored here, but make go-zookeeper's Lock fail,
// and Curator waits for those whose names sort before the numbers. Keep other
// nodes out of a lock's path. Ephemeral children with a number that no lock heeds
// are logged once at level Warn, and [Session.Inspect] shows them as suspects: they
// are probably another recipe's. A lock node that belongs to no session blocks the
// lock until somebody deletes it ([Session.Break]); it is logged once, and waiting
// calls are told ([Peer]).
//
// Hold.Revoked understands Curator's request to let go, and the word "unlock".
//
// # Sequence numbers
//
// ZooKeeper numbers the children of a path with 31 bits. At 1000 nodes a second
// they last for 25 days. They start again when the path is deleted and made
// anew, which the servers do by themselves with a container node that is empty
// when they look, by default once a minute. So only a path that is never seen
// empty gets to the end, or one that some other program has made as a plain
// node. Near the end a call returns [ErrSequenceExhausted]; it never grants a
// lock by an order that can't be trusted. Delete the path while nobody uses the
// lock. Fences are not affected. Hand-overs use no number.
//
// # What is frozen
//
// From v0.1 on, programs of all versions share a path. Frozen are
//
//   - the name of a lock's node: _c_, a UUID with dashes, a word, and ZooKeeper's
//     number. The words are -lock-, -__WRIT__, -__READ__ and, for permits,
//     -permit-<weight>of<limit>-;
//   - the data of that node, version 1: at most 256 bytes of JSON,
//     {"v":1,"id":...,"host":...,"pid":...,"owner":{"id":...,"name":...},"tp":...},
//     each text of at most 40 bytes but tp, a W3C traceparent, and each field
//     left out when it is empty. [WithoutNodeInfo] publishes nothing. The data is
//     for people: no lock decides by it, and data of any other kind is fine.
package zksync
