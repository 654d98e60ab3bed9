package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/screen"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// watcher is one "zksync watch".
type watcher struct {
	operator
	interval seconds
	lines    bool
	refusals map[string]bool // the paths that may not be listed
}

// newWatch returns the command "watch".
func newWatch() *cobra.Command {
	w := &watcher{interval: seconds(time.Second), refusals: make(map[string]bool)}
	cmd := newOperator(&w.operator, &cobra.Command{
		Use:     "watch [flags] [LOCK | ROOT]",
		Short:   "Watch a lock, or all locks below a path, live",
		Long:    watchLong,
		Example: "  zksync watch /locks\n  zksync watch -o json /locks/nightly | jq -r 'select(.event == \"holds\") | .node.host'",
		Args:    maybeRoot,
	}, func(ctx context.Context, args []string) error {
		if w.fullScreen() {
			return w.screen(ctx, rootOf(args))
		}
		return w.events(ctx, rootOf(args))
	})
	f := cmd.Flags()
	f.Var(&w.interval, "interval", "time between two looks")
	f.BoolVar(&w.lines, "lines", false, "print a line for each event, also on a terminal")
	w.prepare = func() {
		if w.fullScreen() {
			// A line of a log would spoil the screen, which shows errors itself.
			w.logs = []zksync.DialOption{zksync.WithLogger(slog.New(slog.DiscardHandler))}
		}
	}
	return cmd
}

// fullScreen reports whether there is a terminal to draw on, and to read keys from.
func (w *watcher) fullScreen() bool {
	return w.output == outputTable && !w.lines && onTerminal(w.stdout) && onTerminal(w.stdin) && os.Getenv("TERM") != "dumb"
}

// every returns the time between two looks.
func (w *watcher) every() time.Duration { return max(time.Duration(w.interval), 100*time.Millisecond) }

// screen shows the locks until the user quits.
func (w *watcher) screen(ctx context.Context, root string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(sigs)
	go func() {
		select {
		case sig := <-sigs:
			cancel(exit.Interrupted(sig))
		case <-ctx.Done():
		}
	}()
	p := tea.NewProgram(screen.New(ctx, source{&w.operator}, root, w.every(), w.style),
		tea.WithContext(ctx), tea.WithInput(w.stdin), tea.WithOutput(w.stdout), tea.WithoutSignalHandler())
	_, err := p.Run()
	var coded *exit.Error
	switch {
	case errors.As(context.Cause(ctx), &coded):
		return coded
	case errors.Is(err, tea.ErrInterrupted):
		return exit.Interrupted(syscall.SIGINT)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &exit.Error{Code: exit.OS, Err: err}
	}
	return nil
}

// source reads locks for the screen.
type source struct{ o *operator }

func (s source) List(ctx context.Context, root string) (*view.List, error) {
	return s.o.locks(ctx, root, func(*view.List) {})
}

func (s source) Queue(ctx context.Context, lock string) (*view.Queue, error) {
	return s.o.inspect(ctx, lock)
}

func (s source) Revoke(ctx context.Context, n *view.Node) error {
	return s.o.session.Revoke(ctx, n.Node)
}

func (s source) Break(ctx context.Context, n *view.Node) error { return s.o.deleteShown(ctx, n) }

// events prints a line for each event, the present state first, until ctx ends.
func (w *watcher) events(ctx context.Context, root string) error {
	before := make(map[string]*view.Queue)
	for first := true; ; first = false {
		after, events, err := w.look(ctx, root, before)
		if err != nil {
			return err
		}
		before = after
		if first && len(after) == 0 && w.output == outputTable {
			w.notef("%s", w.none(ctx, root))
		}
		for i := range events {
			if err := w.event(&events[i]); err != nil {
				return err
			}
		}
		if err := pause(ctx, w.every()); err != nil {
			return err
		}
	}
}

// look reads all queues, and returns what has happened since the last look.
func (w *watcher) look(ctx context.Context, root string, before map[string]*view.Queue) (after map[string]*view.Queue, events []view.Event, err error) {
	after = make(map[string]*view.Queue)
	var paths []string
	for q, err := range w.queues(ctx, root) {
		switch {
		case err != nil && q.Path != "" && errors.Is(err, zksync.ErrNoAuth):
			w.missing(q.Path, err)
			continue
		case err != nil:
			return nil, nil, err
		}
		now := time.Now()
		v := view.NewQueue(&q, now)
		after[q.Path] = &v
		paths = append(paths, q.Path)
	}
	now := time.Now()
	for p := range before {
		if after[p] == nil {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	for _, p := range paths {
		events = append(events, view.Changes(p, before[p], after[p], now)...)
	}
	return after, events, nil
}

// missing says once that a path may not be listed.
func (w *watcher) missing(path string, err error) {
	if !w.refusals[path] {
		w.refusals[path] = true
		w.notef("the locks below %s are missing: %s", text.Name(path), exit.Plain(w.refused(err)))
	}
}

// event prints an event.
func (w *watcher) event(e *view.Event) error {
	if w.output == outputJSON {
		return w.printJSON(e)
	}
	return w.print(func(out io.Writer) {
		who := e.Node.Who()
		does := map[string]string{
			view.EventWaits: "waits", view.EventHolds: w.style.Good("holds"), view.EventRevoked: w.style.Warn("is asked to give it back"), view.EventLeft: "has left",
		}[e.Event]
		line := fmt.Sprintf("%s %s: %s %s (%s)", e.At.Local().Format("2006-01-02T15:04:05.000"), text.Plain(e.Path), who, does, text.Count(e.Waiters, "waiter", "waiters"))
		fmt.Fprintln(out, strings.TrimSpace(line))
	})
}
