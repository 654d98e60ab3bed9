// Package sim explores schedules: its tests run random programs of several
// processes, on an embedded server to which random faults are done, in virtual
// time, and check what the locks promise. It has no code of its own.
//
//	go test ./zksync/internal/suite/sim                                     a few seconds of it, the same programs each time
//	go test ./zksync/internal/suite/sim -sim.duration=3m -sim.first=0 -v    other programs each time, as many as there is time for
//	go test ./zksync/internal/suite/sim -sim.full -sim.programs=10000 -v    4 sessions of 4 goroutines in every program
//	go test ./zksync/internal/suite/sim -sim.kind=kazoo -sim.programs=1000  programs of one kind
//	ZKSYNC_LONG=1 go test ./zksync/internal/suite/sim -v                    also that each deliberate mistake is found
//
// A seed makes a program: what each goroutine calls and for how long it works,
// which process crashes or closes when, and which faults are done to whom. The
// even seeds are of mutexes alone; the odd ones in turn of readers and writers
// (with mutexes on the same paths), of semaphores, and of several locks at once,
// beside single ones. The seeds from ten million million on are of newer kinds,
// each in its turn; every second program of a run is one of these:
//
//	adapted    sessions on clients of the program's own, closed while something is
//	           under way; the clients live on
//	kazoo      mutexes and Multis with WithKazooName, beside processes that take
//	           locks by kazoo's rule
//	inspected  owners of one process take turns at a lock, and peers look who has it
//	misuse     a lock's path used as a semaphore's and the other way round, Multis of
//	           paths that read like two, entering again after an operator has deleted
//	           the node, locks that are asked back
//	hooked     tracers that take their time, or close the session
//
// Those from twenty million million on, every eighth of a run, are of elections: leaders
// that resign, lose their leadership or are asked for it, and stand again, beside locks on
// the same paths.
//
// Every second program of each kind also has a story, a danger that chance seldom
// brings about. As many programs run at a time as there
// are processors, each in a bubble of package synctest.
//
// Checked are, as the program runs: that nobody holds beside another who can't
// share it, or more permits than there are, nor without a node whose turn it is;
// that the fences of those who hold alone grow, and all fences are their nodes',
// or that of the write which a reader held before; that the nodes of several
// locks are of one transaction; that the context of a hold ends before its node
// is gone, and Unlock and Release return the loss too; that no lock is free while
// somebody waits, nor enough permits, once the faults are over; that nobody who
// reads gets to write; that calls keep their deadlines, return the documented
// errors, and don't get a lock with a ctx that is done; that Close names what it
// leaves, which goes as long as its client lives; that a node's owner, where there
// is no fault, is one who holds or did 100 ms before, that a cycle of owners which
// is returned as certain is one, and that none is missed; that a leader's context
// ends with its leadership, that a leader who was asked for it gives way, that Run
// stands again after either, behind all who wait by then, and never after lead has
// resigned. At the end: that no node,
// watch or goroutine is left; and with porcupine, that the history of each path
// is one of readers and writers or of permits, and that of what a lock guards one
// of a register which refuses old fences. What somebody took away by force, as an
// operator who deletes nodes does, is excused for as long as its holder can't
// know, and what a process shares without a handle for as long as it may be
// another goroutine's that is gone.
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
// # Deliberate mistakes
//
// A simulation that finds nothing may look at nothing. The lists in mistakes_*_test.go
// name mistakes that a lock library can make, and the edits of the library that make
// them; the library has no code for them. An edit replaces a text of a file, which it
// has to find exactly once, by one that errs where mistake("Name") is true.
// TestMistakesApply shows that all edits fit, and names each one that does not:
// adapt it to the text that now stands there. TestMistakesAreFound compiles the
// simulation once, with all edits in an overlay (see "go help build"), and runs it
// once for each mistake, which has to make a program fail that passes without it.
//
// This shows one mistake, the program that finds it, and its trace:
//
//	go test ./zksync/internal/suite/sim -v -run TestMistakesAreFound -sim.mistake=NoSync
//
// This leaves the overlay in a directory. With it any test can be run with mistakes,
// which the environment variable ZKSYNC_MISTAKE names, with commas between:
//
//	go test ./zksync/internal/suite/sim -run TestMistakesApply -sim.overlay=/tmp/mistakes
//	ZKSYNC_MISTAKE=NoSync,NoSweep go test -overlay=/tmp/mistakes/overlay.json ./zksync
package sim
