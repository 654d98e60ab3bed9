package job_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// roleReaper is a job that gets the orphans of its command, as process 1 of a container
// does.
const roleReaper = "job as process 1"

func init() {
	roles[roleReaper] = func() {
		must(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		roles[roleJob]()
	}
}

// pid returns the number that a process prints after "pid ".
func pid(t *testing.T, p *proctest.Process) int {
	t.Helper()
	n, err := strconv.Atoi(p.Out.Await(t, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An orphan that has ended does not stay as a zombie while the command runs.
func TestJobReapsOrphans(t *testing.T) {
	p, _ := newCommandJob(t, roleReaper, "1s", "/bin/sh", "-c", "(sleep 60 & echo pid $!); read line; exit 4")
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	orphan := pid(t, p)
	if err := syscall.Kill(orphan, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	proctest.Eventually(t, "the orphan to be gone", func() bool { return proctest.State(orphan) == 0 })
	stdin.Close()
	p.WantCode(4)
}

// A command that runs as another user can't be ended. The job does not wait for it, and
// says so.
func TestJobOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	p, lose := newCommandJob(t, roleDropped, "100ms", "/bin/sh", "-c", "echo pid $$; exec sleep 60")
	p.Start()
	command := pid(t, p)
	defer syscall.Kill(command, syscall.SIGKILL)
	lose()
	p.WantCode(exit.Lost)
	p.Err.Await(t, "process group "+strconv.Itoa(command)+" runs")
	if !proctest.Alive(command) {
		t.Error("the command was ended")
	}
}
