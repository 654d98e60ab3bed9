// Package sim explores schedules: its tests run random programs of several
// processes, on an embedded server to which random faults are done, in virtual
// time, and check what the locks promise. It has no code of its own.
//
//	go test ./zksync/internal/sim                                     a few seconds of it, the same programs each time
//	go test ./zksync/internal/sim -sim.duration=3m -sim.first=0 -v    other programs each time, as many as there is time for
//	go test ./zksync/internal/sim -sim.full -sim.programs=10000 -v    4 sessions of 4 goroutines in every program
//	go test -tags zksyncdefects ./zksync/internal/sim                 also that each deliberate mistake is found
//
// A seed makes a program: what each goroutine calls and for how long it works,
// which process crashes or closes when, and which faults are done to whom. Every
// second program also has a story, a danger that chance seldom brings about. As
// many programs run at a time as there are processors, each in a bubble of
// package synctest.
//
// Checked are, as the program runs: that nobody holds beside another, nor
// without a node that is first in line; that the fences of holds grow and are
// their nodes'; that a hold is told of its loss before its node is gone, and
// Unlock and Release tell of it too; that no lock is free while somebody waits,
// once the faults are over; that calls keep their deadlines, return the
// documented errors, and don't get a lock with a ctx that is done. At the end:
// that no node, watch or goroutine is left; and with porcupine, that the history
// of each lock is one of a lock, and that of what it guards one of a register
// which refuses old fences. What somebody took away by force, as an operator who
// deletes nodes does, is excused for as long as its holder can't know.
//
// # A program that fails
//
// The failure begins with the command that runs the program again. The seed says
// what is done when, not how goroutines take turns at one moment: -sim.tries
// runs it until it fails. The trace, in virtual time, follows. To see what
// matters, leave out of the program what it fails without:
//
//	-sim.without=p2,p1.0/3,f0      the place 2, the goroutine 3 of process 1.0, and the fault 0
//
// The names are those in the printed program; what is left out keeps its name.
// Add the seed to testdata/seeds, where TestCorpus finds it, and write what is
// left as a test of its own in regress_test.go: seeds mean other programs as soon
// as the generator changes.
//
// Under the tag zksyncdefects the environment variable ZKSYNC_DEFECT makes the
// library err in any test: names as in package defect, with commas between.
package sim
