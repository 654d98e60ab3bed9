package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync"
)

// runner is one "zksync run".
type runner struct {
	config
	nonblock bool
	wait     seconds
	waitSet  bool
	conflict int
	lostCode int
	quiet    bool
	trace    bool
	grace    seconds

	lock string
	argv []string
	sigs chan os.Signal
	out  *printer.Printer

	// These are set by acquire, as far as it gets.
	session *zksync.Session
	hold    *zksync.Hold
}

// newRun returns the command "run".
func newRun() *cobra.Command {
	r := &runner{conflict: exit.Conflict, lostCode: exit.Lost, grace: seconds(10 * time.Second)}
	cmd := &cobra.Command{
		Use:                   "run [flags] LOCK -- COMMAND [ARG...]",
		Short:                 "Run a command while holding a lock",
		Long:                  runLong,
		Example:               runExample,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.parse(cmd, args); err != nil {
				return err
			}
			return r.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVarP(&r.nonblock, "nonblock", "n", false, "do not wait for the lock")
	f.VarP(&r.wait, "timeout", "w", "wait for the lock at most this long: 90s, 1m30s, 5 or 0.5 (seconds); 0 means -n")
	f.VarP(exitCode{&r.conflict, 0}, "conflict-exit-code", "E", "exit code if -n or -w did not obtain the lock")
	f.Var(exitCode{&r.lostCode, 1}, "lost-exit-code", "exit code if the lock was lost while the command ran")
	f.Var(&r.grace, "grace", "time from SIGTERM to SIGKILL when the lock is lost")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "print errors only")
	f.BoolVar(&r.trace, "trace", false, "print the OpenTelemetry spans of the lock on stderr, as lines of JSON")
	r.config.addFlags(f)
	return cmd
}

// parse checks the command line.
func (r *runner) parse(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case len(args) == 0:
		return exit.Usagef("no LOCK and no COMMAND")
	case dash < 0 || dash > 1:
		return exit.Usagef("want one LOCK, then --, then the command: zksync run %s -- COMMAND", args[0])
	case dash == 0:
		return exit.Usagef("no LOCK before --")
	case len(args) == 1:
		return exit.Usagef("no COMMAND after --")
	case !strings.HasPrefix(args[0], "/"):
		return exit.Usagef("LOCK %q is not a path: it must start with a slash, as in /locks/%s", args[0], args[0])
	}
	r.lock, r.argv = args[0], args[1:]
	r.waitSet = cmd.Flags().Changed("timeout")
	if r.waitSet && r.nonblock {
		return exit.Usagef("-n does not wait, so there is no -w with it")
	}
	if r.waitSet && r.wait == 0 {
		r.nonblock, r.waitSet = true, false // as for flock
	}
	return nil
}

// run takes the lock, runs the command and gives the lock back.
func (r *runner) run() error {
	servers, opts, err := r.dialArgs()
	if err != nil {
		return err
	}
	path, err := job.Find(r.argv[0])
	if err != nil {
		return err
	}
	if r.identity == "" {
		opts = append(opts, zksync.WithIdentity(filepath.Base(path)))
	}
	r.out = printer.New(os.Stderr, r.quiet)
	defer r.out.Close()
	r.sigs = process.CatchSignals()

	if err := r.obtain(servers, opts); err != nil {
		return r.print(err)
	}
	j := &job.Job{
		Path: path, Args: r.argv, Env: r.environ(),
		Lock: r.lock, Hold: r.hold, Grace: time.Duration(r.grace),
		Signals: r.sigs, Out: r.out,
	}
	end, err := j.Run()
	if lost := r.giveBack(); end.Lost == nil {
		end.Lost = lost
	}
	switch {
	case err != nil:
		return r.print(err)
	case end.Lost != nil:
		return r.print(&exit.Error{Code: r.lostCode, Err: fmt.Errorf("%s was lost while the command ran (exit code %d of its own): %s",
			r.lock, end.Code, job.Reason(end.Lost))})
	case end.Code != 0:
		return &exit.Error{Code: end.Code}
	}
	return nil
}

// print prints err through the printer, so that it follows the lines before it,
// and returns an error that main does not print again. Usage errors it leaves to
// main.
func (r *runner) print(err error) error {
	var e *exit.Error
	if !errors.As(err, &e) || e.Code == exit.Usage {
		return err
	}
	if e.Err != nil {
		r.out.Errorf("%v", e)
	}
	return &exit.Error{Code: e.Code}
}

// environ returns the command's environment. The variables that describe the
// lock replace those of another zksync run around this one.
func (r *runner) environ() []string {
	ours := []string{
		"ZKSYNC_LOCK=" + r.lock,
		"ZKSYNC_NODE=" + r.hold.Node(),
		"ZKSYNC_FENCE=" + strconv.FormatInt(r.hold.Fence(), 10),
		"ZKSYNC_SESSION=" + fmt.Sprintf("%#x", uint64(r.session.ID())),
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(ours, func(our string) bool {
			key, _, _ := strings.Cut(our, "=")
			return strings.HasPrefix(kv, key+"=")
		})
	})
	if r.trace {
		env = traceEnv(r.hold.Context(context.Background()), env)
	}
	return append(env, ours...)
}
