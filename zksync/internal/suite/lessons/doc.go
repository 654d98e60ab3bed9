// Package lessons lists the ways in which a lock on ZooKeeper goes wrong, each with
// the test that guards this library against it.
//
// Most of them happened in a real system and were found by its users: in Curator
// (Java), in kazoo (Python), in go-zookeeper's zk.Lock, in ZooKeeper's own recipes,
// and in other locks of this kind (etcd, Consul, redsync). Brackets name the systems
// in which a mistake was seen; later versions may have cured it. The tests make the
// fault on the embedded server, and on real ZooKeeper where it can be made there.
//
// Such a lock works as follows. Each client that wants the lock creates an
// ephemeral, sequential node under the lock's path. The nodes form a line, in the
// order of their numbers. The first in line holds the lock; each of the others
// watches the node before its own, its blocker. A release deletes the node.
//
// # Getting in line
//
//   - Lost create reply. The servers create the node, but the answer never arrives.
//     The client creates another one and waits for ever behind its own first node.
//     Cure: a unique id (GUID) in the name, to look for after reconnecting. (Curator,
//     kazoo, zk.Lock) TestLostCreateReply
//   - Search on a server that lags. The search for the GUID is answered by a server
//     that has not seen the create yet, and misses the node. Only a Sync before the
//     list is safe. (Curator, kazoo, zk.Lock) TestLaggingServer,
//     TestLaggingFollower
//   - Node of the session that ends. The search finds the node, but it belongs to the
//     session before, and vanishes with it. Cure: adopt a node only if its owner is
//     the present session, else delete it. (Curator) TestNodeOfTheDyingSession
//   - One GUID for each lock object. The search finds the node of an older attempt or
//     of an older session. Cure: a fresh GUID for each attempt. (kazoo)
//     TestFreshGUID
//   - Cancel during the create. Nobody knows whether the node exists. The call may
//     return at once, but somebody has to wait for the answer and delete the node.
//     (Curator, zk.Lock) TestCancelledDuringCreate,
//     TestAnswerLateOrLost, TestNobodysNode
//   - Clean-up with the context of the caller. That context is cancelled, so the
//     clean-up does nothing, and the node blocks the lock until the process ends.
//     (etcd, and programs on it) TestCleanUpOnItsOwnTime
//   - Error after the create. A listing fails, or a child does not parse, and the call
//     returns without deleting its node. Every exit has to leave nothing. (zk.Lock,
//     etcd, Curator, kazoo) TestErrorAfterCreate, TestExits
//   - Parent that vanishes between making it and using it, as container nodes do.
//     Cure: make it again, within the context. (Curator) TestParentVanishes
//   - Children that are no lock nodes, such as config, 0 or the path of a nested lock,
//     hang the lock or make it fail. Cure: ignore what does not parse. (zk.Lock,
//     Curator, kazoo) TestForeignChildren
//   - GUID cut out of a name that is too short: a panic. (go-zookeeper)
//     TestShortForeignNames
//
// # Order
//
//   - Nodes sorted by their whole names, GUID or session id first: two hold at a time.
//     Cure: sort by the number. (ZooKeeper's recipe) TestOrderByNumber,
//     TestSortByNumberNotByName
//   - Numbers compared as text. "-2147483648" comes after "-2147483647": two hold
//     after the counter has wrapped. (kazoo) TestSequenceIsNotText
//   - End of the counter. From ZooKeeper 3.6 on it stays at 2147483647, and all later
//     nodes are tied: two hold. Cure: an error, and no grant on a tie. (Curator)
//     TestEndOfTheCounter, TestTieGrantsNothing,
//     TestCounterAtItsEnd
//   - Sequence number used as a fencing token. It begins again at 0 when the parent is
//     made anew. The zxid of the create does not. TestFenceGrows
//   - Wait for a later node: a reader watches a writer that came after it, and they
//     wait for each other. Whoever blocks has to be earlier. (kazoo)
//     TestBlockersAreEarlier, TestLaterNodesNeverBlock
//   - All readers watch the first writer, and the release of each writer wakes them
//     all for nothing. Cure: watch the nearest writer before. (Curator)
//     TestNearestWriter
//   - Waiter for a permit watches one holder. Another one leaves, nobody wakes, and a
//     permit lies idle. (Curator) TestAnyHolderLeaves
//   - Permits taken one by one. Two clients hold one each of two, want both, and wait
//     for ever. Cure: all or none. (Curator) TestAllOrNone
//   - Every child counts as a permit, so that a foreign node, or one that waits,
//     starves others. (Curator) TestWhatCounts
//   - Limits that differ between the clients of a semaphore, and nobody notices.
//     (Curator) TestLimitsDiffer
//   - Several locks taken in different orders: a deadlock. The same path twice is one
//     by itself. Cure: all nodes in one transaction. (Curator)
//     TestMultisInAnyOrder
//   - Downgrade that lets a writer in between. (Curator) TestDowngrade
//   - Upgrade that waits for itself, for ever. Cure: an error at once. (Curator)
//     TestUpgradeIsADeadlock
//
// # Waiting
//
//   - Blocker that goes between the list and the watch: the waiter waits for nothing.
//     (ZooKeeper's recipe) TestGoneBeforeTheWatch
//   - Watch lost over a reconnect. Cure: decide again after each reconnect. (kazoo)
//     TestEventLostOverAReconnect, TestNoEventAfterAReconnect
//   - Waiter in the middle leaves. The one behind it must not think that it is first.
//     (Curator) TestMiddleWaiterLeaves
//   - Own node deleted, or session over, while waiting. Unnoticed until the blocker
//     leaves, it ends in a lock of a session that is over. (etcd)
//     TestOwnNodeGoneWhileWaiting
//   - Timeout that begins anew at each blocker: a limit of 2 s took 9.5 s. (kazoo)
//     TestOneDeadline
//   - Deadline overrun by the retries of the connection. It has to hold while
//     disconnected, too. (Curator) TestDeadlineWhileDisconnected
//   - Exists-watch on a node that is gone. It stays on the server for ever. Cure: a
//     get-watch, which is not set there. (Curator) TestNoWatchOnWhatIsGone
//   - Watches that pile up. Go-zookeeper can't remove one, so each try that times out
//     on a held lock leaves one more. Cure: one watch a path, shared.
//     TestWatchesDoNotPileUp, TestTimedOutTriesLeaveNothing,
//     TestForeignWatchesDoNotPileUp
//   - Every waiter of the process wakes at each event. Cure: wake one. (Curator)
//     TestOneWakes, TestAReleaseWakesOneGoroutine
//   - Blocking in the delivery of events, or holding a mutex during a request, freezes
//     the connection. (Curator) TestNothingBlocksTheConnection
//   - Wait on a client that was closed: it never ends. (kazoo, Curator)
//     TestCloseEndsWaits
//   - Random pause before the first try. Nothing should pause on the way to a free
//     lock. (kazoo) TestNoSleepBeforeAFreeLock
//   - Grant that races with a cancel: the call returns nil, though its node was
//     deleted. Cure: one atomic decision. (etcd) TestGrantAgainstCancel
//
// # Holding and losing
//
//   - Holder that never learns of a loss. (zk.Lock, Curator, kazoo, redsync)
//     TestHolderIsTold, TestLostHoldsOfTheFamily
//   - Re-entry after the session has ended: it is granted from memory, without a node.
//     (Curator) TestNoReentryAfterLoss
//   - Disconnect taken for a loss, so that each election of a leader ends all work.
//     (Consul) TestABlipIsNoLoss, TestLoss_QuarterTimeoutIsNone
//   - Lost lock that breaks its object: Unlock fails for ever, Lock reports a deadlock,
//     or no acquire succeeds again. (zk.Lock, kazoo, Consul)
//     TestLostLockWorksAgain
//   - Unlock that reports success for a lock that was lost. (kazoo, etcd, Consul,
//     Curator) TestUnlockOfALostLock
//   - Holder that is paused writes after its successor. No lock prevents that; the
//     resource has to compare fences. (etcd)
//     TestPausedHolder
//
// # Letting go
//
//   - Delete that fails while disconnected and is not repeated. The session lives on
//     and holds a lock that it has forgotten. (Curator)
//     TestUnlockWhileDisconnected
//   - Repeated delete that hits a newer hold of the same name. Cure: names that are
//     unique for each attempt. (etcd) TestDeletionsAreOfOneHold
//   - Retries for what can't succeed, without a pause or by recursion, while ZooKeeper
//     is away for hours. (Curator) TestRetriesAreBounded
//   - NoNode on the delete of one's own node. It means that the lock was lost, unless
//     an earlier delete got no answer. (Curator)
//     TestDeleteWithoutAnAnswer
//   - Error of the clean-up that hides the error that caused it. (Curator)
//     TestDoLost
//   - Parent deleted with the release: it races with those who come. Container nodes
//     are deleted by the servers. (Curator) TestParentStays
//   - Local state freed at the wrong moment, before the delete is sent or after: of the
//     two orders one grants twice. (Curator) TestFreedBeforeTheDelete
//
// # The client underneath
//
// The comment of package conn lists the defects of go-zookeeper's client. These are
// those that a lock shows to its users when nobody meets them.
//
//   - Calls without a context. Cure: the caller returns, and a goroutine answers for
//     what comes late. TestCallsHonourContexts
//   - Connection errors taken for answers. While no server answers, requests fail; that
//     means "try again", and never "no". TestNoServerMeansTryAgain
//   - Event channel that is full: events are dropped. TestNoEventIsDropped
//   - Expiry that is learned on reconnecting only. A client that is cut off has to keep
//     its own time. TestOwnClock, TestLossOfContact
//   - New session that stands up by itself, so that locks of the old one look held.
//     TestNewSession
//   - Megabytes for each connection: a process can't have a thousand sessions.
//     TestManySessions
//   - Log lines on the program's standard error. TestQuietByDefault
//   - Create that does not tell the zxid, from which something else is made the fence.
//     TestFenceIsOfTheNode
//   - Watches set again with a zxid that is too new: their events are lost, 264 of 600
//     on a connection with 12,000 watches. TestWatchesSetAgainLoseNoEvent,
//     TestWatchesAsOfTheConnect, TestSetWatchesZxid
//   - Events that come in another order than they happened, after a reconnect and over
//     several channels. A blocker's end then proves nothing.
//     TestOwnNodeAndBlockerGone, TestBlockerHeardOfFirst,
//     TestBlockerIsWrittenTo, TestBlockerOfTheOwnSession,
//     TestOwnNodeGoesFirst
//   - Buffer that is a little too small, or a limit for answers: the connection or the
//     process ends with a long list. TestLongList, TestLargestTransactions,
//     TestMultiTooLarge
//   - Close while the servers are down: the client dials for ever.
//     TestCloseWithServersDown
//   - Client that was given up and comes back to life with its queued creates.
//     TestLockedUpClientIsReplaced
//
// # What a better design runs into
//
// The cures above have mistakes of their own. These were found on paper, or by
// trying.
//
//   - Clock that counts pings. A follower that has lost its leader goes on answering
//     pings and reads, and the next session holds meanwhile: two holders for some
//     seconds. A deposed leader even answers a Sync. Only writes that the quorum has
//     answered count. TestFollowerCutFromItsLeader, TestLoss_OneOfThreeServers
//   - Time that stands still. The monotonic clock stops while the machine sleeps, and
//     a process that was stopped finds a grant in its queue when it resumes. Cure:
//     compare both clocks at the moment of the grant. TestPausedWaiter,
//     TestHeldUpOnItsWayOut, TestOldPlaceIsProven, TestElapsed
//   - Deferred Unlock of a lost lock that releases the lock of the next goroutine. A
//     lock without a handle keeps its place in the process until its own Unlock.
//     TestDeferredUnlockOfALostLock, TestLateUnlock
//   - Context of a callback that makes its owner the owner of every lock: goroutines
//     that it starts don't exclude each other any more.
//     TestDoEntersItsOwnLockOnly
//   - Downgrade that replaces the write node. The writer behind it sees its only
//     blocker deleted, and enters beside the reader.
//     TestWriterMayBecomeAReader
//   - Fence of the read node after a downgrade. It is above that of a writer that waits
//     already, which the resource then refuses for ever. Cure: keep the write's fence.
//     TestFenceOfADowngrade
//   - One transaction that deletes several nodes. If one of them is gone, nothing is
//     deleted. Cure: finish node by node. TestSeveralNodesOneGone,
//     TestMultiBrokenWhileLookedFor
//   - Multi that uses what its session holds already. It is ahead in one line and
//     behind in another, and two of them wait for each other. Cure: fresh nodes.
//     TestMultiStandsByItself
//   - Hand-over within the process of a node that somebody has deleted: any number of
//     holders without a node. Cure: watch it, or ask first.
//     TestBrokenNodeIsNotHandedOver
//   - One fence for two holders. The late write of the first one is accepted after the
//     second one's. Cure: whoever sees the fence has a node of its own.
//     TestNoSharedFence
//   - Touch between the list and the watch, which nobody sees. Cure: watch first, and
//     look at the version. TestTouchedBeforeTheWatch,
//     TestPermitsFreedAtTheMomentOfTheWatch
//   - Clean-up that ends with the session. The create was queued under that session and
//     runs under the next one. TestCreateRunsUnderTheNextSession,
//     TestFoundInTheNextSession
//   - Node made anew under its old name. The numbers of a path begin again when it is
//     made again, so a name alone does not tell which node was meant.
//     TestDeadlockIsNotOfNodesMadeAnew
//   - Two values for one path with different options that share a hold which one of
//     them may not share. TestOptionsThatShow, TestValuesMustAgree,
//     TestMultiAgreesWithItsPaths
//   - Foreign child with the highest number: everybody takes the counter for used up.
//     Cure: judge by one's own number. TestJunkWithHighestNumber,
//     TestJunkWithTheHighestNumber
//   - Wrapper that is killed and leaves its command running without the lock.
//     TestRunCommandDiesWithKilledWrapper
//   - Constant use within one session, and one lost event: the session never learns
//     that others wait. Cure: look again after a bounded time.
//     TestConstantUseAndALostEvent
//
// # What an implementation runs into
//
//   - Node that outlives the call it was made for. After a hand-over, and among readers
//     who share it, it names somebody who has long gone, and a deadlock is reported
//     that is none. What a node says has to be true now, or not be said.
//     TestNodeNamesWhoHoldsAfterAHandOver, TestNodeInLineNamesWhoWaits,
//     TestSharedNodeCarriesALiveTrace, TestDeadlockIsNotOfThePast
//   - Create without an answer at Close. The node has no name yet, and is still
//     somebody's: a clean-up that counts names forgets it. TestCloseNamesAnOpenCreate
//   - Handle opened by re-entry on a lock that nobody guarded. The node may have been
//     deleted long ago. TestFirstHandleOnAPlainLockIsProven,
//     TestFirstHandleAsksTheQuorum
//   - Key put together from several paths: two different sets of paths get the same
//     key. Cure: the length before each part. TestMultisOfDifferentLocksAreDifferent
//   - Work that must be done within a fraction of the session timeout, done one after
//     the other: probes in parts cut healthy connections, and losses told one by one
//     reach the last holder after its successor. TestManyHoldsFarAway,
//     TestManyHoldsAndASilentServer, TestLossIsToldToAllAtOnce,
//     TestSlowHoldEndDelaysNoLoss
//   - Session timeout that was asked for, taken for the one that was granted: a lock is
//     lost with a healthy server at hand.
//     TestHoldSurvivesASilentServerWhateverWasAskedFor,
//     TestLockedUpClientIsReplacedWhateverWasAskedFor
//   - Wrapper that is stopped while its command runs: a holder without a lock. It takes
//     no more than another command of the pipeline that reads the terminal.
//     TestJobGoesOnOnlyWithTheLock, TestRunStopped, TestTerminalInPipeline
//   - Waiting that costs too much. Thousands of goroutines of one session wait for one
//     lock, and each costs the connection a node or the process a wake-up for every
//     change. TestACrowdOfGoroutinesCostsLittle,
//     TestACrowdOfGoroutinesStandsInLineOnce
//   - Test that counts on a tool, and passes where the tool has vanished.
//     TestNoInstallation
package lessons
