package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/bench"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/printer"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/internal/measure"
	"github.com/zklocker/go-zksync/zksync"
)

// cleanWithin limits the wait for the nodes of a measurement to be deleted.
const cleanWithin = 10 * time.Second

// bencher is one "zksync bench".
type bencher struct {
	runner     // for its connection and its signals
	length     seconds
	sessions   int
	goroutines int
	parent     string
	json       bool

	stdout io.Writer
	node   string // that everything is below
	bench  *bench.Bench
}

// newBench returns the command "bench".
func newBench() *cobra.Command {
	b := &bencher{length: seconds(10 * time.Second)}
	cmd := &cobra.Command{
		Use:                   "bench [flags]",
		Short:                 "Measure locks on a ZooKeeper of yours",
		Long:                  bench.Help,
		Example:               "  zksync bench --servers zk1:2181,zk2:2181,zk3:2181\n  zksync bench --duration 30s --sessions 16 --goroutines 1 --json > bench.json",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.parse(args); err != nil {
				return err
			}
			b.stdout = cmd.OutOrStdout()
			return b.run()
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Var(&b.length, "duration", "length of the measurement, 100ms to 1h; calls under way at the end of a round are waited for")
	f.IntVar(&b.sessions, "sessions", 4, "number of sessions that want one lock, 1 to 100")
	f.IntVar(&b.goroutines, "goroutines", 8, "number of goroutines of each session that want one lock, 1 to 1000")
	f.StringVar(&b.parent, "path", "/", "`node` below which to make the one for the measurement")
	f.BoolVar(&b.json, "json", false, "print JSON")
	b.addConnection(f)
	f.Var(&b.sessionTimeout, "session-timeout", "session timeout to ask for")
	return cmd
}

// parse checks the command line.
func (b *bencher) parse(args []string) error {
	d := time.Duration(b.length)
	switch {
	case len(args) > 0:
		return exit.Usagef("bench takes no arguments, only flags")
	case d < 100*time.Millisecond || d > time.Hour:
		return exit.Usagef("--duration %v: want 100ms to 1h", d)
	case b.sessions < 1 || b.sessions > 100:
		return exit.Usagef("--sessions %d: want 1 to 100", b.sessions)
	case b.goroutines < 1 || b.goroutines > 1000:
		return exit.Usagef("--goroutines %d: want 1 to 1000", b.goroutines)
	}
	return checkRoot("--path", b.parent)
}

// run measures, prints, and deletes what it has made.
func (b *bencher) run() error {
	target, chroot, err := b.target()
	if err != nil {
		return err
	}
	b.node = path.Join("/", chroot, b.parent, fmt.Sprintf("zksync-bench-%08x", rand.Uint32()))
	b.sigs = process.CatchSignals()
	b.out = printer.New(os.Stderr, false)
	defer b.out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var report *bench.Report
	var left error
	first, done := attend(b.sigs, nil, func() {
		if err = b.open(ctx, target); err != nil {
			return
		}
		report, err = b.bench.Run(ctx)
		b.clearProgress()
		within, cancel := context.WithTimeout(context.Background(), cleanWithin)
		defer cancel()
		if left = b.bench.Clean(within); left == nil {
			left = b.session.Close()
		}
	}, cancel)
	switch {
	case !done:
		fmt.Fprintf(os.Stderr, "zksync: nodes may be left at %s: interrupted; the servers delete them when the sessions time out\n", b.node)
		return exit.Interrupted(first)
	case left != nil:
		return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("nodes may be left at %s: %w", b.node, left)}
	case first != nil:
		return exit.Interrupted(first)
	case err != nil:
		return b.failed(err)
	}
	return b.print(report)
}

// target returns what to measure on.
func (b *bencher) target() (t measure.Target, chroot string, err error) {
	if t.Servers, chroot, err = b.serverList(); err != nil {
		return t, "", err
	}
	if t.Scheme, t.Cred, err = b.auth(); err != nil {
		return t, "", err
	}
	t.Timeout = time.Duration(b.sessionTimeout)
	t.TLS, err = b.tls()
	return t, chroot, err
}

// open opens the session that makes and deletes the nodes.
func (b *bencher) open(ctx context.Context, target measure.Target) error {
	servers, opts, err := b.dialArgs()
	if err != nil {
		return err
	}
	if b.session, err = b.dial(ctx, servers, append(opts, zksync.WithLogger(b.out.Logger()))); err != nil {
		return err
	}
	b.bench = &bench.Bench{
		Target: target, Conn: b.session.Conn(), Root: b.node, Length: time.Duration(b.length),
		Sessions: b.sessions, Goroutines: b.goroutines, Progress: b.progress(),
	}
	return nil
}

// progress returns what shows how far the measurement is: a line on a terminal, nothing
// elsewhere.
func (b *bencher) progress() func(done float64, text string) {
	if !isTerminal(os.Stderr) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func(done float64, text string) {
		fmt.Fprintf(os.Stderr, "\r\x1b[0K%3.0f %%  %s", 100*done, text)
	}
}

func (b *bencher) clearProgress() {
	if b.bench.Progress != nil {
		fmt.Fprint(os.Stderr, "\r\x1b[0K")
	}
}

// isTerminal reports whether f is a terminal or another device that takes characters,
// such as the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (b *bencher) print(r *bench.Report) error {
	r.Zksync = version()
	write := r.WriteTable
	if b.json {
		write = r.WriteJSON
	}
	if err := write(b.stdout); err != nil {
		return &exit.Error{Code: exit.OS, Err: err}
	}
	return nil
}

// failed gives an error of a measurement its exit code.
func (b *bencher) failed(err error) *exit.Error {
	var coded *exit.Error
	if errors.As(err, &coded) {
		return coded
	}
	if errors.Is(err, zk.ErrNoAuth) {
		err = fmt.Errorf("no permission to create, list or delete nodes below %s", path.Dir(b.node))
		return &exit.Error{Code: exit.NoPermission, Err: b.refused(err)}
	}
	e := b.serviceError(err)
	switch {
	case errors.Is(err, zk.ErrInvalidPath):
		e.Code = exit.Usage
	case errors.Is(err, measure.ErrTwo):
		e.Code = exit.Conflict
	}
	return e
}
