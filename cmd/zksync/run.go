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

const runLong = `Run COMMAND while holding the lock LOCK, and exit with COMMAND's exit code.

LOCK is a path in ZooKeeper, as /locks/nightly. Of all who name the same path,
on whatever machine, one runs its command at a time, in the order in which
they came. The wait is announced on stderr, with who holds the lock.

COMMAND is looked up before the wait, and runs in a process group of its own,
which gets the signals that zksync gets: HUP, INT, QUIT, TERM, USR1, USR2, ALRM,
WINCH, TSTP, CONT. HUP, INT, QUIT or TERM during the wait ends the wait.
The lock is held until COMMAND itself has ended, whatever it left running in
the background.

If the lock is lost (the session expired, ZooKeeper was out of reach for half
the session timeout, somebody deleted the lock's node), COMMAND's process group
gets SIGTERM and, after --grace, SIGKILL. A program that was stopped, or cut off
from everything, notices late: guard what matters with ZKSYNC_FENCE, a number
that grows from holder to holder, and refuse what comes with a smaller one.

If zksync itself is killed, even by kill -9, the kernel kills COMMAND (Linux and
FreeBSD). That does not cover what COMMAND has started itself, nor a COMMAND
that is setuid or has file capabilities. To be safe with a script, let its last
step be exec, or check ZKSYNC_FENCE.

COMMAND finds in its environment:
  ZKSYNC_LOCK      LOCK
  ZKSYNC_NODE      the node in ZooKeeper by which it is held
  ZKSYNC_FENCE     the fence, a decimal number
  ZKSYNC_SESSION   the ZooKeeper session, as 0x and hexadecimal digits

zksync reads ` + envServers + ` and ` + envAuth + ` (scheme:credential, as in
digest:user:password) from its own. COMMAND inherits both; a credential in
--auth-file stays out of its sight.

Exit codes:
  of COMMAND   when it ran and ended by itself
  1            the lock was not obtained with -n or within -w (see -E)
  64           a command line or a lock path that makes no sense
  69           ZooKeeper can't be reached, or refuses to serve the lock
  71           the system can't start a process
  77           ZooKeeper refuses permission
  79           the lock was lost while COMMAND ran (see --lost-exit-code)
  126          COMMAND was found but can't be run
  127          COMMAND was not found
  128+N        signal N ended COMMAND, or the wait`

const runExample = `  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly -- ./backup.sh
  zksync run -n -E 0 /locks/report -- make report       # somebody is at it: fine
  zksync run -w 90 /locks/db -- psql -f migrate.sql     # wait for 90 seconds at most`

// runner is one "zksync run".
type runner struct {
	config
	nonblock bool
	wait     seconds
	waitSet  bool
	conflict int
	lostCode int
	quiet    bool
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
		r.out.errorf("%v", exit.err)
	}
	return &exitError{code: exit.code}
}

// obtain waits for the lock. On an error nothing is left behind.
func (r *runner) obtain(servers []string, opts []zksync.Option) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	first, done := attend(r.sigs, func() {
		if err = r.acquire(ctx, servers, opts); err != nil && r.session != nil {
			if e := r.session.Close(); e != nil {
				r.out.errorf("may still stand in line: %v; that ends when the session times out, in %v", e, r.session.Timeout())
			}
		}
	}, func(os.Signal) { cancel() })
	switch {
	case first == nil:
		return err
	case !done:
		// Asked twice: the server forgets us with the session.
	case err == nil:
		r.giveBack() // granted at the same moment
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
	opts = append(opts, zksync.WithTracer(&zksync.Tracer{Blocked: tell.blocked}))
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
		r.out.errorf("%s may not be given back: %v; it is free when the session times out, in %v", r.lock, closeErr, r.session.Timeout())
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
	return append(env, ours...)
}
