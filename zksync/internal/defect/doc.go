// Package defect names mistakes that a lock library can make, and makes them
// on demand: tests show with it that they would find each one. Without the
// build tag zksyncdefects none can be made, and asking costs nothing.
package defect

// Defect is one mistake. The zero value is none.
type Defect uint8

// The defects.
const (
	NoSync          Defect = iota + 1 // a lost create's node is looked for without a Sync
	NoLookup                          // a lost create's node is not looked for at all
	NoSweep                           // nodes of this process that nobody answers for are left
	NoOwnerCheck                      // a node is trusted whichever session owns it
	StringOrder                       // the line is in the order of the names as text
	GrantOnTie                        // sequence numbers are trusted to the end and beyond
	OwnMissing                        // whose node is not in line counts as the first
	LaterLoss                         // a hold is lost after 2T without contact
	ClockOfReads                      // reads prove that the session lives
	ClockOfPings                      // pings prove that the session lives, and nothing else is asked
	KeptWatches                       // watches of the connection before count, and are not set again
	LongWatches                       // watches outlive their connection, as the client sets them again: no mistake alone
	ZeroReadGrant                     // a turn is believed without a read whatever connection the watches were set on
	ForgottenDelete                   // the node of a wait that was cancelled stays
	DeleteOnce                        // a deletion whose outcome is not known is not tried again
	NoUndo                            // a grant that raced with the end of its call stays
	NoPassOn                          // a wait that ends does not wake the next one
	FreedLoss                         // a lost plain lock's place is free before its Unlock
	BlindHandoff                      // a lock is handed over on whatever node
	SharedHold                        // a Hold is handed over, fence and all
	BlindReentry                      // an owner enters again without asking the clock
	SequenceFence                     // the fence is the sequence number
	DoneAcquires                      // a done context gets a free lock
	SilentLoss                        // giving back a lock that was lost succeeds
	LaterWriter                       // a reader watches the last writer in line, which may stand behind it
	OneHolder                         // permits wait for the end of one holder, not of any
	TouchLost                         // who gets permits does not tell the one behind
	TouchOnce                         // it is told once, whatever becomes of the request
	ShrinkGap                         // a part of a permit is given back by a deletion and then a create
	DowngradeGap                      // the read node of a writer gets a place of its own
	WriteTurn                         // the end of a write node is a turn, without a read
	OneByOne                          // the nodes of a Multi are made one by one, as its locks are named
	JoinedLocal                       // a Multi does not wait for what its own session holds
	FirstPart                         // of a Multi only the first node is looked after
	UnprovenParts                     // a Multi is granted part by part, and no more looked at
	ForgottenParts                    // of a Multi whose first node is gone the others are not looked for
	ReadFence                         // who goes on to read has the fence of the read node
	OthersDebt                        // a reader gives back what an owner has lost, instead of its own
)

var names = [...]string{
	NoSync: "NoSync", NoLookup: "NoLookup", NoSweep: "NoSweep", NoOwnerCheck: "NoOwnerCheck",
	StringOrder: "StringOrder", GrantOnTie: "GrantOnTie", OwnMissing: "OwnMissing",
	LaterLoss: "LaterLoss", ClockOfReads: "ClockOfReads", ClockOfPings: "ClockOfPings",
	KeptWatches: "KeptWatches", LongWatches: "LongWatches", ZeroReadGrant: "ZeroReadGrant",
	ForgottenDelete: "ForgottenDelete", DeleteOnce: "DeleteOnce", NoUndo: "NoUndo", NoPassOn: "NoPassOn",
	FreedLoss: "FreedLoss", BlindHandoff: "BlindHandoff", SharedHold: "SharedHold", BlindReentry: "BlindReentry",
	SequenceFence: "SequenceFence", DoneAcquires: "DoneAcquires", SilentLoss: "SilentLoss",
	LaterWriter: "LaterWriter", OneHolder: "OneHolder", TouchLost: "TouchLost", TouchOnce: "TouchOnce", ShrinkGap: "ShrinkGap",
	DowngradeGap: "DowngradeGap", WriteTurn: "WriteTurn", OneByOne: "OneByOne", JoinedLocal: "JoinedLocal",
	FirstPart: "FirstPart", UnprovenParts: "UnprovenParts", ForgottenParts: "ForgottenParts", ReadFence: "ReadFence", OthersDebt: "OthersDebt",
}

// String is the defect's name in this package, or "none".
func (d Defect) String() string {
	if int(d) < len(names) && names[d] != "" {
		return names[d]
	}
	return "none"
}
