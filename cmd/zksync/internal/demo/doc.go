// Package demo shows a lock at work: worker processes share one lock on an
// embedded ZooKeeper server, one of them is killed and one is cut off from the
// server while they hold the lock, and a picture shows what each of them does.
//
//	workers, each in Work  -- reports, in one pipe -->  demo: play, receive  -->  judge, story  -->  screen
//	                       <-- answers to writes ----
//
// Invariants:
//
//   - All workers report through one pipe. A worker reports the start of a hold
//     after the grant and the end before the release, and goes on only when the
//     report is in the pipe. So the pipe orders the holds without a clock: if the
//     lock is correct, each begins behind the end of the one before.
//   - The judge alone decides whether the lock kept its promises, and it looks only
//     at what comes out of the pipe. The demo itself reports there that it has
//     killed a worker, right behind the call that does so.
//   - A fault is made only while its victim is known to hold the lock: it waits for
//     the answer to a write, and does not get one.
//   - One goroutine, that of Run, has all state. A slow or absent reader of the
//     output delays nothing.
//   - No worker outlives Run. A worker also ends by itself when its stdin ends.
package demo
