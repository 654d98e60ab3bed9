package main

import (
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
	locks    locks
	nonblock bool
	wait     seconds
	waitSet  bool
	conflict int
	lostCode int
	quiet    bool
	spans    spans
	grace    seconds

	argv []string // empty: hold the lock until a signal comes
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
		Use:                   "run [flags] LOCK [COMMAND [ARG...]]\n  zksync run [flags] LOCK... -- COMMAND [ARG...]",
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
	f.SetInterspersed(false) // what follows COMMAND is COMMAND's
	r.locks.addFlags(f)
	f.BoolVarP(&r.nonblock, "nonblock", "n", false, "do not wait for the lock")
	f.VarP(&r.wait, "timeout", "w", "wait for the lock at most this long: 90s, 1m30s, 5 or 0.5 (seconds); 0 means -n")
	f.VarP(exitCode{&r.conflict, 0}, "conflict-exit-code", "E", "exit code if -n or -w did not obtain the lock")
	f.Var(exitCode{&r.lostCode, 1}, "lost-exit-code", "exit code if the lock was lost while the command ran")
	f.Var(&r.grace, "grace", "time from SIGTERM to SIGKILL when the lock is lost")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "print errors only")
	r.spans.addFlag(f, "lock")
	r.config.addFlags(f)
	return cmd
}

// noCommand is the identity without a command.
const noCommand = "zksync run"

// run takes the lock, runs the command and gives the lock back.
func (r *runner) run() error {
	servers, opts, err := r.dialArgs()
	if err != nil {
		return err
	}
	path, name := "", noCommand
	if len(r.argv) > 0 {
		if path, err = job.Find(r.argv[0]); err != nil {
			return err
		}
		name = filepath.Base(path)
	}
	if r.identity == "" {
		opts = append(opts, zksync.WithIdentity(name))
	}
	r.out = printer.New(os.Stderr, r.quiet)
	defer r.out.Close()
	opts = append(opts, zksync.WithLogger(r.out.Logger()))
	flush, err := r.spans.start(r.out)
	if err != nil {
		return err
	}
	defer flush()
	r.sigs = process.CatchSignals()

	if err := r.obtain(servers, opts); err != nil {
		return printError(r.out, err)
	}
	end, err := r.work(path)
	if lost := r.giveBack(); end.Lost == nil {
		end.Lost = lost
	}
	if err == nil {
		err = r.result(end)
	}
	return printError(r.out, err)
}

// work runs the command, a file, until it ends. Without a command it waits for a signal
// that asks for an end, or for the loss of the lock.
func (r *runner) work(path string) (job.End, error) {
	if len(r.argv) == 0 {
		r.out.Notef("holding %s, fence %d; Ctrl-C gives it back", &r.locks, r.hold.Fence())
		return job.Idle(r.hold, r.sigs), nil
	}
	j := &job.Job{
		Path: path, Args: r.argv, Env: r.spans.environ(r.locks.String(), r.session, r.hold),
		Lock: r.locks.String(), Hold: r.hold, Grace: time.Duration(r.grace),
		Signals: r.sigs, Out: r.out,
	}
	return j.Run()
}

// result returns the error that tells how the command has ended, or nil.
func (r *runner) result(end job.End) error {
	var err error
	switch {
	case end.Lost == nil && end.Code == 0:
		return nil
	case end.Lost == nil:
		return &exit.Error{Code: end.Code}
	case len(r.argv) == 0:
		err = fmt.Errorf("%s was lost: %s", &r.locks, job.Reason(end.Lost))
	default:
		err = lostWhile(r.locks.String(), end)
	}
	return &exit.Error{Code: r.lostCode, Err: err}
}

// lostWhile returns the error of a lock that was lost while a command ran.
func lostWhile(lock string, end job.End) error {
	if end.Running != 0 {
		return fmt.Errorf("%s was lost, and the command STILL RUNS WITHOUT THE LOCK (process group %d): it runs as another user, and zksync may not kill it: %s",
			lock, end.Running, job.Reason(end.Lost))
	}
	return fmt.Errorf("%s was lost while the command ran (exit code %d of its own): %s", lock, end.Code, job.Reason(end.Lost))
}

// printError prints err, which may be nil, through the printer, so that it follows the lines before it,
// and returns an error that main does not print again. Usage errors it leaves to
// main.
func printError(out *printer.Printer, err error) error {
	var e *exit.Error
	if !errors.As(err, &e) || e.Code == exit.Usage {
		return err
	}
	if e.Err != nil {
		out.Errorf("%v", e)
	}
	return &exit.Error{Code: e.Code}
}

// describes returns an environment with the variables that describe a lock. They replace
// those of another zksync around this one.
func describes(env []string, lock string, s *zksync.Session, h *zksync.Hold) []string {
	ours := []string{
		"ZKSYNC_LOCK=" + lock,
		"ZKSYNC_NODE=" + h.Node(),
		"ZKSYNC_FENCE=" + strconv.FormatInt(h.Fence(), 10),
		"ZKSYNC_SESSION=" + fmt.Sprintf("%#x", uint64(s.ID())),
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		return slices.ContainsFunc(ours, func(our string) bool {
			key, _, _ := strings.Cut(our, "=")
			return strings.HasPrefix(kv, key+"=")
		})
	})
	return append(env, ours...)
}
