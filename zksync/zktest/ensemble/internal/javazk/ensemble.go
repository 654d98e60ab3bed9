package javazk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// A server, and an ensemble, may take startTimeout to come up, and a server
// stopTimeout to end.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// portAttempts is the number of attempts with new ports, if other programs take a
// port first.
const portAttempts = 5

// ErrClosed is returned when a method is called on an [Ensemble] after Close.
var ErrClosed = errors.New("ensemble: ensemble is closed")

// Ensemble is one or three real ZooKeeper servers on loopback. Its methods name a
// server by its index, from 0; ZooKeeper's own id of the server is one more.
//
// The zero value is not usable: use [New]. It must not be copied. Its methods may
// be called from several goroutines; the methods that start, stop, pause and cut
// servers wait for each other. A method returns an error if there is no server with
// the index.
type Ensemble struct {
	config       Config
	installation Installation
	dir          string // made by New
	servers      []*server
	links        links
	spawner      *spawner

	control sync.Mutex // held while servers are started, ended, paused or cut; taken before mu
	mu      sync.Mutex
	closed  bool // guarded by mu
}

// New starts n servers, 1 or 3, and returns when all of them serve. They keep their
// files in a new directory below dir, which must exist; the empty dir means the
// directory for temporary files. The error contains the end of the log of the server
// that did not come up. After an error nothing is left.
func New(dir string, n int, config Config, installation Installation) (*Ensemble, error) {
	var err error
	for range portAttempts {
		var e *Ensemble
		e, err = startEnsemble(dir, n, config, installation)
		if !errors.Is(err, errPortTaken) {
			return e, err
		}
	}
	return nil, err
}

func startEnsemble(dir string, n int, config Config, in Installation) (*Ensemble, error) {
	own, err := os.MkdirTemp(dir, "zookeeper-")
	if err == nil {
		own, err = filepath.Abs(own) // the servers work in it
	}
	if err != nil {
		return nil, fmt.Errorf("ensemble: %w", err)
	}
	e := &Ensemble{config: config, installation: in, dir: own, spawner: newSpawner()}
	if err := e.bringUp(n); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// bringUp sets the servers up, starts them and waits until all of them serve.
func (e *Ensemble) bringUp(n int) error {
	if err := e.setUp(n); err != nil {
		return err
	}
	for _, s := range e.servers {
		if err := e.launch(s); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(startTimeout)
	for _, s := range e.servers {
		if err := e.awaitUp(s, deadline); err != nil {
			return err
		}
	}
	if err := e.awaitServing(deadline); err != nil {
		return err
	}
	// One that serves without its port for elections ends some seconds later.
	for _, s := range e.servers {
		if s.portTaken() {
			return s.failure(errors.New("lacks a port"))
		}
	}
	return nil
}

// awaitServing waits until all servers, which answer on their ports, serve.
func (e *Ensemble) awaitServing(deadline time.Time) error {
	nextLook := time.Now().Add(time.Second) // into the logs
	serving, err := until(deadline, func() (bool, error) {
		_, serving := e.survey()
		look := time.Now().After(nextLook)
		if look {
			nextLook = time.Now().Add(time.Second)
		}
		for _, s := range e.servers {
			if err := e.verify(s); err != nil {
				return false, err
			}
			if look && s.portTaken() {
				return false, s.failure(errors.New("does not serve"))
			}
		}
		return serving, nil
	})
	if err == nil && !serving {
		err = e.servers[0].failure(fmt.Errorf("no quorum after %v", startTimeout))
	}
	return err
}

// setUp picks the ports, makes the links and writes every file. If it fails,
// tearDown releases what it has made.
func (e *Ensemble) setUp(n int) error {
	quorum, election := make([]int, n), make([]int, n)
	for i := range n {
		s := &server{index: i, dir: filepath.Join(e.dir, "server-"+strconv.Itoa(i))}
		e.servers = append(e.servers, s)
		for _, port := range []*int{&s.client, &s.quorum, &s.election} {
			var err error
			if *port, err = e.config.PickPort(); err != nil {
				return err
			}
		}
		quorum[i], election[i] = s.quorum, s.election
	}
	var err error
	if e.links, err = newLinks(quorum, election); err != nil {
		return err
	}
	for _, s := range e.servers {
		if err := e.writeFiles(s); err != nil {
			return fmt.Errorf("ensemble: files of server %d: %w", s.index, err)
		}
	}
	return nil
}

// tearDown undoes setUp, even one that has failed.
func (e *Ensemble) tearDown() error {
	e.links.close()
	for _, s := range e.servers {
		for _, port := range []int{s.client, s.quorum, s.election} {
			ports.release(port)
		}
	}
	return os.RemoveAll(e.dir)
}

// Close kills every server, closes the links between them and removes their files.
// It returns the error of removing the files. Further calls do nothing.
func (e *Ensemble) Close() error {
	e.control.Lock()
	defer e.control.Unlock()
	e.mu.Lock()
	closed := e.closed
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	for _, s := range e.servers {
		if s.proc != nil {
			s.proc.kill()
		}
	}
	e.spawner.close()
	if err := e.tearDown(); err != nil {
		return fmt.Errorf("ensemble: %w", err)
	}
	return nil
}

// Servers returns the addresses that clients connect to, in the order of the
// servers.
func (e *Ensemble) Servers() []string {
	list := make([]string, len(e.servers))
	for i, s := range e.servers {
		list[i] = address(s.client)
	}
	return list
}

// Server returns the address that clients of server i connect to.
func (e *Ensemble) Server(i int) string { return address(e.servers[i].client) }

// Size returns the number of servers.
func (e *Ensemble) Size() int { return len(e.servers) }

// Dir returns the directory that the ensemble has made for its files.
func (e *Ensemble) Dir() string { return e.dir }

// Pids returns the process ids of the servers that run.
func (e *Ensemble) Pids() []int {
	var pids []int
	for _, s := range e.servers {
		if e.state(s).running {
			pids = append(pids, s.proc.pid())
		}
	}
	return pids
}

// Tail returns the last lines of a server's log.
func (e *Ensemble) Tail(i, lines int) string { return e.servers[i].tail(lines) }
