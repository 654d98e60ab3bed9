package ensemble

import (
	"fmt"
	"os"
	"testing"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble/internal/javazk"
)

// ErrClosed is returned by the methods of an [Ensemble] after Close.
var ErrClosed = javazk.ErrClosed

// Ensemble is one or three real ZooKeeper servers on loopback. Its methods name a
// server by its index, from 0; ZooKeeper's own id of the server is one more.
//
// The zero value is not usable: use [Run] or [New]. It must not be copied. Its
// methods may be called from several goroutines; the methods that start, stop, pause
// and cut servers wait for each other. A method returns an error if there is no
// server with the index.
type Ensemble struct {
	java *javazk.Ensemble
}

// New starts n servers, 1 or 3, and returns when all of them serve. They
// keep their files in a new directory below dir, which must exist; the empty dir
// means the directory for temporary files. The error wraps [ErrNoZooKeeper] if no
// ZooKeeper is installed; otherwise it contains the end of the log of the server
// that did not come up. After an error nothing is left.
func New(dir string, n int, opts ...Option) (*Ensemble, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("ensemble: %d servers, want 1 or 3", n)
	}
	installation, err := javazk.Find()
	if err != nil {
		return nil, err
	}
	java, err := javazk.New(dir, n, newConfig(opts), installation)
	if err != nil {
		return nil, err
	}
	return &Ensemble{java: java}, nil
}

// Close kills every server, closes the links between them and removes their files.
// It returns the error of removing the files. Further calls do nothing.
func (e *Ensemble) Close() error { return e.java.Close() }

// Addrs returns the addresses that clients connect to, as host and port, in the
// order of the servers. The slice is the caller's.
func (e *Ensemble) Addrs() []string { return e.java.Servers() }

// Addr returns the address that clients of server i connect to. It panics, as an
// index of a slice does, if there is no server i.
func (e *Ensemble) Addr(i int) string { return e.java.Server(i) }

// Run starts n servers, 1 or 3, for a test, and closes them when the test ends. It
// returns when all of them serve. Their files are in a temporary directory of the
// test. If the test has failed, its log gets the last lines of each server's log.
//
// Run skips the test if no ZooKeeper is installed, with one line that says why. With
// ZKSYNC_REAL=required in the environment it fails the test instead. Any other error
// ends the test as a failure.
func Run(t testing.TB, n int, opts ...Option) *Ensemble {
	t.Helper()
	if _, err := javazk.Find(); err != nil && os.Getenv("ZKSYNC_REAL") != "required" {
		t.Skipf("SKIPPED, NOT TESTED ON REAL ZOOKEEPER: %v (ZKSYNC_REAL=required makes this a failure)", err)
	}
	e, err := New(t.TempDir(), n, opts...)
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
