package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/job"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync"
)

// elector is one "zksync elect".
type elector struct {
	config
	quiet    bool
	lostCode int
	spans    spans
	grace    seconds

	name string   // the election's path
	argv []string // the command
	file string   // to run
	out  *printer.Printer
	stop context.CancelFunc // ends the wait, and the standing again

	mu       sync.Mutex
	session  *zksync.Session // guarded by mu; nil before there is one
	waits    *announcer      // guarded by mu; of the wait that goes on; nil: none does
	signals  chan os.Signal  // guarded by mu; of the command that runs; nil: none does
	told     os.Signal       // guarded by mu; the first that has asked zksync to end
	atWork   bool            // guarded by mu; told while the command ran
	ran      *job.End        // guarded by mu; how the command ended last
	startErr error           // guarded by mu; the command could not be started
}

// newElect returns the command "elect".
func newElect() *cobra.Command {
	e := &elector{lostCode: exit.Lost, grace: seconds(10 * time.Second)}
	cmd := &cobra.Command{
		Use:                   "elect [flags] NAME [--] COMMAND [ARG...]",
		Short:                 "Run a command on one of several machines, and on another one when that fails",
		Long:                  electLong,
		Example:               electExample,
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := e.parse(args); err != nil {
				return err
			}
			return e.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false) // what follows COMMAND is COMMAND's
	f.Var(exitCode{&e.lostCode, 1}, "lost-exit-code", "exit code if the leadership was lost as COMMAND ended for good")
	f.Var(&e.grace, "grace", "time from SIGTERM to SIGKILL when the leadership is lost")
	f.BoolVarP(&e.quiet, "quiet", "q", false, "print errors only")
	e.spans.addFlag(f, "election")
	e.addFlags(f)
	return cmd
}

// parse checks the command line.
func (e *elector) parse(args []string) error {
	if len(args) > 1 && args[1] == "--" {
		args = slices.Delete(slices.Clone(args), 1, 2)
	}
	switch {
	case len(args) == 0:
		return exit.Usagef("no NAME and no COMMAND")
	case len(args) == 1:
		return exit.Usagef("no COMMAND after %s", args[0])
	}
	e.name, e.argv = args[0], args[1:]
	return checkBelow("NAME", e.name, "/leaders/")
}

// run stands for the election until the command has ended by itself, or a signal asks for
// an end.
func (e *elector) run() error {
	servers, opts, err := e.dialArgs()
	if err != nil {
		return err
	}
	if e.file, err = job.Find(e.argv[0]); err != nil {
		return err
	}
	if e.identity == "" {
		opts = append(opts, zksync.WithIdentity(filepath.Base(e.file)))
	}
	e.out = printer.New(os.Stderr, e.quiet)
	defer e.out.Close()
	opts = append(opts, zksync.WithLogger(e.out.Logger()))
	flush, err := e.spans.start(e.out)
	if err != nil {
		return err
	}
	defer flush()
	sigs := process.CatchSignals()
	ctx, stop := context.WithCancel(traced(context.Background()))
	defer stop()
	e.stop = stop

	done := make(chan error, 1)
	go func() { done <- e.campaign(ctx, servers, opts) }()
	for {
		select {
		case err := <-done:
			return e.result(err)
		case sig := <-sigs:
			if first := e.signal(sig); first != nil {
				e.out.Errorf("interrupted: the place in line for %s ends when the session times out, in %v", e.name, time.Duration(e.sessionTimeout))
				return exit.Interrupted(first)
			}
		}
	}
}

// signal deals with a signal. If this is the second one that asks for an end, and no
// command runs, zksync has to end at once: then signal returns the first one.
func (e *elector) signal(sig os.Signal) (first os.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	running := e.signals != nil
	if running {
		select {
		case e.signals <- sig:
		default: // the command has more signals than it takes
		}
	}
	// For a command SIGHUP may have another meaning.
	if !process.AsksToEnd(sig) || running && sig == syscall.SIGHUP {
		return nil
	}
	switch {
	case e.told == nil:
		e.told, e.atWork = sig, running
		e.stop()
	case !running:
		return e.told
	}
	return nil
}

// campaign connects, stands for the election, and ends the session.
func (e *elector) campaign(ctx context.Context, servers []string, opts []zksync.DialOption) error {
	e.await()
	defer e.awaited()
	opts = append(opts, zksync.WithTracer(zksync.JoinTracers(&zksync.Tracer{Blocked: e.blocked}, e.spans.tracer)))
	s, err := e.dial(ctx, servers, opts)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.session = s
	e.mu.Unlock()
	err = zksync.NewElection(s, e.name).Run(ctx, e.lead)
	if cerr := s.Close(); cerr != nil {
		e.out.Errorf("%s may not be given back: %s; it is free when the session times out, in %v", e.name, exit.Plain(cerr), s.Timeout())
	}
	return err
}

// lead runs the command until it ends, or ends it when the leadership is lost or asked
// back.
func (e *elector) lead(ctx context.Context, h *zksync.Hold) error {
	e.awaited()
	sigs := make(chan os.Signal, 64)
	e.mu.Lock()
	told := e.told != nil
	if !told {
		e.signals = sigs
	}
	s := e.session
	e.mu.Unlock()
	if told {
		return ctx.Err() // the signal came first
	}
	e.out.Notef("leads %s, fence %d", e.name, h.Fence())
	j := &job.Job{
		Path: e.file, Args: e.argv, Env: e.spans.environ(e.name, s, h),
		Lock: e.name, Hold: leadership{h}, Grace: time.Duration(e.grace),
		Signals: sigs, Out: e.out,
	}
	end, err := j.Run()
	signal.Stop(sigs) // with which the job has caught those of job control
	return e.ended(end, err)
}

// ended takes note of how the command has ended, or why it could not be started. It returns
// the reason if the leadership was lost: then zksync stands again, unless it was told to
// end.
func (e *elector) ended(end job.End, err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.signals, e.ran, e.startErr = nil, &end, err
	if err != nil || end.Lost == nil {
		return err
	}
	if e.told != nil {
		return end.Lost // result tells
	}
	code := fmt.Sprintf("; the command's exit code was %d", end.Code)
	if end.Running != 0 {
		e.out.Errorf("%v", lostWhile(e.name, end))
		code = ""
	}
	e.out.Notef("stands for %s again%s", e.name, code)
	e.waits = &announcer{lock: e.name, note: e.out.Notef}
	return end.Lost
}

// result turns the end of the campaign into that of the program.
func (e *elector) result(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	forGood := e.ran != nil && e.ran.Lost == nil
	switch {
	case e.startErr != nil:
		err = e.startErr
	case forGood && !errors.Is(err, zksync.ErrLost):
		if e.ran.Code == 0 {
			return nil
		}
		return &exit.Error{Code: e.ran.Code}
	case forGood || e.atWork:
		end := *e.ran
		if forGood {
			end.Lost = err // which showed only as the leadership was given up
		}
		err = &exit.Error{Code: e.lostCode, Err: lostWhile(e.name, end)}
	case e.told != nil:
		return exit.Interrupted(e.told)
	default: // it could not stand, or not again
		if !errors.As(err, new(*exit.Error)) {
			err = e.serviceError(err)
		}
	}
	return printError(e.out, err)
}

// await begins to announce whom the election is waited for.
func (e *elector) await() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waits = &announcer{lock: e.name, note: e.out.Notef}
}

// awaited ends the announcements.
func (e *elector) awaited() {
	e.mu.Lock()
	a := e.waits
	e.waits = nil
	e.mu.Unlock()
	if a != nil {
		a.stop()
	}
}

// blocked is the function Blocked of a [zksync.Tracer].
func (e *elector) blocked(ctx context.Context, p zksync.Peer) {
	e.mu.Lock()
	a := e.waits
	e.mu.Unlock()
	if a != nil {
		a.blocked(ctx, p)
	}
}
