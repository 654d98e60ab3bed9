package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// newShow returns the command "show".
func newShow() *cobra.Command {
	o := &operator{}
	return newOperator(o, &cobra.Command{
		Use:     "show [flags] LOCK",
		Short:   "Show who holds a lock and who waits for it, in order",
		Long:    showLong,
		Example: "  zksync show /locks/nightly\n  zksync show -o json /locks/nightly | jq -r '.nodes[] | select(.held) | .host'",
		Args:    oneArg("LOCK", checkPath),
	}, func(ctx context.Context, args []string) error { return o.show(ctx, args[0]) })
}

// show prints the queue at a path.
func (o *operator) show(ctx context.Context, lock string) error {
	q, err := o.inspect(ctx, lock)
	if err != nil {
		return err
	}
	if o.output == outputJSON {
		return o.printJSON(q)
	}
	if len(q.Nodes) == 0 {
		o.notef("%s", o.nobody(ctx, lock))
	}
	return o.print(func(w io.Writer) { view.WriteQueue(w, o.style, q) })
}

// inspect reads the queue at a path.
func (o *operator) inspect(ctx context.Context, lock string) (*view.Queue, error) {
	q, err := o.session.Inspect(ctx, lock)
	if err != nil {
		return nil, err
	}
	v := view.NewQueue(&q, time.Now())
	return &v, nil
}

// nobody says that a queue is empty, and what the path is if it is no lock that is free.
func (o *operator) nobody(ctx context.Context, lock string) string {
	said := "nobody is in line for " + text.Name(lock)
	stat, why := o.lookAt(ctx, lock)
	parent := path.Dir(lock)
	switch {
	case parent != "/" && o.inLine(ctx, parent, path.Base(lock)):
		return fmt.Sprintf("%s: it is a node in line for %s", said, text.Name(parent))
	case why != "":
		return said + ": " + why
	case stat != nil && stat.NumChildren > 0:
		return fmt.Sprintf("%s, but there are nodes below it: \"zksync ls %s\" lists the locks there", said, text.Name(lock))
	}
	return said + ": the lock is free"
}

// inLine reports whether a node stands in line for a lock.
func (o *operator) inLine(ctx context.Context, lock, node string) bool {
	q, err := o.session.Inspect(ctx, lock)
	return err == nil && slices.ContainsFunc(q.Nodes, func(n zksync.LockNode) bool { return path.Base(n.Node) == node })
}

// lookAt looks at the node of a path. Both results are empty if that is not possible. why
// says that there is no such path, or not even the chroot.
func (o *operator) lookAt(ctx context.Context, path string) (stat *zk.Stat, why string) {
	_, chroot, err := o.serverList()
	if err != nil {
		return nil, ""
	}
	get := func(node string) (*zk.Stat, error) {
		return ask(ctx, o, func(c *zk.Conn) (*zk.Stat, error) {
			_, stat, err := c.Get(node)
			return stat, err
		})
	}
	full := chroot + path
	if path == "/" && chroot != "" {
		full = chroot
	}
	stat, err = get(full)
	switch {
	case err == nil:
		return stat, ""
	case !errors.Is(err, zk.ErrNoNode):
		return nil, ""
	}
	missing := full == chroot
	if chroot != "" && !missing {
		_, err = get(chroot)
		missing = errors.Is(err, zk.ErrNoNode)
	}
	if missing {
		return nil, fmt.Sprintf("the chroot %s does not exist", text.Name(chroot))
	}
	return nil, "there is no such path"
}
