// Command zksync brings the locks of package zksync to the shell.
//
//	zksync run [flags] LOCK -- COMMAND [ARG...]
//
// runs COMMAND while it holds the lock LOCK, a path in ZooKeeper, and exits
// with COMMAND's exit code. "zksync run --help" lists the flags and the exit
// codes.
//
//	zksync bench
//
// measures locks on the user's ZooKeeper, beside go-zookeeper's own lock.
//
//	zksync demo
//
// shows a lock at work on a ZooKeeper of its own, and what happens to the lock
// when a holder is killed or cut off.
//
// This package reads command lines, and takes and gives back the lock. Package
// job runs COMMAND and ends it when the lock is lost, bench measures, demo is the
// demo, printer writes to stderr, process deals with signals, and exit has the
// exit codes. None of them knows flags; none but bench and demo knows ZooKeeper.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

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
			"\"zksync run --help\" describes the command run, its flags and its exit codes.",
		Example: "  zksync demo\n" +
			"  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly -- ./backup.sh",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("zksync {{.Version}}\n")
	root.AddCommand(newRun(), newBench(), newDemo(), newWorker())
	return root
}

// version returns the version of zksync that the Go toolchain recorded.
func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s (%s %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
