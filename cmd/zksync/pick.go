package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
)

// notDone returns the error of a command that has found no reason to act.
func notDone(format string, args ...any) error {
	return &exit.Error{Code: exit.Conflict, Err: fmt.Errorf(format, args...)}
}

// pick returns the holders of a lock, or the one node in its line that name names: the
// last element of the node's path, or the path.
func (o *operator) pick(ctx context.Context, lock, name string) ([]*view.Node, error) {
	q, err := o.inspect(ctx, lock)
	if err != nil {
		return nil, err
	}
	if name != "" {
		for i := range q.Nodes {
			if q.Nodes[i].Name == path.Base(name) {
				return []*view.Node{&q.Nodes[i]}, nil
			}
		}
		return nil, notDone("no node %s in line for %s", text.Name(path.Base(name)), text.Name(lock))
	}
	held := q.Holders()
	if len(held) == 0 {
		return nil, notDone("%s", o.nobody(ctx, lock))
	}
	return held, nil
}

// pickOne is pick for a command that acts on one node.
func (o *operator) pickOne(ctx context.Context, lock, name string) (*view.Node, error) {
	nodes, err := o.pick(ctx, lock, name)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d hold %s together: name one of them with --node", len(nodes), text.Name(lock))
	for _, n := range nodes[:min(len(nodes), view.MaxListed)] {
		fmt.Fprintf(&b, "\n  %s  %s", text.Plain(n.Name), n.Who())
	}
	if more := len(nodes) - view.MaxListed; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return nil, &exit.Error{Code: exit.Usage, Err: errors.New(b.String())}
}
