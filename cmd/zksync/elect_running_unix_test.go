//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
	"github.com/zklocker/go-zksync/zksync"
)

// roleDropped is the role of the command that becomes another user when file descriptor 3
// ends, and then may not signal what it has started before.
const roleDropped = "zksync of another user's"

func mainDropped() {
	syscall.CloseOnExec(3)
	go func() {
		os.NewFile(3, "drop").Read(make([]byte, 1))
		if err := syscall.Setuid(65534); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, "dropped")
	}()
	main()
}

// A leader's command that can't be ended is told loudly, with the number that an operator
// needs. zksync stands again, and ends with the exit code of its next command.
func TestElectOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	beside(t)
	lock := lockPath(t)
	p := proctest.Prepare(t, roleDropped, "elect", "--servers", zookeeper(t).addr, "--grace", "0.2", lock, "--",
		"sh", "-c", "trap 'exit 3' TERM; echo pid $$; echo node $ZKSYNC_NODE; "+proctest.Loop)
	r, drop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.ExtraFiles = []*os.File{r}
	p.Start()
	r.Close()
	node := told(t, p, 1, "node ")
	command, err := strconv.Atoi(told(t, p, 1, "pid "))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-command, syscall.SIGKILL)
	drop.Close()
	p.Err.Await(t, "dropped")
	if err := client(t).Delete(node, -1); err != nil {
		t.Fatal(err)
	}
	reason := p.Err.Await(t, fmt.Sprintf("zksync: %s was lost, and the command STILL RUNS WITHOUT THE LOCK (process group %d): ", lock, command))
	if reason != "it runs as another user, and zksync may not kill it: the lock's node was deleted" {
		t.Errorf("the line ends with %q", reason)
	}
	told(t, p, 2, "node ")
	if !proctest.Alive(command) {
		t.Error("the first command was ended")
	}
	p.Signal(syscall.SIGTERM)
	p.WantCode(3)
	if said := p.Err.String(); !strings.Contains(said, "zksync: stands for "+lock+" again\n") || strings.Count(said, "STILL RUNS") != 1 {
		t.Errorf("stderr %q", said)
	}
}

// The line about a command that still runs comes once: at once if zksync stands again, and
// as its last line if it was told to end.
func TestElectEndedWhileItRuns(t *testing.T) {
	lost := fmt.Errorf("%w: the lock's node was deleted", zksync.ErrLost)
	for _, sig := range []os.Signal{nil, os.Interrupt} {
		var said bytes.Buffer
		e := &elector{name: "/e", lostCode: 80, out: printer.New(&said, true), told: sig, atWork: sig != nil}
		if err := e.ended(job.End{Lost: lost, Running: 42}, nil); !errors.Is(err, zksync.ErrLost) {
			t.Errorf("ended returns %v", err)
		}
		if sig != nil {
			var code *exit.Error
			if err := e.result(lost); !errors.As(err, &code) || code.Code != 80 {
				t.Errorf("result %v", err)
			}
		}
		e.out.Close()
		if want := "zksync: /e was lost, and the command STILL RUNS WITHOUT THE LOCK (process group 42): " +
			"it runs as another user, and zksync may not kill it: the lock's node was deleted\n"; said.String() != want {
			t.Errorf("told to end: %v, said %q, want %q", sig != nil, said.String(), want)
		}
	}
}
