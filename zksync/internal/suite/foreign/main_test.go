//go:build unix

package foreign

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestMain(m *testing.M) {
	suite.Roles["server"] = actAsServer
	suite.Main(m)
}

// kinds are the servers that a suite runs on.
var kinds = []string{"real", "zktest"}

// For whoever looks into a difference: a part of a suite, on one kind of servers. Then
// nothing is compared.
var (
	only  = flag.String("foreign.on", "", "run on this kind of servers only: real or zktest")
	match = flag.String("foreign.run", "", "run only the tests and classes whose names match this regular expression")
)

// chosen returns the kinds of servers that are asked for.
func chosen() []string {
	if *only != "" {
		return []string{*only}
	}
	return kinds
}

// matching returns the names that are asked for.
func matching(t *testing.T, names []string) []string {
	t.Helper()
	re, err := regexp.Compile(*match)
	suite.Must(t, err)
	return slices.DeleteFunc(names, func(name string) bool { return !re.MatchString(name) })
}

// servers is where one run of a suite gets its servers from.
type servers struct {
	bin string   // a directory with the commands "java" and "zkServer.sh"
	env []string // for the processes of the suite
}

// serversOf prepares the commands that start servers of a kind. The delay is one of
// embedded servers.
func serversOf(t *testing.T, kind string, in ensemble.Installation, delay time.Duration) servers {
	t.Helper()
	self, err := os.Executable()
	suite.Must(t, err)
	s := servers{bin: t.TempDir()}
	for _, name := range []string{"java", "zkServer.sh"} {
		suite.Must(t, os.Symlink(self, filepath.Join(s.bin, name)))
	}
	s.env = append(os.Environ(), "ZKSYNC_TEST_ROLE=server", "PATH="+s.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"ZOOKEEPER_BIN_PATH="+s.bin)
	if kind == "real" {
		s.env = append(s.env, realEnv(in)...)
	} else {
		s.env = append(s.env, stageEnv(openStage(t, delay))...)
	}
	return s
}

// missing skips a test that has no suite to run, or fails it.
func missing(t *testing.T, what, packages string) {
	t.Helper()
	if os.Getenv("ZKSYNC_INTEROP") == "required" {
		t.Fatalf("no %s on this machine: install %s", what, packages)
	}
	t.Skipf("SKIPPED, %s NOT RUN: not on this machine; install %s (ZKSYNC_INTEROP=required makes this a failure)", what, packages)
}

// needReal returns the real ZooKeeper that the embedded one is compared with.
func needReal(t *testing.T) ensemble.Installation {
	t.Helper()
	suite.Long(t)
	in, err := ensemble.Find()
	if err != nil {
		missing(t, "real ZooKeeper", "zookeeper")
	}
	return in
}

// command is exec.Command for a process that ends with the test.
func command(t *testing.T, env []string, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, dir, suite.DieWithParent()
	return cmd
}
