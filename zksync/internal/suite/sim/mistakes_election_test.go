package sim

// electionMistakes are those of elections.
var electionMistakes = []mistake{
	{
		name: "OwnersLead", is: "Calls of Run for one owner lead beside each other.", kind: "elections",
		edits: []edit{{inZksync + "election.go", `stand := WithOwner(ctx, Owner{})`, `
			stand := WithOwner(ctx, Owner{})
			if mistake("OwnersLead") {
				stand = ctx
			}`}},
	},
	{
		name: "DeafLeader", is: "The context of a leader goes on when the leadership is lost.", kind: "elections",
		edits: []edit{{inZksync + "election.go", `result = lead(ctx, h)`, `
			if mistake("DeafLeader") {
				ctx = context.WithoutCancel(ctx)
			}
			result = lead(ctx, h)`}},
	},
	{
		name: "GivesUp", is: "A leader that has lost the leadership does not stand again.", kind: "elections",
		edits: []edit{{inZksync + "election.go", `again = loss != nil`, `again = loss != nil && !mistake("GivesUp")`}},
	},
	{
		name: "LeadsOn", is: "A leader that was asked to resign leads again at once, beside the next one.", kind: "elections",
		edits: []edit{{inZksync + "election.go", `if err, again := e.term(ctx, c.hold, lead); !again || ctx.Err() != nil {`, `
			err, again := e.term(ctx, c.hold, lead)
			if again && ctx.Err() == nil && mistake("LeadsOn") {
				err, again = lead(c.hold.Context(ctx), c.hold), false
			}
			if !again || ctx.Err() != nil {`}},
	},
}
