// Package demo shows a lock at work: worker processes share one lock on an
// embedded ZooKeeper server, one of them is killed and one is cut off from the
// server while they hold the lock, and a picture shows what each of them does.
//
//	             Run: the main loop
//	judge, store, script      timeline <--- view: lines or a terminal
//	   ^ reports | acks, stop, kill -9
//	   |         v
//	workers: processes of this program, each in Work
//	   ^ ZooKeeper's protocol, which a fault cuts off
//	   v
//	server
//
// Invariants:
//
//   - A worker reports the moments of its holds itself, by a clock that all
//     processes of the machine share. It reports the start of a hold after the
//     grant, and the end before the release. So two holds of a correct lock never
//     overlap in the reports.
//   - The judge alone decides whether the lock kept its promises, and it looks only
//     at the reports and at the kernel's word that a process is dead.
//   - A fault is made only while its victim is known to hold the lock: it waits for
//     the answer to a write, and does not get one.
//   - One goroutine, that of Run, has all state but the timeline. The view reads
//     the timeline and nothing else, and a slow or absent reader of the output
//     delays only the view.
//   - No worker outlives Run. A worker also ends by itself when its stdin ends.
package demo
