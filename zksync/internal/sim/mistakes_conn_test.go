package sim

const inConn = "zksync/internal/conn/"

// connMistakes are those of the connection: which session lives, and which
// watches still count.
var connMistakes = []mistake{
	{
		name: "LaterLoss", is: "A session counts as alive for 2T after the last proof, not for T/2.",
		edits: []edit{{inConn + "probe.go", `return t / 2`, `
			if mistake("LaterLoss") {
				return 2 * t
			}
			return t / 2`}},
	},
	{
		name: "ClockOfReads", is: "A read counts as a proof that the session lives, and the probes are reads.",
		edits: []edit{
			{inConn + "call.go", `if quorum && proves(err)`, `if (quorum || mistake("ClockOfReads")) && proves(err)`},
			{inConn + "call.go", `res, err := zc.Multi(ops...)`, `
				if mistake("ClockOfReads") {
					ok, _, err := zc.Exists(paths[0])
					if err == nil && !ok {
						err = zk.ErrNoNode
					}
					return err
				}
				res, err := zc.Multi(ops...)`},
		},
	},
	{
		name: "ClockOfPings", is: "A ping counts as a proof that the session lives, and there are no probes.",
		edits: []edit{
			{inConn + "round.go", `var failed atomic.Bool`, `
				if mistake("ClockOfPings") {
					return
				}
				var failed atomic.Bool`},
			{inConn + "frame.go", `} else if err == nil && h.Xid >= 0 {`, `
				} else if err == nil && h.Xid == wire.XidPing && mistake("ClockOfPings") {
					c := f.l.c
					c.mu.Lock()
					if c.state.Up {
						c.contact = time.Now()
					}
					c.mu.Unlock()
				} else if err == nil && h.Xid >= 0 {`},
		},
	},
	{
		name: "KeptWatches", is: "Watches outlive their connection, and nobody sets them again.",
		edits: []edit{
			{inConn + "conn.go", `if !st.Up {`, `if !st.Up && !((mistake("KeptWatches") || mistake("LongWatches")) && st.Session != 0) {`},
			{inConn + "conn.go", "c.timeout = timeout\n\tc.dropWatchesLocked()", `
				c.timeout = timeout
				if !((mistake("KeptWatches") || mistake("LongWatches")) && c.state.Session == session) {
					c.dropWatchesLocked()
				}`},
			{inConn + "watch.go", `w != nil && (deleted || event == zk.EventNodeDataChanged)`, `
				w != nil && !(mistake("KeptWatches") && w.Epoch != 0 && w.Epoch != c.state.Epoch) &&
					(deleted || event == zk.EventNodeDataChanged)`},
		},
	},
	{
		name: "LongWatches", is: "Watches outlive their connection, as the client sets them again.",
		aid: true,
		edits: []edit{{inConn + "watch.go", `w := c.watches[key]`, `
			w := c.watches[key]
			if w != nil && mistake("LongWatches") && w.Epoch != 0 && w.Epoch != c.state.Epoch {
				c.endLocked(w, 0)
				w = nil
			}`}},
	},
}
