package javazk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is in zoo.cfg: the caller's lines, then the ensemble's own, with the links
// to the others in place of their ports.
func TestZooConfig(t *testing.T) {
	e := startFake(t, 3)
	e.config.Lines["dataDir"] = "not the caller's"
	e.config.Lines["extra"] = "yes"
	s := e.servers[1]
	text := e.zooConfig(s, "/data")
	for _, want := range []string{
		"\ndataDir=/data\n", "\nextra=yes\n", "\nclientPort=" + strings.TrimPrefix(address(s.client), "127.0.0.1:") + "\n",
		"\nserver.1=" + e.links[[2]int{1, 0}].quorum.Addr() + ":", "\nserver.2=" + address(s.quorum) + ":",
		"\nserver.3=" + e.links[[2]int{1, 2}].quorum.Addr() + ":", "\nstandaloneEnabled=false\n",
	} {
		if !strings.Contains("\n"+text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if !slices.IsSorted(lines) {
		t.Errorf("lines in no order:\n%s", text)
	}
	if id, err := os.ReadFile(filepath.Join(s.dir, "data", "myid")); string(id) != "2\n" || err != nil {
		t.Errorf("myid %q, %v", id, err)
	}
	e.config.Flags = append(e.config.Flags, "-Dmine=1")
	e.installation.ClassPath = []string{"a.jar", "b.jar"}
	cmd := e.command(s)
	own, mine := slices.Index(cmd.Args, "-Xmx256m"), slices.Index(cmd.Args, "-Dmine=1")
	if own < 0 || mine < own || cmd.Dir != s.dir {
		t.Errorf("command %q in %s", cmd.Args, cmd.Dir)
	}
	if path := "a.jar" + string(os.PathListSeparator) + "b.jar"; !slices.Contains(cmd.Args, path) {
		t.Errorf("no class path %s in %q", path, cmd.Args)
	}
}

func TestPorts(t *testing.T) {
	seen := make(map[int]bool)
	for range 50 {
		port, err := PickPort()
		must(t, err)
		if seen[port] || port < firstPort || port >= lastPort {
			t.Errorf("port %d", port)
		}
		seen[port] = true
	}
	for port := range seen {
		ports.release(port)
	}
	for port := range seen {
		if _, used := ports.used[port]; used {
			t.Errorf("port %d is still in use", port)
		}
	}
}
