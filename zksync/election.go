package zksync

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Election chooses one leader among all the programs that stand for it: the first in the
// line of its path. When the leader resigns, fails or is cut off, the next in line leads.
// It is a lock whose holders work for as long as they can: on the same path it excludes a
// Mutex, and Curator's LeaderSelector.
//
// A program runs Run to stand. It tells its leadership by the context and the handle that
// its function gets, and by nothing else: by the time that an answer "you lead" is read, it
// may be wrong. Programs that only want to know who leads use Leader and Observe, which
// need no permission but to read.
//
// Get one from NewElection: the zero value is not usable, and its methods panic. An
// Election must not be copied. Two for the same path on one session are the same
// election. Its methods may be called by several goroutines.
type Election struct {
	m Mutex
}

// NewElection returns the election of a path on a session. It makes no request: an invalid
// path (ErrInvalidPath), or an option that makes no sense, is reported when the election
// is used. WithHandoff and WithLinger change nothing, because each leader has a node of its
// own. NewElection panics if s is nil.
func NewElection(s *Session, path string, opts ...LockOption) *Election {
	if s == nil {
		panic("zksync: NewElection with a nil Session")
	}
	e := &Election{}
	e.m.init(s, path, ModeMutex, znode.Exclusive, opts)
	return e
}

func (e *Election) check() {
	if e == nil || e.m.s == nil {
		panic("zksync: use of zero Election")
	}
}

// Run stands for the election until ctx is done, and calls lead each time that this call
// has become the leader. lead gets the handle, whose fence grows from leader to leader, and
// a context that ends with ctx, when the leadership is lost, and with WithCancelOnRevoke
// when it is asked back; see Hold.Revoked for the latter without that option.
//
// If the leadership was lost or asked back by the time that lead returns, Run stands again,
// at the end of the line, whatever lead returned. If lead then returned an error that does
// not come from the end of its context, that is logged at level Warn. Otherwise lead has
// resigned: Run gives the leadership up and returns lead's error, joined with ErrLost if a
// loss showed only then. Run does the same, as Do does, if ctx has ended or the session was
// closed by the time that lead returns, and joins the loss with lead's error.
//
// Run calls lead in its own goroutine, and waits for it: a lead that goes on after its
// context has ended works beside the next leader, and keeps this call from standing again.
// If lead panics, or ends its goroutine, the leadership is given up first.
//
// Several calls may run at the same time. One of them leads at a time, also if their
// contexts carry the same Owner: an election has no owners. A call with the context of
// lead, or of a Do on the same path, fails with ErrDeadlock, as for Do.
//
// Every other end is an *Error: while Run waits, it Is ctx.Err() and context.Cause(ctx) if
// ctx ends, and else one of those of LockContext, such as ErrClosed or ErrNoAuth. Run
// leaves nothing behind: a node that can't be deleted at once is deleted in the background.
// It panics if lead is nil.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, h *Hold) error) error {
	e.check()
	if lead == nil {
		panic("zksync: Election.Run with a nil function")
	}
	stand := WithOwner(ctx, Owner{}) // calls of one owner would lead beside each other
	for {
		c := holdCall()
		if err := e.m.acquire(stand, "elect", c); err != nil {
			return err
		}
		if err, again := e.term(ctx, c.hold, lead); !again || ctx.Err() != nil {
			return err
		}
	}
}

// term runs lead once. again reports that it did not resign: the leadership was lost or
// asked back before.
func (e *Election) term(ctx context.Context, h *Hold, lead func(ctx context.Context, h *Hold) error) (err error, again bool) {
	var result, loss error
	err = e.m.work(ctx, h, func(ctx context.Context, h *Hold) error {
		result = lead(ctx, h)
		if loss = h.Err(); !errors.Is(loss, ErrLost) {
			loss = nil // Err is context.Canceled if lead has released the hold
		}
		select {
		case <-h.Revoked():
			again = true
		default:
			again = loss != nil
		}
		return result
	})
	if errors.Is(loss, ErrClosed) {
		return err, false
	}
	if again && ctx.Err() == nil && result != nil && !errors.Is(result, context.Canceled) &&
		!errors.Is(result, ErrLost) && !errors.Is(result, ErrRevoked) {
		e.m.s.logger().Warn("zksync: the leader failed after its leadership had ended; it stands again",
			"path", e.m.path, "node", h.Node(), "error", result)
	}
	return err, again
}

// Leader returns the node of the present leader. It lists the path and reads one node. If
// nobody stands for the election, the error Is ErrNoLeader. The answer may be out of date;
// see also Observe. Of a node that the session may not read, it has what the name says. The
// Identity of a leader with Curator's LeaderSelector is its id.
//
// Leader waits for a connection and for answers, until ctx is done. The error is an *Error
// that Is ctx.Err() and context.Cause(ctx), ErrClosed, ErrInvalidPath, ErrNoAuth or another
// refusal of the servers, or tells that the options make no sense.
func (e *Election) Leader(ctx context.Context) (LockNode, error) {
	e.check()
	n, err := e.leader(ctx)
	if err == nil && n.Node == "" {
		err = ErrNoLeader
	}
	if err != nil {
		return LockNode{}, &Error{Op: "leader", Path: e.m.path, Err: err}
	}
	return n, nil
}

// leader returns the node of the leader, and a zero one if there is none.
func (e *Election) leader(ctx context.Context) (LockNode, error) {
	for p := (queue.Pause{}); ; p.Wait(ctx) {
		line, _, err := e.line(ctx)
		if err != nil || len(line) == 0 {
			return LockNode{}, err
		}
		for _, name := range line {
			n, err := e.node(ctx, name)
			if !errors.Is(err, zk.ErrNoNode) {
				return n, err
			}
			// It was first in line and is gone, so that the next one of the list is first.
		}
	}
}

// line lists who stands for the election, in order. there reports whether the path exists.
func (e *Election) line(ctx context.Context) (line []znode.Name, there bool, err error) {
	if e.m.err != nil {
		return nil, false, e.m.err
	}
	s := e.m.s
	names, err := answered(ctx, s, func() ([]string, error) {
		names, _, err := s.conn.Children(e.m.full)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return e.parse(names), err == nil, err
}

// parse returns the lock nodes among names, in order.
func (e *Election) parse(names []string) (line []znode.Name) {
	for _, n := range names {
		if name, ok := znode.ParseAny(n, e.m.cfg.Foreign); ok {
			line = append(line, name)
		}
	}
	znode.Sort(line)
	return line
}

// node reads a node that is first in line.
func (e *Election) node(ctx context.Context, name znode.Name) (LockNode, error) {
	n, err := e.m.s.node(ctx, e.m.full, name)
	n.Held = true
	return n, err
}
