// Package job runs a command under a lock until the command ends, or ends the
// command when the lock is lost.
//
// On Unix the command runs in a process group of its own. The group gets the
// signals that the program gets. If the program has the foreground of a terminal,
// the command gets it: at once if both stdin and stdout are the terminal, else
// when the command uses the terminal. A neighbour in a pipeline that uses the
// terminal gets the foreground back. Under job control the program stops and goes
// on together with the command, so that a shell sees one job. When the lock is
// lost, the group gets SIGTERM and, after a grace, SIGKILL.
//
// Elsewhere the command shares the program's console. On Windows it runs in a job
// object, and is killed at once, with all that it has started, when the lock is lost
// or the program ends.
//
// Invariants:
//
//   - [Job.Run] returns only after the command has ended and was waited for.
//     After a loss it returns only when nothing of the group is left, or the
//     group got SIGKILL. If it may not send that, [End] says that the command
//     still runs.
//   - The lock is asked once more after the command has ended. A command that
//     may have worked without the lock is reported as one that lost it.
//   - A stopped command goes on only if the lock is still held. Otherwise it gets
//     SIGTERM first.
//   - The program stops only after the command has stopped, and only if there is
//     a shell that can continue it.
//   - One goroutine, on one thread, starts the command, signals it and waits for
//     it. So no signal goes to a process number that has become somebody else's,
//     and on Linux the command dies with the program.
//   - Nothing here waits for a reader of stderr for longer than a moment, or for
//     ZooKeeper at all.
//
// Locks, sessions and servers are not known here: a job is told only what [Hold]
// says.
package job
