// Package local is the half of a lock that lives in this process: which calls wait for
// the lock here, which hold it, and which node in ZooKeeper's line serves whom.
//
//	zksync.Mutex ...      a call: what it wants, and what to report to the program
//	      |
//	    Table             the locks of a session that are in use
//	      |
//	    Lock              a mutex, and the hands: goroutines, requests, watches
//	      |
//	    line              only decides
//	      :
//	  queue.Entry         a node in ZooKeeper's line
//
// The line is a plain data structure: it uses no mutex, time, context, request or
// function of the program. Its methods report events to it, and it calls its hands.
//
// The words:
//
//   - A call wants the lock. Calls that one node will serve together are a group: a
//     single call, or readers that share.
//   - A holder has the lock, from a grant until as many levels and handles have been
//     given back as were taken, or until its loss.
//   - A ticket is a node of this session in ZooKeeper's line, with all that is known of
//     it. It outlives the call that it was made for.
//   - A level is one taking of the lock without a handle; a permit's weight is its
//     levels. A handle shows the fence of the node, which then serves nobody else.
//   - A hand-over gives the ticket of a holder to the next group without a turn in
//     ZooKeeper's line. Its budget bounds how many may follow each other while
//     somebody waits elsewhere.
//   - The front consists of the groups that may hold next: the first one, the readers that
//     follow a reader, or the permits that could be granted together. Only they have
//     tickets.
//   - The cleaner records every entry until its nodes are known to be gone.
//
// What always holds:
//
//   - Lock.mu is held over no request, and over no function of the program. The table's
//     mutex, the cleaner's and the connection's may be taken after it, never before.
//   - Either one live holder holds alone, beside nobody but its own owner's readers,
//     or none does.
//   - Each group in front has a ticket, or waits for the holder's. Each ticket on its
//     way to a turn serves a group in front, or leaves.
//   - A ticket whose fence was shown serves one owner, once.
//   - No call waits while its owner holds. Calls that waited enter with the call of their
//     owner that is granted. Those that can't hold beside it end once that call has taken
//     its grant, and go on waiting if it gives the grant back. A holder lasts until the
//     calls that need a request have entered. Work that holds the lock does not wait for
//     it.
//   - Lost levels are given back first, then those of the oldest reader or the newest
//     permit.
//   - A call is answered once, and not before an earlier call that can't hold beside it.
//     A grant that races with the end of its call is undone, and the next call is woken,
//     before Acquire returns.
//   - A lost holder that was alone keeps its place in this process until its levels
//     have been given back, and blocks no other process.
//   - When holders are lost, the contexts of all end first. The deletion of nodes
//     and all reports to the program come after that.
//   - The deletion of a holder's node begins when the program has been told of the end of
//     the holding, in the goroutine of the call that gave the lock back. It does not wait
//     for the program once the session shuts down.
//   - Each deletion is followed until the node is known to be gone, whether a call waits
//     for that or not.
//   - A lock is in the table as long as a call, a holder or a goroutine uses it.
//
// The tests play random programs against the line, and explore small worlds to the
// end. With ZKSYNC_LONG=1 they explore worlds of three calls, which takes minutes, and
// check that an edit of the line which breaks one of the rules is found.
package local
