package zktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
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
	in, err := ensemble.Find() // whose client Curator needs
	if err != nil {
		missing(t, "curator", packages)
	}
	const dir = "/usr/share/java"
	var jars []string
	for _, name := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
		"guava", "failureaccess", "slf4j-api"} {
		jars = append(jars, filepath.Join(dir, name+".jar"))
	}
	if _, err := os.Stat(jars[0]); err != nil {
		missing(t, "curator", packages)
	}
	// The compiler is part of Debian's run-time environment, only without a
	// command of its own.
	classes := t.TempDir()
	path := strings.Join(append(jars, classes), string(os.PathListSeparator))
	source := filepath.Join("testdata", "CuratorLocks.java")
	out, err := exec.CommandContext(t.Context(), in.Java, "-XX:TieredStopAtLevel=1", "--module", "jdk.compiler/com.sun.tools.javac.Main",
		"-cp", path, "-d", classes, source).CombinedOutput()
	if err != nil && strings.Contains(string(out), "jdk.compiler not found") {
		missing(t, "Java compiler", "default-jdk-headless")
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	runPeers(t, "/curator/expire", in.Java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-XX:-UsePerfData",
		"-cp", path, "CuratorLocks")
}
