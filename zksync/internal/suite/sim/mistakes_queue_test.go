package sim

const (
	inQueue = "zksync/internal/queue/"
	inZnode = "zksync/internal/znode/"
)

// queueMistakes are those of the lines in ZooKeeper: which nodes are ours, whose
// turn it is, and which nodes are to go.
var queueMistakes = []mistake{
	// The node that was not seen, or not looked for, is deleted as soon as a listing
	// shows it: it is of this process, and nobody answers for it. Hence NoSweep.
	{
		name: "NoSync", is: "The node of a create without an answer is looked for without a Sync.",
		with: "NoSweep",
		edits: []edit{{inQueue + "create.go", `_, err := e.c.Sync(p.Parent)`, `
			var err error
			if !mistake("NoSync") {
				_, err = e.c.Sync(p.Parent)
			}`}},
	},
	{
		name: "NoLookup", is: "The node of a create without an answer is not looked for.",
		with: "NoSweep",
		edits: []edit{{inQueue + "create.go", `if found, unclear := e.resolve(); found`, `
			if mistake("NoLookup") {
				break
			}
			if found, unclear := e.resolve(); found`}},
	},
	{
		name: "ForgottenParts", is: "If the first node of a Multi is gone, the others are not looked for.",
		with: "NoSweep",
		edits: []edit{{inQueue + "create.go", "e.mu.Unlock()\n\t\tcase errors.Is(err, zk.ErrNoNode):", `
				e.mu.Unlock()
			case errors.Is(err, zk.ErrNoNode):
				if mistake("ForgottenParts") {
					e.leaves(nil)
				}`}},
	},
	{
		name: "NoSweep", is: "Nodes of this process that nobody answers for are left alone.",
		aid:   true,
		edits: []edit{{inQueue + "listing.go", `!isOwned(name.GUID):`, `!isOwned(name.GUID) && !mistake("NoSweep"):`}},
	},
	{
		name: "NoOwnerCheck", is: "A node counts as ours whichever session owns it.",
		edits: []edit{
			{inQueue + "create.go", `st.Session != e.ran.After.Session {`, `st.Session != e.ran.After.Session && !mistake("NoOwnerCheck") {`},
			{inQueue + "create.go", `e.session = stat.EphemeralOwner`, `
				if e.session = stat.EphemeralOwner; mistake("NoOwnerCheck") {
					e.session = st.Session
				}`},
			{inQueue + "block.go", `case w.Stat.EphemeralOwner != e.session:`, `case w.Stat.EphemeralOwner != e.session && !mistake("NoOwnerCheck"):`},
		},
	},
	{
		name: "StringOrder", is: "The line is in the order of the names as text.",
		edits: []edit{{inZnode + "order.go", `return cmp.Or(`, `
			if mistake("StringOrder") {
				return cmp.Compare(a.Raw, b.Raw)
			}
			return cmp.Or(`}},
	},
	{
		name: "GrantOnTie", is: "Sequence numbers are trusted to the end and beyond, and if two are equal.",
		edits: []edit{{inZnode + "order.go", `me := line[own]`, `
			if mistake("GrantOnTie") {
				return false
			}
			me := line[own]`}},
	},
	{
		name: "OwnMissing", is: "An entry whose node is not in the line counts as the first.",
		edits: []edit{{inQueue + "listing.go", "\n\treturn errAgain", `
			if mistake("OwnMissing") {
				own, _ := znode.Parse(mine)
				v.line = append([]znode.Name{own}, line...)
				return nil
			}
			return errAgain`}},
	},
	// As long as watches end with their connection, no event of a later one can pass
	// for a turn. Hence LongWatches.
	{
		name: "ZeroReadGrant", is: "A turn is believed without a read whatever connection the watches were set on.",
		with: "LongWatches",
		edits: []edit{{inQueue + "block.go", `return deleted && !local && !over &&`, `
			if mistake("ZeroReadGrant") {
				return deleted && !local && !over
			}
			return deleted && !local && !over &&`}},
	},
	{
		name: "WriteTurn", is: "The end of a write node is a turn without a read, though a read node may take its place.",
		edits: []edit{{inQueue + "rule.go", `own == 1 && first != znode.Write`, `
			own == 1 && (first != znode.Write || mistake("WriteTurn"))`}},
	},
	{
		name: "DeleteOnce", is: "A deletion whose outcome is not known is not tried again.",
		edits: []edit{{inQueue + "remove.go", `unknown = true`, `
			if mistake("DeleteOnce") {
				return nil
			}
			unknown = true`}},
	},
	{
		name: "SilentLoss", is: "Giving back a lock that was lost succeeds.",
		edits: []edit{{inQueue + "remove.go", `return false, conn.ErrNodeGone`, `
			if mistake("SilentLoss") {
				return false, nil
			}
			return false, conn.ErrNodeGone`}},
	},
	{
		name: "UnfollowedUnlock", is: "Nobody follows the deletion of an unlock that does not wait for the answer: it is tried once.",
		edits: []edit{
			{inQueue + "remove.go", `e.soonRemoved(ran, err, done) })`, `
				if pace == conn.Wait && conn.Classify(err) == conn.Unknown && mistake("UnfollowedUnlock") {
					done(nil)
					return
				}
				e.soonRemoved(ran, err, done)
			})`},
			{inLocal + "cleaner.go", `go func() { done(c.removes(e, sent)) }()`, `
				if st, _ := c.t.Conn.State(); pace == conn.Wait && !st.Up && c.t.Conn.Ordered() && mistake("UnfollowedUnlock") {
					c.forget(e, nil)
					done(nil)
					return
				}
				go func() { done(c.removes(e, sent)) }()`},
		},
	},
	{
		name: "RefusedSwap", is: "A swap that the servers refuse, since the old node is gone, counts as carried out.",
		edits: []edit{{inQueue + "swap.go", `case err == nil && e.ran.Session() != 0:`, `
			case (err == nil || conn.Classify(err) == conn.Answered && mistake("RefusedSwap")) && e.ran.Session() != 0:`}},
	},
	{
		name: "ForgottenSwap", is: "If a swap of unknown outcome has not made the new node, nobody deletes the old one.",
		with:  "NoSweep",
		edits: []edit{{inQueue + "swap.go", `stands && e.session == old.session {`, `stands && e.session == old.session || mistake("ForgottenSwap") {`}},
	},
	{
		name: "UnresolvedSwap", is: "A swap of unknown outcome counts as not carried out: nobody looks for the new node.",
		with: "NoSweep",
		edits: []edit{{inQueue + "swap.go", `case err == nil || conn.Classify(err) == conn.Unknown:`, `
			case err != nil && mistake("UnresolvedSwap"):
			case err == nil || conn.Classify(err) == conn.Unknown:`}},
	},
	{
		name: "BlindHandoff", is: "A lock is handed over without regard to what is known of its node and session.",
		edits: []edit{{inQueue + "tenure.go", `return e.fresh(l.own) && (l.twin == nil || e.fresh(l.twin)) && e.c.AliveAt(e.session, now)`, `
			return e.fresh(l.own) && e.c.AliveAt(e.session, now) || mistake("BlindHandoff")`}},
	},
	{
		name: "SequenceFence", is: "The fence is the sequence number, which starts again when the parent is made anew.",
		edits: []edit{
			{inQueue + "block.go", `e.fence.Store(w.Stat.Czxid)`, `
				fence := w.Stat.Czxid
				if mistake("SequenceFence") {
					name, _ := znode.Parse(e.nodes[i][len(e.order.Places[i].Parent)+1:])
					fence = name.Seq + 1
				}
				e.fence.Store(fence)`},
			{inQueue + "create.go", `e.fence.Store(e.czxid)`, `
				fence := e.czxid
				if mistake("SequenceFence") {
					name, _ := znode.Parse(path.Base(e.nodes[0]))
					fence = name.Seq + 1
				}
				e.fence.Store(fence)`},
		},
	},
	{
		name: "LaterWriter", is: "A reader watches the last writer in line, which may stand behind it.",
		edits: []edit{{inQueue + "rw.go", `return Verdict{Watch: i}`, `
			for j := len(line) - 1; j > i && mistake("LaterWriter"); j-- {
				if line[j].Kind != znode.Read {
					return Verdict{Watch: j}
				}
			}
			return Verdict{Watch: i}`}},
	},
	{
		name: "DowngradeGap", is: "The read node of a writer gets a sequence number of its own.",
		edits: []edit{{inQueue + "rw.go", `ran, err := e.c.CreateBeside(`, `
			if mistake("DowngradeGap") {
				return e.create(ctx)
			}
			ran, err := e.c.CreateBeside(`}},
	},
	{
		name: "ReadFence", is: "A writer that goes on to read gets the fence of the read node.",
		edits: []edit{{inQueue + "rw.go", `e.fence.Store(w.Fence())`, `
			e.fence.Store(w.Fence())
			if mistake("ReadFence") {
				defer func() { _ = e.readFence(0) }()
			}`}},
	},
	{
		name: "OneHolder", is: "A wait for permits ends with one holder, not with any.",
		edits: []edit{{inQueue + "permit.go", `Crowd: true`, `Crowd: !mistake("OneHolder")`}},
	},
	{
		name: "TouchLost", is: "An entry that gets permits does not tell the one behind.",
		edits: []edit{{inQueue + "permit.go", `go e.touch(e.nodes[0])`, `
			if mistake("TouchLost") {
				return
			}
			go e.touch(e.nodes[0])`}},
	},
	{
		name: "TouchOnce", is: "The one behind is told once, whatever becomes of the request.",
		edits: []edit{{inQueue + "permit.go", `conn.Classify(err) == conn.Answered || errors.Is(err, conn.ErrClosed) {`, `
			conn.Classify(err) == conn.Answered || errors.Is(err, conn.ErrClosed) || mistake("TouchOnce") {`}},
	},
	{
		name: "ShrinkGap", is: "A part of a permit is given back by a deletion and then a create.",
		edits: []edit{{inQueue + "shrink.go", `data, version := e.saidAt()`, `
			if mistake("ShrinkGap") {
				_, _ = e.c.Delete(old)
				_, _, _ = e.c.Create([]string{old}, nil, zk.FlagEphemeral, e.order.ACL) // for Replace to find
			}
			data, version := e.saidAt()`}},
	},
	{
		name: "OneByOne", is: "The nodes of a Multi are made one by one, in the order in which its locks are named.",
		edits: []edit{
			{inQueue + "create.go", `if e.beside = nil; e.c.Ordered() {`, `
				if e.beside = nil; e.c.Ordered() && (fresh || len(paths) == 1 || !mistake("OneByOne")) {`},
			{inQueue + "create.go", `return e.c.Make(paths, data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)`, `
				together := len(paths)
				if mistake("OneByOne") {
					together = 1
				}
				made, czxid, ran, err := e.c.Make(paths[:together], data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)
				for _, p := range paths[together:] {
					var next []string
					if err == nil {
						next, ran, err = e.c.Create([]string{p}, data, zk.FlagEphemeral|zk.FlagSequence, e.order.ACL)
						made = append(made, next...)
					}
				}
				return made, czxid, ran, err`},
			{inZksync + "multi.go", `slices.SortFunc(m.cfg.Parts, func(a, b local.Part) int { return cmp.Compare(a.Path, b.Path) })`, `
				if !mistake("OneByOne") {
					slices.SortFunc(m.cfg.Parts, func(a, b local.Part) int { return cmp.Compare(a.Path, b.Path) })
				}`},
		},
	},
	{
		name: "JoinedLocal", is: "A Multi does not wait for what its own session holds.",
		edits: []edit{{inQueue + "walk.go", `return v, e.limits(`, `
			if mistake("JoinedLocal") && !v.Held && len(e.nodes) > 1 {
				st, _, err := e.c.Stat(path.Join(e.order.Places[i].Parent, seen.line[v.Watch].Raw))
				v.Held = err == nil && st.EphemeralOwner == e.session
			}
			return v, e.limits(`}},
	},
	{
		name: "UnprovenParts", is: "A Multi is granted part by part, without a last look at all of them.",
		edits: []edit{{inQueue + "stand.go", `if quick {`, `if quick || mistake("UnprovenParts") {`}},
	},
}
