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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/zksync"
)

// releaseWithin bounds the wait for the lock to be given back. What is not
// confirmed by then goes with the session.
const releaseWithin = 5 * time.Second

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
	out  *printer

	session *zksync.Session // set as far as acquire got
	hold    *zksync.Hold
}

func newRun() *cobra.Command {
	r := &runner{conflict: exitConflict, lostCode: exitLost, grace: seconds(10 * time.Second)}
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
	f.VarP(&r.wait, "timeout", "w", "wait for the lock at most so long, e.g. 90s, 1m30s, 5 or 0.5 (seconds); 0 is -n")
	f.VarP(exitCode{&r.conflict, 0}, "conflict-exit-code", "E", "exit code when -n or -w did not obtain the lock")
	f.Var(exitCode{&r.lostCode, 1}, "lost-exit-code", "exit code when the lock was lost while the command ran")
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
		return usagef("no LOCK and no COMMAND")
	case dash < 0 || dash > 1:
		return usagef("want one LOCK, then --, then the command: zksync run %s -- COMMAND", args[0])
	case dash == 0:
		return usagef("no LOCK before --")
	case len(args) == 1:
		return usagef("no COMMAND after --")
	case !strings.HasPrefix(args[0], "/"):
		return usagef("LOCK %q is not a path: it must start with a slash, as in /locks/%s", args[0], args[0])
	}
	r.lock, r.argv = args[0], args[1:]
	r.waitSet = cmd.Flags().Changed("timeout")
	if r.waitSet && r.nonblock {
		return usagef("-n does not wait, so there is no -w with it")
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
	path, err := lookCommand(r.argv[0])
	if err != nil {
		return err
	}
	if r.identity == "" {
		opts = append(opts, zksync.WithIdentity(filepath.Base(path)))
	}
	r.out = newPrinter(os.Stderr, r.quiet)
	defer r.out.close()
	r.sigs = catchSignals()

	if err := r.obtain(servers, opts); err != nil {
		return r.say(err)
	}
	j := &job{
		path: path, argv: r.argv, env: r.environ(), lock: r.lock,
		grace: time.Duration(r.grace), held: r.hold, sigs: r.sigs, out: r.out,
	}
	end, err := j.run()
	if lost := r.giveBack(); end.lost == nil {
		end.lost = lost
	}
	switch {
	case err != nil:
		return r.say(err)
	case end.lost != nil:
		return r.say(&exitError{r.lostCode, fmt.Errorf("%s was lost while the command ran (exit code %d of its own): %s", r.lock, end.code, reason(end.lost))})
	case end.code != 0:
		return &exitError{code: end.code}
	}
	return nil
}

// say prints err in line with what was printed before, and returns it as one
// that has been said.
func (r *runner) say(err error) error {
	var exit *exitError
	if !errors.As(err, &exit) || exit.code == exitUsage {
		return err
	}
	if exit.err != nil {
		r.out.errorf("%v", exit)
	}
	return &exitError{code: exit.code}
}

// obtain waits for the lock. On an error nothing is left behind.
func (r *runner) obtain(servers []string, opts []zksync.Option) error {
	ctx, cancel := context.WithCancel(traced(context.Background()))
	defer cancel()
	var err error
	first, done := attend(r.sigs, func() {
		if err = r.acquire(ctx, servers, opts); err != nil && r.session != nil {
			if e := r.session.Close(); e != nil {
				r.out.errorf("may still stand in line: %s; that ends when the session times out, in %v", plain(e), r.session.Timeout())
			}
		}
	}, func(os.Signal) { cancel() })
	switch {
	case first == nil:
		return err
	case !done:
		// Asked twice: the server forgets us with the session.
	case err == nil:
		_ = r.giveBack() // granted at the same moment
	}
	return &exitError{code: exitSignal + int(first.(syscall.Signal))}
}

// acquire connects and takes the lock.
func (r *runner) acquire(ctx context.Context, servers []string, opts []zksync.Option) (err error) {
	if r.waitSet {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.wait))
		defer cancel()
	}
	tell := &announcer{lock: r.lock, note: r.out.notef}
	defer tell.stop()
	tracer := &zksync.Tracer{Blocked: tell.blocked}
	if r.trace {
		spans, err := newSpans(r.out)
		if err != nil {
			return usagef("--trace: %w", err) // of OTEL_RESOURCE_ATTRIBUTES
		}
		tracer = zksync.JoinTracers(tracer, spans)
	}
	opts = append(opts, zksync.WithTracer(tracer))
	if r.session, err = r.dial(ctx, servers, opts); err != nil {
		return err
	}
	mu := zksync.NewMutex(r.session, r.lock)
	if r.nonblock {
		r.hold, err = mu.TryHold(ctx)
	} else {
		r.hold, err = mu.Hold(ctx)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zksync.ErrBusy):
		r.out.notef("%s is held by another", r.lock)
		return &exitError{code: r.conflict}
	case r.waitSet && errors.Is(err, context.DeadlineExceeded):
		r.out.notef("%s not obtained within %v", r.lock, time.Duration(r.wait))
		return &exitError{code: r.conflict}
	}
	return serviceError(err)
}

// dial opens the session with ZooKeeper.
func (r *runner) dial(ctx context.Context, servers []string, opts []zksync.Option) (*zksync.Session, error) {
	if r.connectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.connectTimeout))
		defer cancel()
	}
	s, err := zksync.Dial(ctx, servers, opts...)
	if err == nil {
		return s, nil
	}
	exit := serviceError(err)
	if ctx.Err() == nil && exit.code == exitUnavailable {
		exit.code = exitUsage // Dial did not even try
	}
	return nil, exit
}

// serviceError gives an error of package zksync its exit code.
func serviceError(err error) *exitError {
	exit := &exitError{exitUnavailable, err}
	var typed *zksync.Error
	switch {
	case errors.Is(err, zksync.ErrInvalidPath):
		exit.code = exitUsage
	case errors.As(err, &typed) && typed.ErrorType() == "no_auth":
		exit.code = exitNoPermission
	}
	return exit
}

// giveBack releases the lock and ends the session. Its error says that the
// lock was not ours any more; that it could not reach ZooKeeper it only
// prints: the lock goes with the session.
func (r *runner) giveBack() (lost error) {
	var releaseErr, closeErr error
	_, done := attend(r.sigs, func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
		defer cancel()
		releaseErr = r.hold.Release(ctx)
		// Closing deletes what Release could not, or ends the session.
		closeErr = r.session.Close()
	}, func(os.Signal) {}) // it is on its way already
	switch {
	case !done: // and the two errors are still being written
		r.out.errorf("%s not given back: interrupted; it is free when the session times out, in %v", r.lock, r.session.Timeout())
	case errors.Is(releaseErr, zksync.ErrLost):
		return releaseErr
	case closeErr != nil:
		r.out.errorf("%s may not be given back: %s; it is free when the session times out, in %v", r.lock, plain(closeErr), r.session.Timeout())
	}
	return nil
}

// environ returns the command's environment. What tells of the lock replaces
// what we inherited from a wrapper around us.
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
