package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// lookEvery is the time between two looks at a queue that is expected to change.
const lookEvery = 200 * time.Millisecond

// revoker is one "zksync revoke".
type revoker struct {
	operator
	node string
	wait seconds
}

// newRevoke returns the command "revoke".
func newRevoke() *cobra.Command {
	r := &revoker{}
	cmd := newOperator(&r.operator, &cobra.Command{
		Use:     "revoke [flags] LOCK",
		Short:   "Ask the holder of a lock to give it back",
		Long:    revokeLong,
		Example: "  zksync revoke --wait 30s /locks/nightly",
		Args:    oneArg("LOCK", checkPath),
	}, func(ctx context.Context, args []string) error { return r.revoke(ctx, args[0]) })
	f := cmd.Flags()
	f.StringVar(&r.node, "node", "", "ask the owner of this `node`, instead of all holders")
	f.Var(&r.wait, "wait", "wait at most this long for the lock to be given back, and fail if it is not")
	return cmd
}

// revoke asks the holders of a lock.
func (r *revoker) revoke(ctx context.Context, lock string) error {
	nodes, err := r.pick(ctx, lock, r.node)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := r.session.Revoke(ctx, n.Node); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		n.Revoked = true
		if r.output == outputTable {
			if err := r.print(func(w io.Writer) { fmt.Fprintf(w, "asked %s for %s\n", n.Program(), text.Plain(lock)) }); err != nil {
				return err
			}
		}
	}
	left := nodes
	if r.wait > 0 {
		if left, err = r.await(ctx, lock, nodes); err != nil {
			return err
		}
	}
	if r.output == outputJSON {
		if err := r.printJSON(view.NewRevoked(lock, nodes, r.wait > 0, len(left) == 0)); err != nil {
			return err
		}
	}
	if r.wait == 0 {
		return nil
	}
	if len(left) > 0 {
		return notDone("%s still has %s after %v: its program may not listen (see --help); stop it, or delete its node with \"zksync break %s\"",
			left[0].Program(), text.Name(lock), time.Duration(r.wait), text.Name(lock))
	}
	if r.output == outputTable {
		return r.print(func(w io.Writer) { fmt.Fprintln(w, "given back") })
	}
	return nil
}

// await waits until the nodes are gone from the line, and returns those that are not
// when --wait is over.
func (r *revoker) await(ctx context.Context, lock string, nodes []*view.Node) (left []*view.Node, err error) {
	end := time.Now().Add(time.Duration(r.wait))
	for {
		q, err := r.inspect(ctx, lock)
		if err != nil {
			return nil, err
		}
		there := make(map[string]bool, len(q.Nodes))
		for i := range q.Nodes {
			there[q.Nodes[i].Node] = true
		}
		left = nil
		for _, n := range nodes {
			if there[n.Node] {
				left = append(left, n)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return nil, err
		}
	}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
