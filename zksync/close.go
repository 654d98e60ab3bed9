package zksync

import (
	"context"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// Shutdown ends the session in an orderly way. From now on it refuses calls that take
// a context, and it ends those that wait, with ErrClosed. Holders go on, and so does
// every Lock, which has no error to return. When none is left, Shutdown closes the
// session as Close does. If ctx ends first, Shutdown returns its error; the session
// still works, but goes on refusing: then Close it, or wait with another Shutdown.
func (s *Session) Shutdown(ctx context.Context) error {
	s.check()
	s.table.Stop(ErrClosed)
	if s.table.Empty(ctx) {
		return &Error{Op: "shutdown", Err: ctxErr(ctx)}
	}
	return s.Close()
}

// Close ends the session, within 5 s. It gives up every lock: it deletes the lock's
// node before the connection closes, the contexts of its Hold end with ErrLost, every
// wait ends with ErrClosed, and a waiting Lock panics; see Shutdown.
//
// The *Error names the nodes whose deletion could not be confirmed, and the paths
// where a node may exist because the answer to its creation is missing: those paths
// lack the number that ZooKeeper adds. After Dial these nodes go when ZooKeeper ends
// the session. After NewSession the client and its session live on, and so does the
// clean-up: it goes on in the background until each of the nodes is known to be
// gone, their session is over, or the program closes its client. If nothing is left
// to do, nothing goes on.
//
// The *Error also names nodes, 100 at most, that ZooKeeper has refused to delete and
// whose session still lives; an access list without zk.PermDelete causes this. Close
// does not try these again: they block their locks until the session ends, or until
// a client with the permission deletes them.
//
// The *Error does not name nodes of a session that was given up because its client
// had locked up: they go when ZooKeeper ends that session, T after the last contact.
//
// Later calls wait for the first one and return its result.
//
// Close waits until the tracer has got all its calls, but for at most a second for
// each of its functions, because such a function may have called Close. The calls
// that are left are made afterwards.
func (s *Session) Close() error {
	s.check()
	if s.closing.CompareAndSwap(false, true) {
		defer close(s.ended)
		s.result = s.close()
		return s.result
	}
	<-s.ended
	return s.result
}

func (s *Session) close() error {
	start := time.Now()
	s.table.Close(ErrClosed)
	timer := time.NewTimer(deleteLimit)
	defer timer.Stop()
	clean := s.table.Cleaned(timer.C)
	err := s.leftovers()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(closeLimit))
	defer cancel()
	if s.foreign && !clean && !s.abandoned() {
		s.end(conn.ErrClosed)
		go s.linger()
	} else {
		s.conn.Close(ctx)
	}
	s.finish(ctx)
	return err
}

// abandoned reports whether the program is known to have closed its client.
func (s *Session) abandoned() bool {
	select {
	case <-s.conn.Abandoned():
		return true
	default:
		return false
	}
}

// leftovers returns the error that names all that is not known to be gone, or nil.
func (s *Session) leftovers() error {
	left, open, refused := s.table.Left(s.ID())
	var errs []error
	if len(refused) > 0 {
		errs = append(errs, fmt.Errorf("ZooKeeper refused to delete: %v", refused))
	}
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("not deleted: %v", left))
	}
	if len(open) > 0 {
		errs = append(errs, fmt.Errorf("created perhaps, with a number after the name (no answer): %v", open))
	}
	if len(errs) == 0 {
		return nil
	}
	return &Error{Op: "close", Err: joined(errs)}
}

// linger lets the clean-up go on after Close on a client that belongs to the program. The
// goroutines of the entries do the work.
func (s *Session) linger() {
	s.table.Cleaned(nil)
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	s.conn.Close(ctx)
}

// during returns a context that ends with ctx, and also when a Close returns that leaves
// the clean-up and the connection running. The cause is conn.ErrClosed then.
func (s *Session) during(ctx context.Context) (context.Context, context.CancelFunc) {
	if !s.foreign {
		return ctx, func() {} // the connection ends with Close
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	return ctx, func() { stop(); cancel(nil) }
}

// finish reports StateClosed as the last event, and waits until the tracer has
// got all its calls. A function of the tracer may have called Close, so
// finish waits at most hookLimit for any one function.
func (s *Session) finish(ctx context.Context) {
	s.states.push(func() {
		s.events.push(func() {
			if s.conn != nil || s.reported != "" {
				s.report(SessionEvent{State: StateClosed})
			}
		})
	})
	s.states.drain(ctx, hookLimit)
	s.events.drain(ctx, hookLimit)
}
