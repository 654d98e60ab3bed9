package zktest

import (
	"fmt"
	"os"
	"testing"

	"github.com/zklocker/go-zksync/zksync/zktest/internal/javazk"
)

// ErrEnsembleClosed is returned when a method is called on an [Ensemble] after
// Close.
var ErrEnsembleClosed = javazk.ErrClosed

// Ensemble is one or three real ZooKeeper servers on loopback. Servers are named
// by their index, from 0; ZooKeeper's own id of a server is one more.
//
// The zero value is not usable: use [NewEnsemble], [StartEnsemble] or
// [RealEnsemble]. It must not be copied. Its methods may be called from several
// goroutines; those that start, stop, pause and cut servers wait for each other.
// A method that is given an index of no server returns an error.
type Ensemble struct {
	java *javazk.Ensemble
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

// Close kills every server, closes the ways between them and removes their
// files. The error is that of removing. Further calls do nothing.
func (e *Ensemble) Close() error { return e.java.Close() }

// Servers returns the addresses clients connect to, as host and port, in the
// order of the servers. The slice is the caller's.
func (e *Ensemble) Servers() []string { return e.java.Servers() }

// Server returns one server's address for clients. It panics, as a slice does,
// when there is no server i.
func (e *Ensemble) Server(i int) string { return e.java.Server(i) }

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

// RealEnsemble is [StartEnsemble], but skips the test, with one line that says
// why, where no ZooKeeper is installed. With ZKSYNC_REAL=required in the
// environment it ends the test with an error there too.
func RealEnsemble(t testing.TB, n int, opts ...EnsembleOption) *Ensemble {
	t.Helper()
	if _, err := javazk.Find(); err != nil && os.Getenv("ZKSYNC_REAL") != "required" {
		t.Skipf("SKIPPED, NOT TESTED ON REAL ZOOKEEPER: %v (ZKSYNC_REAL=required makes this a failure)", err)
	}
	return StartEnsemble(t, n, opts...)
}
