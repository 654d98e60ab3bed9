package sim

// censusMistakes are those of a turn that is believed without a listing.
var censusMistakes = []mistake{
	{
		name: "NoParentWatch", is: "The number of a new node is believed though nobody watches the parent.",
		edits: []edit{{inQueue + "census.go", "if k.watch == nil {\n\t\treturn false", `
			if k.watch == nil || mistake("NoParentWatch") {
				return mistake("NoParentWatch") && k.czxid != 0 && k.epoch == epoch`}},
	},
	{
		name: "LateParentWatch", is: "A watch on the parent counts even if it was set after the parent was made anew.",
		edits: []edit{{inQueue + "census.go", `k.watch.Stat.Czxid == k.czxid`, `(k.watch.Stat.Czxid == k.czxid || mistake("LateParentWatch"))`}},
	},
	{
		name: "OldParentWatch", is: "A watch on the parent counts whatever connection it was set on.",
		with: "LongWatches",
		edits: []edit{{inQueue + "census.go", `return !over && k.watch.Epoch == epoch && k.epoch == epoch &&`, `
			return !over && (k.watch.Epoch == epoch && k.epoch == epoch || mistake("OldParentWatch")) &&`}},
	},
	{
		name: "NotGranted", is: "A line in which others stood counts as free once our own node has gone.",
		edits: []edit{{inQueue + "census.go", `if len(line) > maxKnown {`, `
			if mistake("NotGranted") {
				line = slices.DeleteFunc(slices.Clone(line), func(n znode.Name) bool { return n.Seq != next-1 })
			}
			if len(line) > maxKnown {`}},
	},
	{
		name: "OldNodeHeld", is: "The number of a new node is believed though an older node of the session still stands.",
		edits: []edit{{inQueue + "census.go", `k.line = append(slices.Clip(k.line), ours...)`, `
			if mistake("OldNodeHeld") {
				k.line = nil
			}
			k.line = append(slices.Clip(k.line), ours...)`}},
	},
	{
		name: "AnyNumber", is: "A new node's number is believed whatever it is.",
		edits: []edit{{inQueue + "census.go", `k.calm = ours[0].Seq == k.next`, `
			if mistake("AnyNumber") {
				k.next = ours[0].Seq
			}
			k.calm = ours[0].Seq == k.next`}},
	},
	{
		name: "RefusedProof", is: "A create proves that the lock is free though it did not create the parent.",
		edits: []edit{{inQueue + "together.go", `t := &together{fresh: fresh}`, `t := &together{fresh: fresh || mistake("RefusedProof")}`}},
	},
}
