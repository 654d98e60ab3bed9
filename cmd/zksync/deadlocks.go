package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// newDeadlocks returns the command "deadlocks".
func newDeadlocks() *cobra.Command {
	o := &operator{}
	return newOperator(o, &cobra.Command{
		Use:     "deadlocks [flags] [ROOT]",
		Short:   "Find owners that wait for each other",
		Long:    deadlocksLong,
		Example: "  zksync deadlocks /locks",
		Args:    maybeRoot,
	}, func(ctx context.Context, args []string) error { return o.deadlocks(ctx, rootOf(args)) })
}

// deadlocks prints the cycles below a path.
func (o *operator) deadlocks(ctx context.Context, root string) error {
	tree, err := o.session.InspectTree(ctx, root)
	if err != nil {
		return err
	}
	d := view.NewDeadlocks(&tree, time.Now())
	switch {
	case o.output == outputJSON:
		err = o.printJSON(d)
	case len(tree.Queues) == 0:
		o.notef("no deadlock: %s", o.none(ctx, root))
	case len(d.Cycles) == 0:
		o.notef("no deadlock below %s (%s)", text.Name(root), text.Count(len(tree.Queues), "lock", "locks"))
	default:
		err = o.print(func(w io.Writer) { writeDeadlocks(w, o.style, d) })
	}
	if err == nil && len(d.Cycles) > 0 {
		err = &exit.Error{Code: exit.Conflict}
	}
	return err
}

// writeDeadlocks writes the cycles for a person.
func writeDeadlocks(w io.Writer, s *table.Style, d *view.Deadlocks) {
	for i := range d.Cycles {
		c := &d.Cycles[i]
		sure := s.Bad("certain")
		if !c.Certain {
			sure = s.Warn("not certain: look again")
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "deadlock of %d owners, %s\n", len(c.Waits), sure)
		for _, step := range c.Waits {
			fmt.Fprintf(w, "  %s waits for %s\n", ownerText(step.OwnerName, step.Owner), ownerText(step.ForName, step.For))
			fmt.Fprintf(w, "    for the lock %s\n    with the node %s\n", text.Plain(step.Path), text.Plain(path.Base(step.Node)))
		}
		fmt.Fprintf(w, "To end it, delete one of the nodes: zksync break --node %s %s\n",
			text.Plain(path.Base(c.Waits[0].Node)), text.Plain(c.Waits[0].Path))
	}
}

// ownerText names an owner.
func ownerText(name, id string) string {
	if name == "" {
		return "owner " + text.Name(id)
	}
	return text.Name(name)
}
