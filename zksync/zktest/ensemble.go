package zktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// How long a server, and an ensemble, may take to come up, and a server to go
// down by itself.
const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// portAttempts is how often other ports are tried when somebody else got hold of
// one first.
const portAttempts = 5

// ErrEnsembleClosed is returned when a method is called on an [Ensemble] after
// Close.
var ErrEnsembleClosed = errors.New("zktest: ensemble is closed")

// Ensemble is one or three real ZooKeeper servers on loopback. Servers are named
// by their index, from 0; ZooKeeper's own id of a server is one more.
//
// The zero value is not usable: use [NewEnsemble], [StartEnsemble] or
// [RealEnsemble]. It must not be copied. Its methods may be called from several
// goroutines; those that start, stop, pause and cut servers wait for each other.
// A method that is given an index of no server returns an error.
type Ensemble struct {
	config       ensembleConfig
	installation Installation
	dir          string // made by NewEnsemble
	servers      []*server
	links        links
	spawner      *spawner

	control sync.Mutex // held by whoever changes what runs; taken before mu
	mu      sync.Mutex
	closed  bool // guarded by mu
}

// NewEnsemble starts n servers, 1 or 3, and returns once every one of them
// serves. They keep their files in a new directory below dir, which must exist;
// the empty dir is the directory for temporary files. The error wraps
// [ErrNoZooKeeper] where none is installed; otherwise it holds the end of the
// log of the server that did not come up. After an error nothing is left.
func NewEnsemble(dir string, n int, opts ...EnsembleOption) (*Ensemble, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("zktest: ensemble of %d servers, want 1 or 3", n)
	}
	config := newEnsembleConfig(opts)
	installation, err := config.install()
	if err != nil {
		return nil, err
	}
	for range portAttempts {
		var e *Ensemble
		e, err = startEnsemble(dir, n, config, installation)
		if !errors.Is(err, errPortTaken) {
			return e, err
		}
	}
	return nil, err
}

func startEnsemble(dir string, n int, config ensembleConfig, in Installation) (*Ensemble, error) {
	own, err := os.MkdirTemp(dir, "zookeeper-")
	if err == nil {
		own, err = filepath.Abs(own) // the servers work in it
	}
	if err != nil {
		return nil, fmt.Errorf("zktest: %w", err)
	}
	e := &Ensemble{config: config, installation: in, dir: own, spawner: newSpawner()}
	if err := e.bringUp(n); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

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
	nextLook := time.Now().Add(time.Second)
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
	if err != nil {
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

// Close kills every server, closes the ways between them and removes their
// files. The error is that of removing. Further calls do nothing.
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
		return fmt.Errorf("zktest: %w", err)
	}
	return nil
}

// Servers returns the addresses clients connect to, as host and port, in the
// order of the servers. The slice is the caller's.
func (e *Ensemble) Servers() []string {
	list := make([]string, len(e.servers))
	for i, s := range e.servers {
		list[i] = address(s.client)
	}
	return list
}

// Server returns one server's address for clients. It panics, as a slice does,
// when there is no server i.
func (e *Ensemble) Server(i int) string { return address(e.servers[i].client) }

// StartEnsemble is [NewEnsemble] in a temporary directory of the test. It ends
// the test on an error, and closes the ensemble when the test ends. The last
// lines of each server's log go to the log of a test that failed.
func StartEnsemble(t testing.TB, n int, opts ...EnsembleOption) *Ensemble {
	t.Helper()
	e, err := NewEnsemble(t.TempDir(), n, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range e.servers {
				t.Logf("end of the log of server %d:\n%s", s.index, s.tail(20))
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// RealEnsemble is [StartEnsemble], but skips the test, with one line that says
// why, where no ZooKeeper is installed. With ZKSYNC_REAL=required in the
// environment it ends the test with an error there too.
func RealEnsemble(t testing.TB, n int, opts ...EnsembleOption) *Ensemble {
	t.Helper()
	if _, err := newEnsembleConfig(opts).install(); err != nil && os.Getenv("ZKSYNC_REAL") != "required" {
		t.Skipf("SKIPPED, NOT TESTED ON REAL ZOOKEEPER: %v (ZKSYNC_REAL=required makes this a failure)", err)
	}
	return StartEnsemble(t, n, opts...)
}
