// Command zksync brings the locks of package zksync to the shell.
//
//	zksync run [flags] LOCK -- COMMAND [ARG...]
//
// runs COMMAND while it holds the lock LOCK, a path in ZooKeeper, and exits
// with COMMAND's exit code. "zksync run --help" lists the flags and the exit
// codes.
//
//	zksync demo
//
// shows a lock at work, with a ZooKeeper of its own, and what happens to it when
// a holder is killed or cut off.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
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
	var exit *exitError
	if errors.As(err, &exit) && exit.code != exitUsage {
		if exit.err != nil {
			fmt.Fprintln(stderr, "zksync:", exit)
		}
		return exit.code
	}
	// What is no exitError comes from cobra, which only reads command lines.
	fmt.Fprintf(stderr, "zksync: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "zksync",
		Short: "Distributed locks on ZooKeeper, for the shell",
		Long: "zksync brings distributed locks on ZooKeeper to the shell.\n" +
			"\"zksync demo\" shows one at work, in ten seconds and without a ZooKeeper.\n" +
			"\"zksync run --help\" tells what run does, its flags and its exit codes.",
		Example: "  zksync demo\n" +
			"  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly -- ./backup.sh",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate("zksync {{.Version}}\n")
	root.AddCommand(newRun(), newDemo(), newWorker())
	return root
}

// version says which zksync this is, as the Go toolchain recorded it.
func version() string {
	v := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	return fmt.Sprintf("%s (%s %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
