package zktest

// Start starts server i again, with the data it had. It returns once the server
// answers on its port, which it does before it serves: see
// [Ensemble.WaitServing]. A server that runs, paused or not, is left as it is.
// The error holds the end of the server's log; the server is then down.
func (e *Ensemble) Start(i int) error { return e.java.Start(i) }

// Stop asks server i to end (SIGTERM) and waits until it has. A paused server is
// resumed to hear of it. A server that does not run is left as it is. One that
// is still there after ten seconds is killed, and that is an error.
func (e *Ensemble) Stop(i int) error { return e.java.Stop(i) }

// Kill ends server i at once (SIGKILL), paused or not, and waits until it is
// gone. A server that does not run is left as it is.
func (e *Ensemble) Kill(i int) error { return e.java.Kill(i) }

// Restart is Stop and Start.
func (e *Ensemble) Restart(i int) error { return e.java.Restart(i) }

// Pause makes server i stand still (SIGSTOP): its connections stay open and
// nothing answers on them. It returns once no thread of it runs. A paused server
// is left as it is; one that does not run is an error. Where a system has no
// such signal (Windows) the error wraps [errors.ErrUnsupported].
func (e *Ensemble) Pause(i int) error { return e.java.Pause(i) }

// Resume lets a paused server go on (SIGCONT). A server that is not paused is
// left as it is; one that does not run is an error.
func (e *Ensemble) Resume(i int) error { return e.java.Resume(i) }

// Cut parts server i from the others, in both directions, without a sign to
// either side: nothing is closed, nothing arrives. Clients still reach it. A
// follower goes on serving them for the time of [WithSyncLimit]. Servers that
// are cut are cut from each other too. Cutting the only server of an ensemble,
// or one that is cut already, does nothing.
func (e *Ensemble) Cut(i int) error { return e.java.Cut(i) }

// Heal ends the cut of server i. What was sent in the meantime arrives, on the
// connections that the servers have not given up.
func (e *Ensemble) Heal(i int) error { return e.java.Heal(i) }

// Expire ends a session at once, as if its time had run out: its ephemeral nodes
// are gone, and its client, whose connection is closed, hears of the end when it
// connects again. It returns nil once the leader knows neither the session nor a
// node of it, also when there was no such session; a follower may lag by a
// moment, and one that is cut or paused goes on with what it believes. The error
// says that there is no leader, or that the session was still there after
// fifteen seconds.
func (e *Ensemble) Expire(sessionID int64) error { return e.java.Expire(sessionID) }
