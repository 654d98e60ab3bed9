package zktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
)

// Locks of other languages run on the embedded server and on a real one, with the
// same checks. They need Debian's and Ubuntu's packages:
//
//	apt-get install -y --no-install-recommends python3-kazoo libcurator-recipes-java default-jre-headless
//
// Where there are none the tests are left out, or with ZKSYNC_INTEROP=required in
// the environment they fail.

// missing skips a test that has no peer to run with, or fails it.
func missing(t *testing.T, what, packages string) {
	t.Helper()
	if os.Getenv("ZKSYNC_INTEROP") == "required" {
		t.Fatalf("no %s on this machine: install %s", what, packages)
	}
	t.Skipf("SKIPPED, NOT TESTED WITH %s: not on this machine; install %s (ZKSYNC_INTEROP=required makes this a failure)",
		strings.ToUpper(what), packages)
}

// TestServerWithKazoo: Python's Lock, ReadLock and WriteLock, and Semaphore.
func TestServerWithKazoo(t *testing.T) {
	suite.Long(t)
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import kazoo").Run() == nil {
			runPeers(t, "/kazoo/expire", python, filepath.Join("testdata", "kazoo_locks.py"))
			return
		}
	}
	missing(t, "kazoo", "python3-kazoo")
}

// TestServerWithCurator: Java's InterProcessMutex, InterProcessReadWriteLock and
// InterProcessSemaphoreV2.
func TestServerWithCurator(t *testing.T) {
	suite.Long(t)
	const packages = "libcurator-recipes-java and default-jre-headless"
	command := javaProgram(t, "CuratorLocks", packages, "curator-recipes", "curator-framework", "curator-client", "zookeeper",
		"zookeeper-jute", "guava", "failureaccess", "slf4j-api")
	runPeers(t, "/curator/expire", command[0], command[1:]...)
}
