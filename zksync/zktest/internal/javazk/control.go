package javazk

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// poll is how long to wait before looking again at something that changes by
// itself.
const poll = 10 * time.Millisecond

// until looks again and again until done returns true, an error or the deadline
// has passed. It returns false in the last case.
func until(deadline time.Time, done func() (bool, error)) (bool, error) {
	for {
		ok, err := done()
		if ok || err != nil {
			return ok, err
		}
		if !time.Now().Before(deadline) {
			return false, nil
		}
		time.Sleep(poll)
	}
}

// lock takes control of the ensemble, for one server; unlock gives it back.
func (e *Ensemble) lock(i int) (s *server, unlock func(), err error) {
	if i < 0 || i >= len(e.servers) {
		return nil, nil, fmt.Errorf("zktest: no server %d in an ensemble of %d", i, len(e.servers))
	}
	e.control.Lock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		e.control.Unlock()
		return nil, nil, ErrClosed
	}
	return e.servers[i], e.control.Unlock, nil
}

// state is what a server is doing, as far as this process decides it.
type state struct {
	running bool
	paused  bool
	cut     bool
}

func (e *Ensemble) state(s *server) state {
	e.mu.Lock()
	defer e.mu.Unlock()
	running := !e.closed && s.proc != nil && !s.proc.exited()
	return state{running: running, paused: running && s.paused, cut: s.cut}
}

// Start starts server i again, with the data it had. It returns once the server
// answers on its port, which it does before it serves: see
// [Ensemble.WaitServing]. A server that runs, paused or not, is left as it is.
// The error holds the end of the server's log; the server is then down.
func (e *Ensemble) Start(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	if e.state(s).running {
		return nil
	}
	deadline := time.Now().Add(startTimeout)
	for {
		if err := e.launch(s); err != nil {
			return err
		}
		err := e.awaitUp(s, deadline)
		if err == nil {
			return nil
		}
		s.proc.kill()
		// A connection of the server's former life may hold the port a moment.
		if !errors.Is(err, errPortTaken) || time.Now().After(deadline) {
			return err
		}
	}
}

// awaitUp waits until a server that was launched answers on its port.
func (e *Ensemble) awaitUp(s *server, deadline time.Time) error {
	up, err := until(deadline, func() (bool, error) {
		_, err := ask(address(s.client), "ruok", pollTimeout)
		return err == nil, e.verify(s)
	})
	if err == nil && !up {
		err = s.failure(errors.New("did not come up in time"))
	}
	return err
}

// verify returns an error when the server's process has ended, or when it is not
// our server that answers on its port.
func (e *Ensemble) verify(s *server) error {
	if s.proc.exited() {
		return s.failure(fmt.Errorf("ended while it started (%w)", s.proc.err))
	}
	conf, err := ask(address(s.client), "conf", pollTimeout)
	if err == nil && strings.Contains(conf, "dataDir=") && !strings.Contains(conf, s.dir) {
		return fmt.Errorf("zktest: server %d: another one on its port: %w", s.index, errPortTaken)
	}
	return nil
}

// Stop asks server i to end (SIGTERM) and waits until it has. A paused server is
// resumed to hear of it. A server that does not run is left as it is. One that
// is still there after ten seconds is killed, and that is an error.
func (e *Ensemble) Stop(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	if !e.state(s).running {
		return nil
	}
	err = s.proc.terminate()
	if e.state(s).paused {
		err = errors.Join(err, s.proc.resume())
	}
	if err != nil && !s.proc.exited() {
		return fmt.Errorf("zktest: stop of server %d: %w", i, err)
	}
	select {
	case <-s.proc.done:
		return nil
	case <-time.After(stopTimeout):
		s.proc.kill()
		return s.failure(fmt.Errorf("did not stop within %v, killed", stopTimeout))
	}
}

// Kill ends server i at once (SIGKILL), paused or not, and waits until it is
// gone. A server that does not run is left as it is.
func (e *Ensemble) Kill(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	if e.state(s).running {
		s.proc.kill()
	}
	return nil
}

// Restart is Stop and Start.
func (e *Ensemble) Restart(i int) error {
	if err := e.Stop(i); err != nil {
		return err
	}
	return e.Start(i)
}

// Pause makes server i stand still (SIGSTOP): its connections stay open and
// nothing answers on them. It returns once no thread of it runs. A paused server
// is left as it is; one that does not run is an error. Where a system has no
// such signal (Windows) the error wraps [errors.ErrUnsupported].
func (e *Ensemble) Pause(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	st := e.state(s)
	if !st.running {
		return fmt.Errorf("zktest: pause of server %d: it does not run", i)
	}
	if st.paused {
		return nil
	}
	if err := s.proc.pause(); err != nil {
		return fmt.Errorf("zktest: pause of server %d: %w", i, err)
	}
	e.setPaused(s, true)
	still, _ := until(time.Now().Add(stopTimeout), func() (bool, error) { return stopped(s.proc.pid()), nil })
	if !still {
		return fmt.Errorf("zktest: server %d does not stand still after %v", i, stopTimeout)
	}
	return nil
}

// Resume lets a paused server go on (SIGCONT). A server that is not paused is
// left as it is; one that does not run is an error.
func (e *Ensemble) Resume(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	st := e.state(s)
	if !st.running {
		return fmt.Errorf("zktest: resume of server %d: it does not run", i)
	}
	if !st.paused {
		return nil
	}
	if err := s.proc.resume(); err != nil {
		return fmt.Errorf("zktest: resume of server %d: %w", i, err)
	}
	e.setPaused(s, false)
	return nil
}

func (e *Ensemble) setPaused(s *server, paused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.paused = paused
}

// Cut parts server i from the others, in both directions, without a sign to
// either side: nothing is closed, nothing arrives. Clients still reach it. A
// follower goes on serving them for the time of syncLimit. Servers that
// are cut are cut from each other too. Cutting the only server of an ensemble,
// or one that is cut already, does nothing.
func (e *Ensemble) Cut(i int) error { return e.setCut(i, true) }

// Heal ends the cut of server i. What was sent in the meantime arrives, on the
// connections that the servers have not given up.
func (e *Ensemble) Heal(i int) error { return e.setCut(i, false) }

func (e *Ensemble) setCut(i int, cut bool) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	s.cut = cut
	for ends, l := range e.links {
		hold := e.servers[ends[0]].cut || e.servers[ends[1]].cut
		for _, r := range l.relays() {
			r.Hold(hold, hold)
		}
	}
	return nil
}
