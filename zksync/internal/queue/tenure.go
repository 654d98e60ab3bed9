package queue

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// ErrNotAlone is returned by Renew when somebody else is in line.
var ErrNotAlone = errors.New("somebody else is in line")

// Fit reports whether the entry, whose turn it is, may serve another tenure at
// this moment without asking anybody: its node is watched on the connection
// that is up, nothing has been heard of it, and its session is alive.
func (e *Entry) Fit(own *conn.Watch) bool {
	if own == nil {
		return false
	}
	over, _ := own.Over()
	st, _ := e.c.State()
	return !over && st.Up && st.Epoch == own.Epoch && st.Session == e.session && e.c.Alive(e.session)
}

// Renew makes the entry fit, with the requests that takes, and returns the
// watch on its node. With alone, it fails with ErrNotAlone unless nobody else
// stands in line. It waits while there is no connection, until ctx ends.
func (e *Entry) Renew(ctx context.Context, alone bool) (*conn.Watch, error) {
	for p := (pause{}); ; p.wait(ctx) {
		st, err := e.c.Await(ctx)
		if err != nil {
			return nil, err
		}
		if st.Session != e.session {
			return nil, conn.ErrSessionOver
		}
		w, err := e.c.Watch(e.nodes[0])
		if err == nil && alone {
			err = e.alone()
		}
		if err == nil && !e.c.Alive(e.session) {
			err = e.c.Prove(e.session, e.nodes[0])
		}
		switch {
		case err == nil && e.Fit(w):
			return w, nil
		case errors.Is(err, zk.ErrNoNode):
			return nil, conn.ErrNodeGone
		case errors.Is(err, ErrNotAlone), errors.Is(err, conn.ErrNodeGone), errors.Is(err, conn.ErrSessionOver):
			return nil, err
		case errors.Is(err, conn.ErrClosed):
			return nil, err
		case err != nil && conn.Classify(err) == conn.Answered:
			return nil, err
		}
	}
}

func (e *Entry) alone() error {
	names, _, err := e.c.Children(e.order.Places[0].Parent)
	if err != nil {
		return err
	}
	line := e.parse(e.order.Places[0], names)
	if len(line) != 1 {
		return ErrNotAlone
	}
	if line[0].Raw != path.Base(e.nodes[0]) {
		return conn.ErrNodeGone
	}
	return nil
}
