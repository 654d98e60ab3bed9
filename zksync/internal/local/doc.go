// Package local is the half of a lock that lives in this process: who waits for the
// lock here, who holds it, and which node in ZooKeeper's line serves whom. So far it
// is the part that decides, the line; package zksync does not use it yet.
//
// The words:
//
//   - A call wants the lock. Calls that one node will serve together are a group: a
//     single call, or readers that share.
//   - A holder has the lock, from a grant until as many levels and handles have been
//     given back as were taken, or until its loss.
//   - A ticket is a node of ours in ZooKeeper's line, with all that is known of it.
//     It outlives the call that it was made for.
//   - A level is one taking of the lock without a handle; a permit's weight is its
//     levels. A handle shows the fence of the node, which then serves nobody else.
//   - A hand-over gives the ticket of a holder to the next group without a turn in
//     ZooKeeper's line. Its budget bounds how many may follow each other while
//     somebody waits elsewhere.
//
// What always holds:
//
//   - Either one live holder holds alone, beside nobody but its own owner's readers,
//     or none does.
//   - Each group in front has a ticket, or waits for the holder's. Each ticket on its
//     way to a turn serves a group in front, or leaves.
//   - A ticket whose fence was shown serves one owner, once.
//   - Lost levels are given back first, then the newest.
//   - A call is answered once, and nobody who came earlier and can't be beside it
//     waits longer.
//   - A lost holder that was alone keeps its place in this process until its levels
//     have been given back, and holds up nobody elsewhere.
//
// The tests check these in random programs, and in small worlds that are explored to
// the end. ZKSYNC_LONG=1 explores worlds of three calls, which takes minutes.
package local
