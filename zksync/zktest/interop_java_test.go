package zktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// javaProgram compiles a program of testdata, and returns the command that runs it
// without its arguments. Of the jars on the class path the first has to be there.
// packages is what to install where something is missing.
func javaProgram(t *testing.T, class, packages string, jars ...string) []string {
	t.Helper()
	in, err := ensemble.Find() // for its Java, and its client
	if err != nil {
		missing(t, "java", packages)
	}
	var files []string
	for _, name := range jars {
		files = append(files, filepath.Join("/usr/share/java", name+".jar"))
	}
	if _, err := os.Stat(files[0]); err != nil {
		missing(t, jars[0], packages)
	}
	// The compiler is part of Debian's run-time environment, only without a
	// command of its own.
	classes := t.TempDir()
	path := strings.Join(append(files, classes), string(os.PathListSeparator))
	source := filepath.Join("testdata", class+".java")
	out, err := exec.CommandContext(t.Context(), in.Java, "-XX:TieredStopAtLevel=1", "--module", "jdk.compiler/com.sun.tools.javac.Main",
		"-cp", path, "-d", classes, source).CombinedOutput()
	if err != nil && strings.Contains(string(out), "jdk.compiler not found") {
		missing(t, "Java compiler", "default-jdk-headless")
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return []string{in.Java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-XX:-UsePerfData", "-cp", path, class}
}

// TestServerWithJava: ZooKeeper's own client makes the calls that other clients do
// not know, on both servers.
func TestServerWithJava(t *testing.T) {
	suite.Long(t)
	const reap = 50 * time.Millisecond
	command := javaProgram(t, "JavaCalls", "libzookeeper-java and default-jre-headless", "zookeeper", "zookeeper-jute", "slf4j-api")
	calls := func(t *testing.T, addr string) {
		cmd := exec.CommandContext(t.Context(), command[0], append(slices.Clone(command[1:]), addr)...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		ok, others := 0, false
		for line := range strings.Lines(string(out)) {
			t.Log(strings.TrimSpace(line))
			if strings.HasPrefix(line, "ok ") {
				ok++
			} else {
				others = true
			}
		}
		if err != nil || others || ok != 7 {
			t.Errorf("%d of 7 calls, %v\n%s", ok, err, errs.String())
		}
	}
	t.Run("memory", func(t *testing.T) {
		calls(t, zktest.Run(t, zktest.WithSessionLimits(time.Second, time.Minute), zktest.WithReapInterval(reap)).Addr())
	})
	t.Run("real", func(t *testing.T) {
		e := ensemble.Run(t, 1, ensemble.WithReapInterval(reap))
		keepAwake(t, dialTCP(e.Addr(0)))
		calls(t, e.Addr(0))
	})
}
