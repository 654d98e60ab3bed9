package sim

const inZksync = "zksync/"

// localMistakes are those between the calls of one session and its entries in the
// lines.
var localMistakes = []mistake{
	{
		name: "ForgottenDelete", is: "The node of a wait that was cancelled stays.",
		edits: []edit{{inZksync + "grant.go", `removed := make(chan struct{})`, `
			removed := make(chan struct{})
			if errors.Is(err, errSuperseded) && mistake("ForgottenDelete") {
				l.s.cleanup(-1) // advanceLocked has counted it
				return
			}`}},
	},
	{
		name: "NoUndo", is: "A grant that races with the end of its call is kept.",
		edits: []edit{{inZksync + "wait.go", `if w.err == nil {`, `if w.err == nil && !mistake("NoUndo") {`}},
	},
	{
		name: "NoPassOn", is: "A wait that ends does not wake the next one.",
		edits: []edit{{inZksync + "wait.go", "} else {\n\t\tl.advanceLocked()", "} else if !mistake(\"NoPassOn\") {\n\t\tl.advanceLocked()"}},
	},
	{
		name: "FreedLoss", is: "The place of a lost plain lock is free before its Unlock.",
		edits: []edit{{inZksync + "loss.go", `plain := t.plain > 0`, `plain := t.plain > 0 && !mistake("FreedLoss")`}},
	},
	{
		name: "SharedHold", is: "A lock with a Hold is handed over, fence and all.",
		edits: []edit{{inZksync + "tenure.go", `return !t.exposed && t.handoff > 0`, `
			if mistake("SharedHold") {
				return t.handoff > 0 && !w.acq.Try && t.e.Fence() != 0
			}
			return !t.exposed && t.handoff > 0`}},
	},
	{
		name: "BlindReentry", is: "An owner enters again without a look at the clock.",
		edits: []edit{
			{inZksync + "wait.go", "l.left(w)\n\t\t}", `
				l.left(w)
				} else if err == nil && mistake("BlindReentry") {
					return nil
				}`},
			{inZksync + "unlock.go", `c.Alive(t.e.Session()), t.guard`, `c.Alive(t.e.Session()) || mistake("BlindReentry"), t.guard`},
			{inZksync + "unlock.go", `guarded || confirmed`, `guarded || confirmed || mistake("BlindReentry")`},
		},
	},
	{
		name: "DoneAcquires", is: "A call whose ctx is done gets a free lock.",
		edits: []edit{
			{inZksync + "wait.go", `if w.call.Err() != nil {`, `if w.call.Err() != nil && !mistake("DoneAcquires") {`},
			{inZksync + "wait.go", `case done == nil:`, `case done == nil, mistake("DoneAcquires") && w.call.Err() != nil:`},
			{inZksync + "wait.go", `w.err == nil && w.call.Err() != nil {`, `w.err == nil && w.call.Err() != nil && !mistake("DoneAcquires") {`},
		},
	},
	{
		name: "FirstPart", is: "Of the nodes of a Multi only the first is watched over.",
		edits: []edit{{inZksync + "hold.go", `nodes := t.e.Nodes()`, `
			nodes := t.e.Nodes()
			if mistake("FirstPart") {
				nodes = nodes[:1]
			}`}},
	},
	{
		name: "OthersDebt", is: "A reader gives back what an owner has lost, instead of its own.",
		edits: []edit{{inZksync + "reads.go", "for _, t := range list {\n\t\t\tif t.plain == 0 {", `
			if found != nil && mistake("OthersDebt") {
				break
			}
			for _, t := range list {
				if t.plain == 0 {`}},
	},
}
