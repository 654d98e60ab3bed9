package queue

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// NoWriter is the rule of readers: it is a reader's turn when only readers stand before
// it. Otherwise it watches the nearest node before it that is no reader's: if all
// readers watched the first such node, each release of a writer would wake them all.
func NoWriter(line []znode.Name, own int) Verdict {
	for i := own - 1; i >= 0; i-- {
		if line[i].Kind != znode.Read {
			return Verdict{Watch: i}
		}
	}
	return Verdict{Held: true}
}

// StandBeside puts the entry's node, a read node, in the position of a write node
// whose turn it is: under the same sequence, in a transaction that checks that the
// write node exists. The entry gets the write node's fence. StandBeside returns
// conn.ErrNodeGone or conn.ErrSessionOver if the lock is lost. In every case Remove has
// to be called in the end.
func (e *Entry) StandBeside(ctx context.Context, w *Entry) error {
	parent, name := path.Split(w.nodes[0])
	seq := strings.TrimPrefix(name, znode.Prefix(znode.Write, w.guid))
	e.claim(znode.NewGUID())
	node := path.Join(parent, znode.Prefix(znode.Read, e.guid)+seq)
	e.stands(w.session, []string{node}, e.order.Data)
	e.fence.Store(w.Fence())
	for p := (pause{}); ; p.wait(ctx) {
		if err := e.awaitSession(ctx); err != nil {
			return err
		}
		ran, err := e.c.CreateBeside(w.nodes[0], node, e.order.Data, e.order.ACL)
		if errors.Is(err, zk.ErrNodeExists) {
			err = nil // made by an earlier try: nobody else has the GUID
		}
		switch {
		case err == nil && ran.Session() == e.session:
			return nil
		case err == nil:
			return conn.ErrSessionOver
		case errors.Is(err, zk.ErrNoNode):
			return conn.ErrNodeGone
		case errors.Is(err, conn.ErrClosed), conn.Classify(err) == conn.Answered:
			return err
		}
	}
}
