package sim

const (
	inZksync = "zksync/"
	inLocal  = "zksync/internal/local/"
)

// localMistakes are those between the calls of one session and its nodes in the
// lines.
var localMistakes = []mistake{
	{
		name: "ForgottenDelete", is: "The node of a wait that was cancelled stays.",
		edits: []edit{{inLocal + "stand.go", "case t.left:\n\t\tl.remove(t)\n\tcase err != nil:", `
			case t.left && mistake("ForgottenDelete"):
				l.t.settled() // leave has expected it
			case t.left:
				l.remove(t)
			case err != nil:`}},
	},
	{
		name: "NoUndo", is: "A grant that races with the end of its call is kept.",
		edits: []edit{{inLocal + "ending.go", `case c.holder != nil:`, `case c.holder != nil && !mistake("NoUndo"):`}},
	},
	{
		name: "NoPassOn", is: "A wait that ends does not wake the next one.",
		edits: []edit{
			{inLocal + "owner.go", "if t != nil {\n\t\tl.reuse(t, then)\n\t}", `
				switch {
				case t != nil && mistake("NoPassOn"):
					l.leave(t)
				case t != nil:
					l.reuse(t, then)
				}`},
			{inLocal + "release.go", "l.take(c)\n\t\tl.settle()", `
				l.take(c)
				if !mistake("NoPassOn") {
					l.settle()
				}`},
		},
	},
	{
		name: "FreedLoss", is: "The place of a lost plain lock is free before its Unlock.",
		edits: []edit{{inLocal + "release.go", `case l.single == h:`, `
			case l.single == h && mistake("FreedLoss"):
				l.single = nil
			case l.single == h:`}},
	},
	{
		name: "SharedHold", is: "A lock with a Hold is handed over, fence and all.",
		edits: []edit{
			{inLocal + "ticket.go", `return t.kind == w.Kind && t.agrees(w) && !t.seen && !t.fixed && h.lost == nil && h.handoff > 0 && w.plain()`, `
				if mistake("SharedHold") {
					return t.kind == w.Kind && h.kind.Alone() && !t.fixed && h.lost == nil && h.handoff > 0 && !w.Try && t.e != nil && t.e.Fence() != 0
				}
				return t.kind == w.Kind && t.agrees(w) && !t.seen && !t.fixed && h.lost == nil && h.handoff > 0 && w.plain()`},
		},
	},
	{
		name: "LingerSurvivesExpiry", is: "A lock that lingers outlives its session.",
		edits: []edit{
			{inLocal + "rest.go", `	switch {
	case l.t.stopped(), t.asked:
		return leaves`, `
				switch {
				case mistake("LingerSurvivesExpiry") && l.line.resting == t && t.lease.Crowd() != nil:
					if st, _ := l.t.Conn.State(); !st.Up || st.Session != t.e.Session() {
						return stays
					}
				}
				switch {
				case l.t.stopped(), t.asked:
					return leaves`},
			{inLocal + "rest.go", `if l.line.resting == t && t.lease.Crowd() == w {`, `
				st, _ := l.t.Conn.State()
				away := !st.Up || st.Session != t.e.Session()
				if l.line.resting == t && t.lease.Crowd() == w && !(away && mistake("LingerSurvivesExpiry")) {`},
			{inLocal + "lease.go", `case l.line.resting == t:`, `case l.line.resting == t && !(!deleted && mistake("LingerSurvivesExpiry")):`},
			{inLocal + "lock.go", `l.t.Conn.Alive(c.holder.ticket.e.Session()) {`, `
				mistake("LingerSurvivesExpiry") && c.holder.ticket.stay != nil && c.holder.ticket.stay.heeded != nil || l.t.Conn.Alive(c.holder.ticket.e.Session()) {`},
			{inLocal + "ending.go", `t != nil && t.e.Session() != st.Session {`, `t != nil && t.e.Session() != st.Session && !mistake("LingerSurvivesExpiry") {`},
		},
	},
	{
		name: "LingerBlocks", is: "A lock that lingers is not given to other sessions.",
		edits: []edit{{inLocal + "rest.go", `	t.stay.heeded = w
`, `
			t.stay.heeded = w
			if mistake("LingerBlocks") {
				return
			}
`}},
	},
	{
		name: "BlindReentry", is: "An owner enters again without a look at the clock.",
		edits: []edit{
			{inLocal + "lock.go", `if err != nil || c.holder == nil ||`, `if err != nil || c.holder == nil || c.enters && mistake("BlindReentry") ||`},
			{inLocal + "owners.go", `l.t.Conn.Alive(e.Session()), h.guard`, `l.t.Conn.Alive(e.Session()) || mistake("BlindReentry"), h.guard`},
			{inLocal + "owners.go", `guarded || confirmed`, `guarded || confirmed || mistake("BlindReentry")`},
		},
	},
	{
		name: "DoWaits", is: "A call with the context of a Do waits for the lock of the Do.",
		edits: []edit{{inLocal + "line.go", `if c.Within {`, `if c.Within && !mistake("DoWaits") {`}},
	},
	{
		name: "OwnersWait", is: "Calls of one owner wait for each other.",
		edits: []edit{{inLocal + "grant.go", `if h.owner != "" {
		l.gather(h)`, `if h.owner != "" && !mistake("OwnersWait") {
		l.gather(h)`}},
	},
	{
		name: "DoneAcquires", is: "A call whose ctx is done gets a free lock.",
		edits: []edit{
			{inLocal + "lock.go", "if c.Ctx.Err() != nil {\n\t\treturn ErrDone // a done", "if c.Ctx.Err() != nil && !mistake(\"DoneAcquires\") {\n\t\treturn ErrDone // a done"},
			{inLocal + "lock.go", `case done == nil:`, `case done == nil, mistake("DoneAcquires") && c.Ctx.Err() != nil:`},
			{inLocal + "lock.go", `c.err == nil && c.Ctx.Err() != nil {`, `c.err == nil && c.Ctx.Err() != nil && !mistake("DoneAcquires") {`},
		},
	},
	{
		name: "FirstPart", is: "Of the nodes of a Multi only the first is watched over.",
		edits: []edit{{inLocal + "handle.go", `nodes := e.Nodes()`, `
			nodes := e.Nodes()
			if mistake("FirstPart") {
				nodes = nodes[:1]
			}`}},
	},
	{
		name: "OthersDebt", is: "A reader gives back what an owner has lost, instead of its own.",
		edits: []edit{{inLocal + "release.go", `case (h.owner == owner) != (o.owner == owner):`, `
			case mistake("OthersDebt") && (h.lost != nil) != (o.lost != nil):
				return h.lost != nil
			case (h.owner == owner) != (o.owner == owner):`}},
	},
}
