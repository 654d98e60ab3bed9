package ensemble_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// alive reports whether a process runs. One that has ended and that nobody has
// asked for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z"))
}

const childEnv = "ZKTEST_CHILD"

// TestChild is the body of the processes that TestNothingOutlives starts. Started
// in any other way it does nothing.
func TestChild(t *testing.T) {
	how := os.Getenv(childEnv)
	if how == "" {
		return
	}
	e := ensemble.Run(t, 1)
	fmt.Printf("\nserver %d\n", e.Pids()[0])
	switch how {
	case "hangs":
		select {}
	case "panics":
		panic("on purpose")
	case "fails":
		t.Fatal("on purpose")
	case "exits":
		os.Exit(3)
	}
}

// However a test process ends, its servers end with it; and where the end is not
// outright, their files are gone.
func TestNothingOutlives(t *testing.T) {
	suite.Long(t)
	needZooKeeper(t)
	for _, test := range []struct {
		how   string
		files bool // files may stay
	}{{"hangs", true}, {"exits", true}, {"panics", false}, {"fails", false}} {
		t.Run(test.how, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
			cmd.Env = append(os.Environ(), childEnv+"="+test.how, "TMPDIR="+dir)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			pid := 0
			lines := bufio.NewScanner(out)
			for pid == 0 && lines.Scan() {
				if text, ok := strings.CutPrefix(lines.Text(), "server "); ok {
					_, err := fmt.Sscan(text, &pid)
					must(t, err)
				}
			}
			if test.how == "hangs" {
				if !alive(pid) {
					t.Error("no server")
				}
				must(t, cmd.Process.Kill())
			}
			for lines.Scan() { // to the end
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the process ended well")
			}
			if pid == 0 {
				t.Fatal("no server was started")
			}
			eventually(t, "server gone", 5*time.Second, func() bool { return !alive(pid) })
			left, err := os.ReadDir(dir)
			must(t, err)
			if len(left) != 0 && !test.files {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
