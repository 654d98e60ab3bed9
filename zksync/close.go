package zksync

import (
	"context"
	"fmt"
	"time"
)

// Shutdown ends the session in good order: calls that take a context are
// refused from now on, and those that wait end, with ErrClosed; whoever holds
// a lock goes on, and so does every Lock, which has no error to return. When
// none is left it closes the session as Close does. If ctx ends first its
// error is returned, and the session is as before but for the refusals: Close
// it then, or wait with another Shutdown.
func (s *Session) Shutdown(ctx context.Context) error {
	s.stop()
	s.eachLock(func(l *lock) []after { return l.refuse(false) })
	for {
		s.mu.Lock()
		n, quiet := len(s.locks)+s.deleting, s.quiet
		s.mu.Unlock()
		if n == 0 || s.closed.Load() {
			return s.Close()
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return &Error{Op: "shutdown", Err: ctxErr(ctx)}
		}
	}
}

// Close ends the session, within 5 s. Every lock is given up: its node is
// deleted before the connection closes, the contexts of its Hold end with
// ErrLost, every wait ends with ErrClosed, and a waiting Lock panics; see
// Shutdown. The *Error names the nodes whose deletion could not be confirmed:
// they go when ZooKeeper ends the session, or, with NewSession, when the
// program does. Later calls wait for the first and return its result.
//
// Close waits until the tracer has been told of everything, but not longer than
// a second for any one of its functions, which may be what has called Close.
// What is left to tell is told afterwards.
func (s *Session) Close() error {
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
	s.closed.Store(true)
	s.stop()
	s.eachLock(func(l *lock) []after { return l.refuse(true) })
	timer := time.NewTimer(deleteLimit)
	defer timer.Stop()
	for done := false; !done; {
		s.mu.Lock()
		n, quiet := len(s.pending), s.quiet
		s.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-quiet:
		case <-timer.C:
			done = true
		}
	}
	var left []string
	s.mu.Lock()
	for e := range s.pending {
		left = append(left, e.Left()...)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(closeLimit))
	defer cancel()
	s.conn.Close(ctx)
	s.finish(ctx)
	if len(left) > 0 {
		return &Error{Op: "close", Err: fmt.Errorf("not deleted: %v", left)}
	}
	return nil
}

// finish tells the last there is to tell, and waits until the tracer has been told
// of everything. Close may be called by a function of the tracer: that one is not
// waited for longer than hookLimit.
func (s *Session) finish(ctx context.Context) {
	s.states.push(func() {
		s.events.push(func() {
			if s.conn != nil || s.told != "" {
				s.tell(SessionEvent{State: StateClosed})
			}
		})
	})
	s.states.drain(ctx, hookLimit)
	s.events.drain(ctx, hookLimit)
}

func (s *Session) stop() {
	if s.stopped.CompareAndSwap(false, true) {
		close(s.over)
	}
}
