//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// programs is where the programs with other libraries are.
const programs = "../../zksync/zktest/testdata"

// missing skips a test that has no program to run with, or fails it.
func missing(t *testing.T, what, packages string) {
	t.Helper()
	if os.Getenv("ZKSYNC_INTEROP") == "required" {
		t.Fatalf("no %s on this machine: install %s", what, packages)
	}
	t.Skipf("SKIPPED, NOT TESTED WITH %s: install %s (ZKSYNC_INTEROP=required makes this a failure)", strings.ToUpper(what), packages)
}

// kazoo returns the Python that has kazoo.
func kazoo(t *testing.T) (python string) {
	t.Helper()
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), p, "-c", "import kazoo").Run() == nil {
			return p
		}
	}
	missing(t, "kazoo", "python3-kazoo")
	return ""
}

// curator returns the Java and the class path for a program with Curator.
func curator(t *testing.T) (java, path string) {
	t.Helper()
	const packages = "libcurator-recipes-java and default-jre-headless"
	in, err := ensemble.Find() // whose client Curator needs
	if err != nil {
		missing(t, "curator", packages)
	}
	var jars []string
	for _, name := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute", "guava", "failureaccess", "slf4j-api"} {
		jars = append(jars, filepath.Join("/usr/share/java", name+".jar"))
	}
	if _, err := os.Stat(jars[0]); err != nil {
		missing(t, "curator", packages)
	}
	return in.Java, strings.Join(jars, string(os.PathListSeparator))
}

// foreign starts a program with another library, which holds a lock when foreign
// returns.
func foreign(t *testing.T, command string, args ...string) {
	t.Helper()
	cmd := exec.Command(command, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 10)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range said {
		}
		_ = cmd.Wait() // it was killed
	})
	for _, want := range []string{"ready", "holding "} {
		select {
		case line := <-said:
			if !strings.HasPrefix(line, want) {
				t.Fatalf("the program says %q, want %q", line, want)
			}
		case <-time.After(3 * proctest.Limit):
			t.Fatalf("no %q from the program", want)
		}
		if want == "ready" {
			fmt.Fprintln(in, "hold")
		}
	}
}

// handles looks at a lock that a program with another library holds, asks for it, and
// takes it away.
func handles(t *testing.T, z *site, lock, form string) {
	t.Helper()
	s := z.dial(t, zksync.WithIdentity("ours"))
	waits := wait(t, zksync.NewMutex(s, lock))
	q := z.inLine(t, s, lock, 2)
	c := clientOf(t, z)
	data, _, err := c.Get(q.Nodes[0].Node)
	if err != nil {
		t.Fatal(err)
	}
	unnamed := fmt.Sprintf("no name (%s, session %#x)", form, uint64(q.Nodes[0].Session))
	who := string(data)
	if who == "" { // the address of a host that has none
		who = unnamed
	}
	out, _ := z.says(t, 0, "show", lock)
	for _, want := range []string{lock + ": mutex, 1 holds, 1 waits\n", "1          " + who + "\n", "2 -> 1     ours on "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out, _ = z.says(t, 0, "ls", "-o", "json", lock)
	var list view.List
	document(t, "list", out, &list)
	if len(list.Locks) != 1 || list.Locks[0].Waiters != 1 || list.Locks[0].Holder.Form != form {
		t.Errorf("%+v", list)
	}
	z.says(t, 0, "revoke", lock)
	data, _, err = c.Get(q.Nodes[0].Node)
	if err != nil || string(data) != "__REVOKE__" {
		t.Errorf("the node's data is %q, %v", data, err)
	}
	out, _ = z.says(t, 0, "break", "--yes", lock)
	if !strings.Contains(out, "broken: "+unnamed) || !strings.Contains(out, "\nnext: ours on ") {
		t.Errorf("stdout %q", out)
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
}

func TestKazoosLocks(t *testing.T) {
	python := kazoo(t)
	onBoth(t, func(t *testing.T, z *site) {
		foreign(t, python, filepath.Join(programs, "kazoo_locks.py"), z.addr, filepath.Join(t.TempDir(), "held"))
		handles(t, z, "/kazoo/expire", "kazoo")
	})
}

func TestCuratorsLocks(t *testing.T) {
	long(t)
	java, path := curator(t)
	classes := t.TempDir()
	path += string(os.PathListSeparator) + classes
	out, err := exec.Command(java, "-XX:TieredStopAtLevel=1", "--module", "jdk.compiler/com.sun.tools.javac.Main",
		"-cp", path, "-d", classes, filepath.Join(programs, "CuratorLocks.java")).CombinedOutput()
	if err != nil && strings.Contains(string(out), "jdk.compiler not found") {
		missing(t, "Java compiler", "default-jdk-headless")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	onBoth(t, func(t *testing.T, z *site) {
		foreign(t, java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-XX:-UsePerfData",
			"-cp", path, "CuratorLocks", z.addr, filepath.Join(t.TempDir(), "held"))
		handles(t, z, "/curator/expire", "curator")
	})
}
