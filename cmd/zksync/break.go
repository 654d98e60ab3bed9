package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// nextWithin limits the wait for the next holder. A program whose node was deleted may
// have a second one in line, which it deletes when it notices.
const nextWithin = 10 * time.Second

// breaker is one "zksync break".
type breaker struct {
	operator
	node string
	yes  bool
}

// newBreak returns the command "break".
func newBreak() *cobra.Command {
	b := &breaker{}
	cmd := newOperator(&b.operator, &cobra.Command{
		Use:     "break [flags] LOCK",
		Short:   "Take a lock away from a holder that does not give it back",
		Long:    breakLong,
		Example: "  zksync break /locks/nightly\n  zksync break --yes --node _c_5f0c2f3e-...-lock-0000000012 /locks/nightly",
		Args:    oneArg("LOCK", checkPath),
	}, func(ctx context.Context, args []string) error { return b.run(ctx, args[0]) })
	f := cmd.Flags()
	f.StringVar(&b.node, "node", "", "delete this `node` in line, instead of the holder's")
	f.BoolVarP(&b.yes, "yes", "y", false, "do not ask")
	return cmd
}

// run shows the node, asks, deletes it and waits for the next holder.
func (b *breaker) run(ctx context.Context, lock string) error {
	n, err := b.pickOne(ctx, lock, b.node)
	if err != nil {
		return err
	}
	if err := b.confirm(ctx, lock, n); err != nil {
		return err
	}
	if err := b.deleteShown(ctx, n); err != nil {
		return err
	}
	if b.output == outputTable {
		if err := b.print(func(w io.Writer) { fmt.Fprintf(w, "broken: %s has lost its node %s\n", n.Who(), text.Plain(n.Name)) }); err != nil {
			return err
		}
	}
	next, left, err := b.next(ctx, lock, n)
	if err != nil {
		return err
	}
	if b.output == outputJSON {
		return b.printJSON(view.NewBroken(lock, n, next))
	}
	return b.print(func(w io.Writer) {
		switch {
		case next != nil:
			fmt.Fprintf(w, "next: %s, in line for %s\n", next.Who(), next.AgeText(time.Now()))
		case left:
			fmt.Fprintf(w, "%s has another node in line, and it is its turn: look at it with zksync show\n", n.Who())
		default:
			fmt.Fprintf(w, "nobody waits: %s is free\n", text.Plain(lock))
		}
	})
}

// confirm asks the user to type the name of who will lose the lock.
func (b *breaker) confirm(ctx context.Context, lock string, n *view.Node) error {
	if b.yes {
		return nil
	}
	if !onTerminal(b.stdin) {
		return exit.Usagef("break asks before it deletes a node, and stdin is not a terminal: give --yes")
	}
	does := "holds"
	if !n.Held {
		does = "waits for"
	}
	fmt.Fprintf(b.stderr, "%s %s %s.\n", n.Program(), does, text.Name(lock))
	fmt.Fprintf(b.stderr, "It came %s, its node is %s (session %s, fence %d).\n", n.SinceText(time.Now()), text.Plain(n.Name), n.Session, n.Fence)
	fmt.Fprintln(b.stderr, "If its program still runs, it may go on as if it had the lock.")
	word := n.Word()
	fmt.Fprintf(b.stderr, "Type %s to delete its node: ", word)
	answer, err := readLine(ctx, b.stdin)
	if err != nil {
		fmt.Fprintln(b.stderr)
		return err
	}
	if strings.TrimSpace(answer) != word {
		return notDone("nothing was deleted: that is not %s", word)
	}
	return nil
}

// readLine reads a line from r, which may go on being read if ctx ends first.
func readLine(ctx context.Context, r io.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(r).ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err != nil && l.err != io.EOF {
			return "", notDone("nothing was deleted: %w", l.err)
		}
		return l.text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// errChanged says that a node is not any more what was shown of it.
var errChanged = errors.New("changed")

// deleteShown deletes the node that was shown, and no other: the node still has to have
// the zxid of its creation, and the version of its data is checked by the server when it
// deletes the node.
func (o *operator) deleteShown(ctx context.Context, n *view.Node) error {
	if n.Since.IsZero() {
		return &exit.Error{Code: exit.NoPermission, Err: fmt.Errorf("nothing was deleted: this session may not read the node %s, and so can't tell it from another", text.Name(n.Name))}
	}
	sent := false // a deletion, whose answer was lost
	_, err := ask(ctx, o, func(c *zk.Conn) (none struct{}, err error) {
		_, stat, err := c.Get(n.Node)
		switch {
		case errors.Is(err, zk.ErrNoNode) && sent:
			return none, nil
		case err != nil:
			return none, err
		case stat.Czxid != n.Fence || stat.Version != n.Version || stat.EphemeralOwner != n.Owner():
			return none, errChanged
		}
		was := sent
		sent = true
		err = c.Delete(n.Node, n.Version)
		if errors.Is(err, zk.ErrNoNode) && was {
			return none, nil
		}
		return none, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return notDone("nothing was deleted: %s has left the line meanwhile", n.Who())
	case errors.Is(err, errChanged), errors.Is(err, zk.ErrBadVersion):
		return notDone("nothing was deleted: the node %s has changed since it was read; look again with zksync show", text.Name(n.Name))
	case errors.Is(err, zk.ErrNoAuth):
		return &exit.Error{Code: exit.NoPermission, Err: fmt.Errorf("nothing was deleted: no permission to delete %s", text.Name(n.Node))}
	}
	return err
}

// next waits until another call than that of the deleted node n holds the lock, or until
// nobody is in line. left says that nodes of the same call remain first in line.
func (o *operator) next(ctx context.Context, lock string, n *view.Node) (next *view.Node, left bool, err error) {
	for end := time.Now().Add(nextWithin); ; {
		q, err := o.inspect(ctx, lock)
		if err != nil {
			return nil, false, err
		}
		held := q.Holders()
		for _, h := range held {
			if !h.SameCall(n) {
				return h, false, nil
			}
		}
		if len(held) == 0 || time.Now().After(end) {
			return nil, len(held) > 0, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return nil, false, err
		}
	}
}
