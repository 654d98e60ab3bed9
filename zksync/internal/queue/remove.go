package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/defect"
)

// Remove deletes the entry's nodes and returns once they are known to be gone,
// which may take as long as the servers are away: it is called where that can
// be waited for, and it looks at no ctx (lesson 6). The result is nil if the
// nodes stood to the end, conn.ErrNodeGone or conn.ErrSessionOver if they had
// gone before, which means that a lock was lost; conn.ErrClosed if the
// connection was closed first; and the server's refusal if it will not delete.
func (e *Entry) Remove() error {
	var first error
	for left := e.Left(); len(left) > 0; left = e.Left() {
		err := e.removeNode(left[0])
		if first == nil {
			first = err
		}
		if errors.Is(err, conn.ErrClosed) {
			return err
		}
		e.mu.Lock()
		e.left = left[1:]
		e.mu.Unlock()
	}
	e.disown()
	return first
}

func (e *Entry) removeNode(node string) error {
	unknown := false
	for p := (pause{}); ; p.wait(context.Background()) {
		if _, err := e.c.Await(context.Background()); err != nil {
			return err
		}
		ran, err := e.c.Delete(node)
		// A deletion that was asked for under one session may be run by the next.
		over := ran.Before.Session != e.session || ran.After.Session != e.session
		switch {
		case errors.Is(err, conn.ErrClosed):
			return err
		case over && conn.Classify(err) == conn.Answered:
			return conn.ErrSessionOver
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if unknown {
				return nil // an earlier try did it (lesson 46)
			}
			if defect.On(defect.SilentLoss) {
				return nil
			}
			return conn.ErrNodeGone
		case conn.Classify(err) == conn.Answered:
			return err // a refusal stays one (lesson 45)
		case conn.Classify(err) == conn.Unknown:
			if defect.On(defect.DeleteOnce) {
				return nil
			}
			unknown = true
		}
	}
}
