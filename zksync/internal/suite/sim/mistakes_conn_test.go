package sim

const inConn = "zksync/internal/conn/"

// connMistakes are those of the connection: which session lives, and which
// watches still count.
var connMistakes = []mistake{
	{
		name: "LaterLoss", is: "A session counts as alive for 2T after the last proof, not for T/2.",
		edits: []edit{{inConn + "clock.go", `return timeout / 2`, `
			if mistake("LaterLoss") {
				return 2 * timeout
			}
			return timeout / 2`}},
	},
	{
		name: "ClockOfReads", is: "A read counts as a proof that the session lives, and the probes are reads.",
		edits: []edit{
			{inConn + "call.go", `if op.Write() && proves(err)`, `if (op.Write() || mistake("ClockOfReads")) && proves(err)`},
			{inConn + "call.go", `a, ran, err := c.doUnbound(request{op: wire.OpMulti, ops: ops})`, `
				asks := request{op: wire.OpMulti, ops: ops}
				if mistake("ClockOfReads") {
					asks = request{op: wire.OpExists, path: paths[0]}
				}
				a, ran, err := c.doUnbound(asks)`},
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
						c.clock.contact = time.Now()
					}
					c.mu.Unlock()
				} else if err == nil && h.Xid >= 0 {`},
		},
	},
	{
		name: "KeptWatches", is: "Watches outlive their connection, and nobody sets them again.",
		edits: []edit{
			{inConn + "state.go", `if !st.Up {`, `if !st.Up && !((mistake("KeptWatches") || mistake("LongWatches")) && st.Session != 0) {`},
			{inConn + "state.go", "c.clock.timeout = timeout\n\tc.watches.drop()", `
				c.clock.timeout = timeout
				if !((mistake("KeptWatches") || mistake("LongWatches")) && c.state.Session == session) {
					c.watches.drop()
				}`},
			{inConn + "link.go", `l.c.watches.notify(ev.Path, ev.Type)`, `
				if mistake("KeptWatches") && ev.Type != zk.EventNodeChildrenChanged {
					st, _ := l.c.State()
					if w := l.c.watches.byKey[watchKey{path: ev.Path}]; w != nil && w.Epoch != 0 && w.Epoch != st.Epoch {
						return
					}
				}
				l.c.watches.notify(ev.Path, ev.Type)`},
		},
	},
	{
		name: "LongWatches", is: "Watches outlive their connection, and are set again on the next one in any order.",
		aid: true,
		edits: []edit{{inConn + "state.go", `if !sent.IsZero() {`, `
			if mistake("LongWatches") {
				c.watches.mu.Lock()
				for _, w := range c.watches.byKey {
					go func() {
						if _, _, err := c.do(w.key.request(true)); err != nil && Classify(err) == Answered {
							c.watches.end(w, 2) // the node was deleted
						}
					}()
				}
				c.watches.mu.Unlock()
			}
			if !sent.IsZero() {`}, {inConn + "watch.go", `w, isNew, hasChannel := c.watches.get(key)`, `
			w, isNew, hasChannel := c.watches.get(key)
			if st, _ := c.State(); mistake("LongWatches") && !isNew && w.Epoch != 0 && w.Epoch != st.Epoch {
				c.watches.end(w, 0)
				w, isNew, hasChannel = c.watches.get(key)
			}`}},
	},
}
