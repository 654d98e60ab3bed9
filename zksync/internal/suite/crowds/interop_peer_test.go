//go:build unix

package crowds_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Other languages' programs are those of testdata. They need Debian's and
// Ubuntu's packages:
//
//	apt-get install -y --no-install-recommends python3-kazoo libcurator-recipes-java default-jdk-headless
//
// Without these packages the tests are skipped. With ZKSYNC_INTEROP=required in the
// environment they fail.

// missing skips a test that has no peer to run with, or fails it.
func missing(t *testing.T, what, packages string) {
	t.Helper()
	if os.Getenv("ZKSYNC_INTEROP") == "required" {
		t.Fatalf("no %s on this machine: install %s", what, packages)
	}
	t.Skipf("SKIPPED, NOT TESTED WITH %s: not on this machine; install %s (ZKSYNC_INTEROP=required makes this a failure)",
		strings.ToUpper(what), packages)
}

// language is how a program that speaks the workers' words is started, with
// the file for its lines behind.
type language struct {
	command []string
	env     string
	lacking func(t *testing.T) // ends a test that needs it; nil if it is there
}

func (l language) need(t *testing.T) {
	t.Helper()
	if l.lacking != nil {
		l.lacking(t)
	}
}

// goLanguage is this very program.
func goLanguage() language {
	return language{command: []string{os.Args[0]}, env: "ZKSYNC_TEST_ROLE=interop"}
}

func kazooLanguage(t *testing.T) language {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import kazoo").Run() == nil {
			return language{command: []string{python, filepath.Join("testdata", "kazoo_worker.py")}}
		}
	}
	return language{lacking: func(t *testing.T) { missing(t, "kazoo", "python3-kazoo") }}
}

func curatorLanguage(t *testing.T) language {
	t.Helper()
	lacks := func(what, packages string) language {
		return language{lacking: func(t *testing.T) { missing(t, what, packages) }}
	}
	const packages = "libcurator-recipes-java and default-jre-headless"
	in, err := ensemble.Find() // whose client Curator needs
	if err != nil {
		return lacks("curator", packages)
	}
	var jars []string
	for _, name := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
		"guava", "failureaccess", "slf4j-api"} {
		jars = append(jars, filepath.Join("/usr/share/java", name+".jar"))
	}
	if _, err := os.Stat(jars[0]); err != nil {
		return lacks("curator", packages)
	}
	// The compiler is part of Debian's run-time environment, only without a
	// command of its own.
	classes := t.TempDir()
	path := strings.Join(append(jars, classes), string(os.PathListSeparator))
	source := filepath.Join("testdata", "CuratorWorker.java")
	out, err := exec.CommandContext(t.Context(), in.Java, "-XX:TieredStopAtLevel=1", "--module", "jdk.compiler/com.sun.tools.javac.Main",
		"-cp", path, "-d", classes, source).CombinedOutput()
	if err != nil && strings.Contains(string(out), "jdk.compiler not found") {
		return lacks("Java compiler", "default-jdk-headless")
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return language{command: []string{in.Java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-XX:-UsePerfData",
		"-cp", path, "CuratorWorker"}}
}

// worker is a program in a process of its own, which reads what to do line
// by line.
type worker struct {
	suite.Child
	in   io.Writer
	errs *bytes.Buffer
}

// startWorker starts a program, and ends it with the test.
func startWorker(t *testing.T, l language, file string) *worker {
	t.Helper()
	cmd := exec.Command(l.command[0], append(l.command[1:len(l.command):len(l.command)], file)...)
	n := &worker{Child: suite.Child{Cmd: cmd, Lines: make(chan string, 100)}, errs: new(bytes.Buffer)}
	if l.env != "" {
		cmd.Env = append(os.Environ(), l.env)
	}
	cmd.Stderr, cmd.SysProcAttr = n.errs, suite.DieWithParent()
	in, err := cmd.StdinPipe()
	suite.Must(t, err)
	out, err := cmd.StdoutPipe()
	suite.Must(t, err)
	suite.Must(t, cmd.Start())
	n.in = in
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n.Lines <- lines.Text()
		}
		close(n.Lines)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		for range n.Lines {
		}
		<-ended
		if text := n.errs.String(); t.Failed() && text != "" {
			t.Logf("the end of what %s says on its standard error:\n%s", cmd.Path, text[max(0, len(text)-3000):])
		}
	})
	return n
}

func (n *worker) tell(t *testing.T, words ...any) {
	t.Helper()
	_, err := fmt.Fprintln(n.in, words...)
	suite.Must(t, err)
}

// answers waits for the next line, which begins with a word, and returns the rest.
func (n *worker) answers(t *testing.T, word string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), workerPatience)
	defer cancel()
	rest, err := n.Says(ctx, word)
	suite.Must(t, err)
	return rest
}

// workerPatience bounds what a program is asked for, on a machine that is busy
// with starting many.
const workerPatience = 90 * time.Second
