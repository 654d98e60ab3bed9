// Package job runs a command under a lock until the command ends, or ends the
// command when the lock is lost.
//
// On Unix the command runs in a process group of its own. The group gets the
// signals that the program gets. The command gets the foreground of the terminal
// if the program has it, and under job control the program stops and goes on
// together with the command, so that a shell sees one job. When the lock is
// lost, the group gets SIGTERM and, after a grace, SIGKILL.
//
// Elsewhere the command shares the program's console, and is killed at once when
// the lock is lost.
//
// Invariants:
//
//   - [Job.Run] returns only after the command has ended and was waited for.
//     After a loss it returns only when nothing of the group is left, or the
//     group got SIGKILL.
//   - The lock is asked once more after the command has ended. A command that
//     may have worked without the lock is reported as one that lost it.
//   - A stopped command goes on only if the lock is still held. Otherwise it gets
//     SIGTERM first.
//   - One goroutine, on one thread, starts the command, signals it and waits for
//     it. So no signal goes to a process number that has become somebody else's,
//     and on Linux the command dies with the program.
//   - Nothing here waits for a reader of stderr for longer than a moment, or for
//     ZooKeeper at all.
//
// Locks, sessions and servers are not known here: a job is told only what [Hold]
// says.
package job
