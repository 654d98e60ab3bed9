package zktest

import (
	"fmt"
	"os"
	"testing"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/javazk"
)

// ErrEnsembleClosed is returned by the methods of an [Ensemble] after Close.
var ErrEnsembleClosed = javazk.ErrClosed

// Ensemble is one or three real ZooKeeper servers on loopback. Its methods name a
// server by its index, from 0; ZooKeeper's own id of the server is one more.
//
// The zero value is not usable: use [NewEnsemble], [StartEnsemble] or
// [RealEnsemble]. It must not be copied. Its methods may be called from several
// goroutines; the methods that start, stop, pause and cut servers wait for each
// other. A method returns an error if there is no server with the index.
type Ensemble struct {
	java *javazk.Ensemble
}

// NewEnsemble starts n servers, 1 or 3, and returns when all of them serve. They
// keep their files in a new directory below dir, which must exist; the empty dir
// means the directory for temporary files. The error wraps [ErrNoZooKeeper] if no
// ZooKeeper is installed; otherwise it contains the end of the log of the server
// that did not come up. After an error nothing is left.
func NewEnsemble(dir string, n int, opts ...EnsembleOption) (*Ensemble, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("zktest: ensemble of %d servers, want 1 or 3", n)
	}
	installation, err := javazk.Find()
	if err != nil {
		return nil, err
	}
	java, err := javazk.New(dir, n, newEnsembleConfig(opts), installation)
	if err != nil {
		return nil, err
	}
	return &Ensemble{java: java}, nil
}

// Close kills every server, closes the links between them and removes their files.
// It returns the error of removing the files. Further calls do nothing.
func (e *Ensemble) Close() error { return e.java.Close() }

// Servers returns the addresses that clients connect to, as host and port, in the
// order of the servers. The slice is the caller's.
func (e *Ensemble) Servers() []string { return e.java.Servers() }

// Server returns the address that clients of server i connect to. It panics, as an
// index of a slice does, if there is no server i.
func (e *Ensemble) Server(i int) string { return e.java.Server(i) }

// StartEnsemble is [NewEnsemble] in a temporary directory of the test. An error
// ends the test, and the end of the test closes the ensemble. If the test has
// failed, its log gets the last lines of each server's log.
func StartEnsemble(t testing.TB, n int, opts ...EnsembleOption) *Ensemble {
	t.Helper()
	e, err := NewEnsemble(t.TempDir(), n, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for i := range e.java.Size() {
				t.Logf("end of the log of server %d:\n%s", i, e.java.Tail(i, 20))
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// RealEnsemble is [StartEnsemble], but it skips the test if no ZooKeeper is
// installed, with one line that says why. With ZKSYNC_REAL=required in the
// environment it fails the test instead.
func RealEnsemble(t testing.TB, n int, opts ...EnsembleOption) *Ensemble {
	t.Helper()
	if _, err := javazk.Find(); err != nil && os.Getenv("ZKSYNC_REAL") != "required" {
		t.Skipf("SKIPPED, NOT TESTED ON REAL ZOOKEEPER: %v (ZKSYNC_REAL=required makes this a failure)", err)
	}
	return StartEnsemble(t, n, opts...)
}
