package main

const jsonHelp = `With -o json the output is JSON, as the schema in the repository describes it
(cmd/zksync/internal/view/schema.json). Later versions may add fields.`

const operatorCodes = `  64           the command line or the path is invalid
  69           ZooKeeper can't be reached, or --timeout is over
  71           the output can't be written
  77           ZooKeeper refuses permission
  128+N        signal N ended the command`

const lsLong = `List all locks below ROOT (by default all locks of the chroot) that somebody
holds or waits for. The locks with the most waiters come first.

HELD BY, HOST, PID and OWNER are what the node of the holder says. Where several
hold a lock together, they are the first one's, and "+N" counts the others. IN
LINE is how long the holder's node has been in line, its wait included: nothing
in ZooKeeper says when its turn came. OLDEST is how long the first of the
waiters has waited.

The locks of Curator, kazoo and go-zookeeper are listed, too, but their nodes
do not say who made them.

` + jsonHelp + `
With --watch it is one document a line.

Exit codes:
  0            the list was printed, even if it is empty
` + operatorCodes + `
With code 77 the list can have been printed without the locks below paths that
ZooKeeper does not let the credentials list; a line on stderr names them.`

const showLong = `Show the line of nodes at LOCK, in order: who holds the lock, who waits, and for
whom ("3 -> 2": the third waits for the second to leave). Each node is shown
with what it says of its program, the session that it belongs to, and the trace
of the call that made it.

A program that stands in line is shown as it described itself. Nodes of Curator,
kazoo and go-zookeeper say nothing of their programs: look the session up in the
log of the ZooKeeper servers.

` + jsonHelp + `

Exit codes:
  0            the queue was printed, even if it is empty
` + operatorCodes

const revokeLong = `Ask the holder of LOCK to give it back, or all of them if several hold it
together. With --node the owner of one node in line is asked.

It is only a request. A Go program that holds the lock with Hold or Do learns of
it (see Hold.Revoked and WithCancelOnRevoke), and a program with Curator that
has called makeRevocable. "zksync run" and a program that holds the lock with
Lock or LockContext never learn of it.

With --wait zksync waits until the lock is given back.

` + jsonHelp + `

Exit codes:
  0            the holder was asked, and with --wait has given the lock back
  1            nobody holds LOCK, or it was not given back within --wait
` + operatorCodes

const breakLong = `Delete the node of the holder of LOCK, or with --node another node in line, so
that the next one in line gets the lock. It is for a holder that hangs, or is
gone while its session lives on.

The holder has no say in this. If its program still runs, it may go on as if it
had the lock, beside the next holder. So stop the program first if you can.
What it writes late is refused only where the resource compares fences.

zksync shows who will lose the lock, and asks you to type its name; --yes leaves
this out. It deletes the node that it has shown and no other: if the lock has
changed hands meanwhile, or the node was written to, nothing is deleted, and
zksync says so. Then it waits to see the next holder.

` + jsonHelp + `

Exit codes:
  0            the node was deleted
  1            nothing was deleted: nobody holds LOCK, the node has changed, or
               something else was typed
` + operatorCodes

const deadlocksLong = `Find deadlocks below ROOT (by default in the whole chroot): owners that hold one
lock each and wait for the lock of another, round in a circle. It can see only
programs whose calls name an owner, as Go programs with zksync.WithOwner do.

A deadlock is certain if it was seen twice, a second apart, without a change.
One through semaphores is never certain, because another holder may give a
permit back.

` + jsonHelp + `

Exit codes:
  0            there is no deadlock
  1            there is a deadlock, certain or not
` + operatorCodes

const watchLong = `Watch the lock LOCK, or all locks below ROOT (by default all locks of the
chroot). On a terminal it is a full-screen view: the arrow keys choose a lock,
enter opens it, r asks its holder to give it back, b deletes the holder's node,
q quits. r and b ask first, and act on the node that was on the screen then; see
zksync revoke and zksync break.

Elsewhere, with --lines and with -o json, it prints a line for each event: a
node came and waits, it holds, somebody asked for the lock, the node has left.
The first lines are the present state. zksync looks once in --interval: it does
not see what came and left between two looks.

` + jsonHelp + `

Exit codes:
  0            the user has quit
` + operatorCodes
