package javazk

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// poll is the pause between two looks at something that changes by itself.
const poll = 10 * time.Millisecond

// until calls done again and again until it returns true or an error, or until the
// deadline has passed; then it returns false.
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

// lock takes control of the ensemble, and returns server i. unlock gives the control
// back.
func (e *Ensemble) lock(i int) (s *server, unlock func(), err error) {
	if i < 0 || i >= len(e.servers) {
		return nil, nil, fmt.Errorf("ensemble: no server %d in an ensemble of %d", i, len(e.servers))
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

// state is the state of a server, as far as this process decides it.
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

// Start starts server i again, with the data it had, unless it runs. It returns when
// the server answers on its port, which is before it serves. The error contains the
// end of the server's log; after an error the server is down.
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

// verify returns an error if the server's process has ended, or if another server
// answers on its port.
func (e *Ensemble) verify(s *server) error {
	if s.proc.exited() {
		return s.failure(fmt.Errorf("ended while it started (%w)", s.proc.err))
	}
	conf, err := ask(address(s.client), "conf", pollTimeout)
	if err == nil && strings.Contains(conf, "dataDir=") && !strings.Contains(conf, s.dir) {
		return fmt.Errorf("ensemble: server %d: another one on its port: %w", s.index, errPortTaken)
	}
	return nil
}

// Stop asks server i to end (SIGTERM), and waits until it has ended. It resumes a
// paused server for this, and does nothing to a server that does not run. It kills
// a server that does not end in time, and returns an error then.
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
		return fmt.Errorf("ensemble: stop of server %d: %w", i, err)
	}
	select {
	case <-s.proc.done:
		return nil
	case <-time.After(stopTimeout):
		s.proc.kill()
		return s.failure(fmt.Errorf("did not stop within %v, killed", stopTimeout))
	}
}

// Kill ends server i at once (SIGKILL), paused or not, and waits until it has
// ended. It does nothing to a server that does not run.
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

// Pause makes server i stand still (SIGSTOP), unless it does already. It returns
// when no thread of the server runs, or an error if the server does not run.
func (e *Ensemble) Pause(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	st := e.state(s)
	if !st.running {
		return fmt.Errorf("ensemble: pause of server %d: it does not run", i)
	}
	if st.paused {
		return nil
	}
	if err := s.proc.pause(); err != nil {
		return fmt.Errorf("ensemble: pause of server %d: %w", i, err)
	}
	e.setPaused(s, true)
	still, _ := until(time.Now().Add(stopTimeout), func() (bool, error) { return stopped(s.proc.pid()), nil })
	if !still {
		return fmt.Errorf("ensemble: server %d does not stand still after %v", i, stopTimeout)
	}
	return nil
}

// Resume lets a paused server go on (SIGCONT). It does nothing to a server that is
// not paused, and returns an error if the server does not run.
func (e *Ensemble) Resume(i int) error {
	s, unlock, err := e.lock(i)
	if err != nil {
		return err
	}
	defer unlock()
	st := e.state(s)
	if !st.running {
		return fmt.Errorf("ensemble: resume of server %d: it does not run", i)
	}
	if !st.paused {
		return nil
	}
	if err := s.proc.resume(); err != nil {
		return fmt.Errorf("ensemble: resume of server %d: %w", i, err)
	}
	e.setPaused(s, false)
	return nil
}

func (e *Ensemble) setPaused(s *server, paused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.paused = paused
}

// Cut separates server i from the others, in both directions, while its clients
// still reach it. Neither side gets a sign.
func (e *Ensemble) Cut(i int) error { return e.setCut(i, true) }

// Heal ends the cut of server i. Data that was sent in the meantime arrives on the
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
