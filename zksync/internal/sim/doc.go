// Package sim explores schedules: its tests run random programs of several
// processes, on an embedded server to which random faults are done, in virtual
// time, and check what the locks promise. It has no code of its own.
//
//	go test ./zksync/internal/sim                              a few seconds of it
//	go test ./zksync/internal/sim -sim.duration=10m            more
//	go test ./zksync/internal/sim -sim.programs=2000           so many programs
//	go test ./zksync/internal/sim -sim.seed=42                 one program, with its trace
//	go test -tags zksyncdefects ./zksync/internal/sim          also that each defect is found
package sim
