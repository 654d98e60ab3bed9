package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/zksync"
)

// operator is what the commands share that look at locks and deal with them.
type operator struct {
	config
	timeout seconds
	output  output

	stdin          io.Reader
	stdout, stderr io.Writer
	style          *table.Style // of stdout
	session        *zksync.Session
	logs           []zksync.DialOption // take the place of a log on stderr
	prepare        func()              // called before anything else; may be nil
}

// addFlags adds the flags that the commands share to those of cmd.
func (o *operator) addFlags(cmd *cobra.Command) {
	o.output = outputTable
	f := cmd.Flags()
	f.VarP(&o.output, "output", "o", "print a `table` or json")
	f.Var(&o.timeout, "timeout", "end the whole command with an error after this time; 0: no limit")
	o.addConnection(f)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(outputTable), string(outputJSON)}, cobra.ShellCompDirectiveNoFileComp))
}

// newOperator returns a command of an operator's. run is called with a session that
// stands, and with a context that ends with --timeout, and when contact with ZooKeeper
// is lost for longer than --connect-timeout.
func newOperator(o *operator, cmd *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.stdin, o.stdout, o.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
		o.style = table.NewStyle(o.stdout)
		if o.prepare != nil {
			o.prepare()
		}
		return o.run(func(ctx context.Context) error { return run(ctx, args) })
	}
	o.addFlags(cmd)
	return cmd
}

// The reasons why a command ends before it is done.
var (
	errTimeout = errors.New("--timeout is over")
	errContact = errors.New("no contact with ZooKeeper")
)

// run opens a session and calls work.
func (o *operator) run(work func(ctx context.Context) error) error {
	servers, opts, err := o.dialArgs()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if o.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, time.Duration(o.timeout), errTimeout)
		defer stop()
	}
	c := &contact{patience: time.Duration(o.connectTimeout), lost: func() { cancel(errContact) }}
	defer c.stop()
	out := printer.New(o.stderr, false)
	defer out.Close()
	opts = append(opts, zksync.WithTracer(&zksync.Tracer{Session: c.changed}), zksync.WithLogger(out.Logger()))
	if o.session, err = o.dial(ctx, servers, append(opts, o.logs...)); err != nil {
		return o.ended(ctx, err)
	}
	if err := o.ended(ctx, work(ctx)); err != nil {
		return err // the process ends, and the servers end the session
	}
	_ = o.session.Close() // it holds nothing
	return nil
}

// ended gives the error of a command its exit code, and its reason if ctx has ended.
func (o *operator) ended(ctx context.Context, err error) error {
	var coded *exit.Error
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(cause, errTimeout):
		err = fmt.Errorf("not done within %v (--timeout)", time.Duration(o.timeout))
	case errors.Is(cause, errContact):
		err = fmt.Errorf("contact with ZooKeeper was lost, and did not come back within %v (--connect-timeout)", time.Duration(o.connectTimeout))
	case errors.As(err, &coded):
		return coded
	default:
		return o.serviceError(err)
	}
	return &exit.Error{Code: exit.Unavailable, Err: err}
}

// contact ends a command that waits for a connection for too long.
type contact struct {
	patience time.Duration // 0: for ever
	lost     func()

	mu    sync.Mutex
	timer *time.Timer // guarded by mu; set while there is no connection
}

// changed is the function Session of a [zksync.Tracer].
func (c *contact) changed(e zksync.SessionEvent) {
	c.stop()
	if e.State == zksync.StateConnected || e.State == zksync.StateClosed || e.Before == "" || c.patience == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(c.patience, c.lost)
}

// stop stops the clock.
func (c *contact) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// print prints what write writes.
func (o *operator) print(write func(w io.Writer)) error {
	b := bufio.NewWriterSize(o.stdout, 1<<16)
	write(b)
	if err := b.Flush(); err != nil {
		return &exit.Error{Code: exit.OS, Err: err}
	}
	return nil
}

// printJSON prints v as a line of JSON.
func (o *operator) printJSON(v any) error {
	return o.print(func(w io.Writer) {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // print reports what the writer says
	})
}

// notef prints a line for the user on stderr.
func (o *operator) notef(format string, args ...any) {
	fmt.Fprintf(o.stderr, "zksync: "+format+"\n", args...)
}

// oneArg returns the check for a command that takes one argument.
func oneArg(what string, check func(what, path string) error) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return exit.Usagef("want one %s, have %d arguments", what, len(args))
		}
		return check(what, args[0])
	}
}

// maybeRoot is the check for a command that takes a ROOT or nothing.
func maybeRoot(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return nil
	case 1:
		return checkRoot("ROOT", args[0])
	}
	return exit.Usagef("want one ROOT at most, have %d arguments", len(args))
}

// rootOf returns the ROOT among the arguments.
func rootOf(args []string) string {
	if len(args) == 0 {
		return "/"
	}
	return args[0]
}
