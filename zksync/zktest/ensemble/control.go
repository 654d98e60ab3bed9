package ensemble

// Start starts server i again, with the data it had. It returns when the server
// answers on its port, which is before it serves: see [Ensemble.WaitServing]. Start
// does nothing to a server that runs, paused or not. The error contains the end of
// the server's log; after an error the server is down.
func (e *Ensemble) Start(i int) error { return e.java.Start(i) }

// Stop asks server i to end (SIGTERM), and waits until it has ended. It resumes a
// paused server for this, and does nothing to a server that does not run. It kills
// a server that has not ended after ten seconds, and returns an error then.
func (e *Ensemble) Stop(i int) error { return e.java.Stop(i) }

// Kill ends server i at once (SIGKILL), paused or not, and waits until it has
// ended. It does nothing to a server that does not run.
func (e *Ensemble) Kill(i int) error { return e.java.Kill(i) }

// Restart is Stop and Start.
func (e *Ensemble) Restart(i int) error { return e.java.Restart(i) }

// Pause makes server i stand still (SIGSTOP): its connections stay open, and
// nothing answers on them. It returns when no thread of the server runs. It does
// nothing to a paused server, and returns an error if the server does not run. On a
// system without this signal (Windows) the error wraps [errors.ErrUnsupported].
func (e *Ensemble) Pause(i int) error { return e.java.Pause(i) }

// Resume lets a paused server go on (SIGCONT). It does nothing to a server that is
// not paused, and returns an error if the server does not run.
func (e *Ensemble) Resume(i int) error { return e.java.Resume(i) }

// Cut separates server i from the others, in both directions. Neither side gets a
// sign: nothing is closed, and nothing arrives. Clients still reach the server, and
// a follower goes on serving them for the time of [WithSyncLimit]. Two servers that
// are cut are cut from each other too. Cut does nothing to the only server of an
// ensemble, or to a server that is cut already.
func (e *Ensemble) Cut(i int) error { return e.java.Cut(i) }

// Heal ends the cut of server i. Data that was sent in the meantime arrives on the
// connections that the servers have not given up.
func (e *Ensemble) Heal(i int) error { return e.java.Heal(i) }

// Expire ends a session at once, as if its time had run out. Its ephemeral nodes
// are deleted and its connection is closed; its client learns of the end when it
// connects again. Expire returns nil when the leader knows neither the session nor a
// node of it, and also if there was no such session. A follower may lag by a moment,
// and one that is cut or paused goes on as before. Expire returns an error if there
// is no leader, or if the session still exists after fifteen seconds.
func (e *Ensemble) Expire(session int64) error { return e.java.Expire(session) }
