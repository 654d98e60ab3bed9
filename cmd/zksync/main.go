// Command zksync brings the locks of package zksync to the shell.
//
//	zksync run [flags] LOCK COMMAND [ARG...]
//
// runs COMMAND while it holds the lock LOCK, a path in ZooKeeper, and exits
// with COMMAND's exit code. "zksync run --help" lists the flags and the exit
// codes.
//
//	zksync ls [ROOT]
//	zksync show LOCK
//	zksync watch LOCK | ROOT
//	zksync revoke LOCK
//	zksync break LOCK
//	zksync deadlocks [ROOT]
//
// show an operator who holds which lock and who waits for it, and deal with a lock
// that is stuck.
//
//	zksync bench
//
// measures locks on the user's ZooKeeper, beside go-zookeeper's own lock.
//
//	zksync elect [flags] NAME [--] COMMAND [ARG...]
//
// runs COMMAND on one of all the machines that name the election NAME, and on
// another one when that fails.
//
//	zksync serve
//
// runs a ZooKeeper in memory, which keeps nothing, for tests in any language.
//
//	zksync doctor
//
// examines an ensemble, and says what to do about it.
//
//	zksync demo
//
// shows a lock at work on a ZooKeeper of its own, and what happens to the lock
// when a holder is killed or cut off.
//
// A new command is tested by scripts in testdata/script, which run on the embedded
// server and on a real one. TestScripts says what a script finds.
//
// This package reads command lines, and takes and gives back the lock. Package
// job runs COMMAND and ends it when the lock is lost, bench measures, demo is the
// demo, view has the documents and words about locks, table and text print for a
// person, screen is the full-screen view, printer writes to stderr, process deals
// with signals, exit has the exit codes, and doctor examines. None of them knows
// flags; none but bench, demo and doctor makes requests to ZooKeeper.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// execute runs the command line and returns the exit code.
func execute(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	var e *exit.Error
	if errors.As(err, &e) && e.Code != exit.Usage {
		if e.Err != nil {
			fmt.Fprintln(stderr, "zksync:", e)
		}
		return e.Code
	}
	// All other errors are cobra's, and cobra only reads command lines.
	fmt.Fprintf(stderr, "zksync: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
	return exit.Usage
}

// newRoot returns the root of the command line, with all commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "zksync",
		Short: "Distributed locks on ZooKeeper, for the shell",
		Long: "zksync brings distributed locks on ZooKeeper to the shell.\n" +
			"\"zksync demo\" shows a lock at work: it needs ten seconds and no ZooKeeper.\n" +
			"\"zksync bench\" measures locks on a ZooKeeper of yours.\n" +
			"\"zksync doctor\" examines your servers, and says what to do about them.\n" +
			"\"zksync serve\" is a ZooKeeper in memory, for tests: it keeps nothing.\n" +
			"\"zksync run --help\" describes the command run, its flags and its exit codes.\n" +
			"For a lock that is stuck there are ls, show, watch, deadlocks, revoke and break.",
		Example: "  zksync demo\n" +
			"  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly ./backup.sh",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(suggestFlag)
	root.SetVersionTemplate("zksync {{.Version}}\n")
	root.AddCommand(newRun(), newElect(), newBench(), newServe(), newDoctor(), newDemo(), newWorker())
	root.AddCommand(newLs(), newShow(), newRevoke(), newBreak(), newDeadlocks(), newWatch(), newMan(), newVersion())
	return root
}
