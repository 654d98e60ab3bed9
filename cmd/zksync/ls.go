package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// lister is one "zksync ls".
type lister struct {
	operator
	watch    bool
	interval seconds
}

// newLs returns the command "ls".
func newLs() *cobra.Command {
	l := &lister{interval: seconds(2 * time.Second)}
	cmd := newOperator(&l.operator, &cobra.Command{
		Use:     "ls [flags] [ROOT]",
		Short:   "List the locks below a path",
		Long:    lsLong,
		Example: "  zksync ls /locks\n  zksync ls -o json / | jq -r '.locks[] | select(.waiters > 10) | .path'",
		Args:    maybeRoot,
	}, func(ctx context.Context, args []string) error { return l.list(ctx, rootOf(args)) })
	f := cmd.Flags()
	f.BoolVar(&l.watch, "watch", false, "print the list again and again, until the command is interrupted")
	f.Var(&l.interval, "interval", "time between two lists of --watch")
	return cmd
}

// list prints the list, with --watch again and again.
func (l *lister) list(ctx context.Context, root string) error {
	for first := true; ; first = false {
		list, err := l.read(ctx, root)
		if err != nil {
			return err
		}
		if err := l.showOnce(ctx, list, first); err != nil || !l.watch {
			return err
		}
		select {
		case <-time.After(max(time.Duration(l.interval), 100*time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read reads all locks below root, and shows how far it is.
func (l *lister) read(ctx context.Context, root string) (*view.List, error) {
	p := l.progress()
	defer p.end()
	return l.locks(ctx, root, func(list *view.List) { p.show("%d locks", len(list.Locks)) })
}

// locks reads all locks below root, and calls each with what it has after each of them.
func (o *operator) locks(ctx context.Context, root string, each func(*view.List)) (*view.List, error) {
	list := view.NewList(root, time.Now())
	for q, err := range o.queues(ctx, root) {
		switch {
		case err != nil && q.Path != "" && errors.Is(err, zksync.ErrNoAuth):
			list.Refused = append(list.Refused, q.Path)
			continue
		case err != nil:
			return nil, err
		}
		list.Locks = append(list.Locks, view.NewLock(&q))
		each(list)
	}
	list.Sort()
	return list, nil
}

// showOnce is show. Without --watch it also says what is missing in the list.
func (l *lister) showOnce(ctx context.Context, list *view.List, first bool) error {
	if l.watch {
		return l.show(list, first)
	}
	if len(list.Locks) == 0 && l.output == outputTable {
		l.notef("%s", l.none(ctx, list.Root))
	} else if err := l.show(list, first); err != nil {
		return err
	}
	if len(list.Refused) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.NoPermission, Err: l.refused(errors.New(list.Missing()))}
}

// none says that there are no locks below a path, and why if the path does not exist.
func (o *operator) none(ctx context.Context, root string) string {
	said := fmt.Sprintf("nobody holds a lock below %s or waits for one", text.Name(root))
	if _, why := o.lookAt(ctx, root); why != "" {
		said += ": " + why
	}
	return said
}

// clearScreen clears a terminal.
const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

// show prints a list. first says that it is the first one.
func (l *lister) show(list *view.List, first bool) error {
	if l.output == outputJSON {
		return l.printJSON(list)
	}
	return l.print(func(w io.Writer) {
		if l.watch {
			if onTerminal(l.stdout) {
				fmt.Fprint(w, clearScreen)
			} else if !first {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s at %s, %s\n", text.Name(list.Root), list.At.Local().Format(time.TimeOnly), text.Count(len(list.Locks), "lock", "locks"))
		}
		table.Write(w, l.style, view.LockColumns, view.LockRows(list.Locks, list.At))
		if missing := list.Missing(); l.watch && missing != "" {
			fmt.Fprintln(w, l.style.Warn(missing))
		}
	})
}

// onTerminal reports whether w is a terminal.
func onTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress is a line on stderr that says how far a command has come. It is there only
// on a terminal, and only when the command takes long.
type progress struct {
	w    io.Writer // nil: nowhere
	next time.Time // when to show the line again
	any  bool      // the line stands
}

const (
	progressAfter = 300 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress returns the line for a command that begins now.
func (o *operator) progress() *progress {
	p := &progress{next: time.Now().Add(progressAfter)}
	if onTerminal(o.stderr) && os.Getenv("TERM") != "dumb" {
		p.w = o.stderr
	}
	return p
}

// show shows a text, if the last one is not too fresh.
func (p *progress) show(format string, args ...any) {
	now := time.Now()
	if p.w == nil || now.Before(p.next) {
		return
	}
	p.next, p.any = now.Add(progressEvery), true
	fmt.Fprintf(p.w, "\r\x1b[0K"+format, args...)
}

// end removes the line.
func (p *progress) end() {
	if p.any {
		fmt.Fprint(p.w, "\r\x1b[0K")
	}
}
