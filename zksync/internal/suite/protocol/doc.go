// Package protocol describes the protocol of the locks, as a small model that its tests
// explore to the end. It has no code of its own: the model is in the tests.
//
//	go test ./zksync/internal/suite/protocol                        the scenarios, without the large ones
//	ZKSYNC_LONG=1 go test ./zksync/internal/suite/protocol -v       all of them, with the number of states
//	go test ./zksync/internal/suite/protocol -run TestMistakes -v   the shortest way to the damage that each mistake does
//	go test ./zksync/internal/suite/protocol -protocol.only=swap    the scenarios whose names begin so
//
// The simulation beside this package runs the library itself, on random programs. The
// model does not run the library. It has the rules that the library follows, without
// goroutines and encoding, so that all orders of all steps can be looked at instead of
// some. Whoever changes a rule of package queue changes it here, too.
//
// # The servers
//
// A leader carries out each write at once, as one transaction. A follower carries out
// the same transactions later, in the same order. It is at most four behind. A session
// is connected to one of them. A server takes the requests of a connection in their
// order. It answers reads from what it knows itself, and a write once it has carried the
// write out itself, so that a client sees its own writes. When a transaction deletes a
// node, the watches on it fire on each server at the moment when that server carries it
// out: the event is on its way before any answer that shows the deletion.
//
// A lock has a path, the parent of its nodes. The number of a node is the number of
// creates below the parent before it; deletions and refused creates do not count. The
// parent may be deleted when it is empty. A new parent counts from 0. The two can be
// told apart by their czxid.
//
// When a client reconnects, its watches are gone. What it had sent on the old connection
// may be carried out until the moment when it has reconnected, and not after. It is not
// accepted by a server that is behind what the session has seen.
//
// TestRulesOfTheServers shows these rules on the embedded and on the real server.
//
// # The line
//
// To take a lock, a session creates a node whose name is new, and asks in the same write
// for a list of the parent's children. The list counts only if the create succeeded and
// the list shows the node. If no node that excludes ours stands before it, the lock is
// held. Otherwise the session watches the nearest such node, its blocker. It watches its
// own node, too, if the end of the blocker may be a turn without a read.
//
// The end of the blocker is a turn without a read if the blocker was the first in line
// and not a write node that may have been replaced by a read node, if it was not of the
// same session, and if no event on the own node has come before. The same holds if the
// blocker is gone when it is to be watched, and the own node is not. In all other cases the
// session lists again. When its own node is gone, by an event or by a list, it stands in
// line again.
//
// To give the lock back, a session sends the deletion of its node and does not wait for
// the answer. It follows the deletion until the node is known to be gone, also on the
// next connection. If the answer to a create is lost, the session reconnects, has the
// server catch up (Sync), and lists: the node that has its name was made.
//
// A grant compares the clock. If too much time has passed since the quorum proved that
// the session lives, the session asks the quorum whether its node stands, and takes its
// turn after the answer.
//
// A swap deletes the own node and creates the next one in one transaction. If it did
// nothing, the model deletes the old node before it makes the next one, and the library
// after that. A downgrade creates a read node with the number of the write node, which
// must stand, and then deletes the write node. Several locks at once have one node
// below each path, made by one transaction. Their turns come one after the other, and
// if one had to wait, then the quorum is asked at the end whether all nodes stand. A
// path that is new costs one transaction that creates the parent and the node: if it
// succeeds, nobody else is there. A node that lingers stays after the unlock, so that
// its session may take the lock again, as long as the clock proves the session and no
// event on the node has come.
//
// # The census
//
// A session that was granted the lock with the node number s may know, without a list,
// that its next node is the first in line. It is, if all of these hold:
//
//   - The answer to the create says that the number of the new node is the next after s:
//     s + 1, or more if the transaction that made s made further nodes there.
//   - The session has a get-watch on the data of the parent, set on this connection. It
//     is the parent that the node s stood below. No event of it has come before the
//     answer to the create, in the order in which both came over the connection.
//   - No node of the session excludes the new one. The deletion of the last node was
//     sent on this connection before the create, and was answered before the create was.
//     A swap does both in this order.
//   - The node s was granted, not only made.
//   - For a writer: when s was granted, no other node stood before it. A grant for
//     reading beside others proves something for readers only. For a reader, a read node
//     s may still stand.
//   - The clock proves that the session lives.
//
// The reason: the watch was set while the parent was the one of the node s, and is
// silent, so the new node is below the same parent. Its number says that nothing was
// created between the two nodes. Nothing that stood before s is left, since s was first
// in line. So nothing stands before the new node.
//
// There are two ways to know that the watch is on the parent of the node s:
//
//   - By the deletion: the watch was answered before the deletion of the node was sent,
//     and the deletion was answered "deleted". So the node stood when the watch was set.
//   - By the parent: the list that showed the node and the answer to the watch name the
//     same czxid of the parent.
//
// The model has both. The first is not enough for a reader whose last node is not
// deleted yet. That node may have been deleted by hand and the parent made anew before
// the watch was set, and no answer has said so. The second way holds for all.
//
// The watch is requested when a list has shown that it is the session's turn, without a wait.
// The next create may go without a list before the watch is answered.
//
// What a session knows for the census ends with the connection and with any event of the
// watch. It lists then. If it gives a watch up, then the request that removes the watch is
// sent before any request that sets it again.
//
// A try that lists before it makes a node may use the number in the same way: if nobody
// is in line, and the parent has counted n creates, then the node with the number n is
// the first in line. The watch has to be sent before the list.
//
// # What must hold
//
//   - A session takes a lock only with a node whose turn it has been, that stood at its
//     turn, and whose session has not ended. In several places at once, after a wait, all
//     nodes have stood at their turns at one moment.
//   - Nobody holds beside another whom its node excludes, and nobody holds whose node was
//     deleted by its own session. A holder whose node was deleted by hand, or whose
//     session the servers have ended, is excused: it has lost the lock and is not told.
//   - From each state, whatever happens without a further fault comes to an end in which
//     everybody has had the lock as often as it wanted, and no deletion is open. That
//     is: nothing can go round in a circle, and each state in which nothing more can
//     happen is such an end. So no fairness among the steps is needed.
//
// # Bounds
//
// There are at most three sessions, two paths and three cycles of lock and unlock. Each
// scenario has its faults, mostly one or two of each kind: lost connections, nodes
// deleted by hand, deleted parents, waits that are given up, silent clocks with the end
// of a session, a process that is gone. In a scenario with the census, session A counts
// and the others list. Within these bounds all states are visited. They are kept and
// compared as a whole, not by a hash.
//
// One reduction is made: if the only thing that can happen at a session is that it reads
// its next message, then this happens first. It changes only what the session knows and
// what it will ask, on which no step of others depends. TestEveryOrder looks at all orders
// where that takes little, and comes to the same.
//
// # What is left out
//
//   - Permits of a semaphore, and the hand-over between goroutines of one session. They
//     take no step that the lines here do not have. The line of package local has its own
//     exploration.
//   - Sequence numbers near the end of their 31 bits.
//   - Nodes with names that nobody who follows the rule gives them.
//   - A second request of a connection while the follower waits for its first write: the
//     servers carry out the requests of a connection one after the other in any case.
//   - The transaction that deletes the nodes of several locks: if one node is gone, the
//     nodes are deleted one by one. Here both happen in one step.
//   - A request of an old connection that a server carries out after the client has
//     reconnected. A quorum refuses it, since the session has moved; one server alone may
//     have such a request under way for a moment. It may leave a node that nobody knows,
//     which the library deletes when a list shows it.
//   - The read every T that looks whether a blocker still stands, and the own node if it
//     is not watched. Nobody waits for ever without it.
//   - Permissions. A server tells nobody of the end of a node that it may not read. So
//     somebody who forbids a session to read the parent while it watches the parent, and
//     then deletes it, makes it anew and fills it up to the number, deceives the census.
package protocol
