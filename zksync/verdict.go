package zksync

import (
	"context"
	"errors"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
)

// wait waits for the result of giving a lock back, until ctx ends, and returns the error
// that it means.
func (s *Session) wait(ctx context.Context, b local.Back) error {
	d := b.Deletion
	if b.Lost != nil || d == nil {
		return b.Lost
	}
	select {
	case <-d.Done():
	case <-ctx.Done():
		return ctxErr(ctx)
	case <-s.life.Done():
		select {
		case <-d.Done():
		default:
			return ErrClosed // Close has returned and named the node
		}
	}
	err := s.verdict(d.Err())
	if errors.Is(err, ErrLost) && !errors.Is(d.Err(), ErrLost) { // else the loss is counted already
		s.table.Losses.Add(1)
	}
	return err
}

// verdict returns what the result of a deletion means for the lock.
func (s *Session) verdict(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrLost):
		return err
	case errors.Is(err, conn.ErrNodeGone), errors.Is(err, conn.ErrSessionOver):
		return lost(err)
	}
	return s.mapErr(context.Background(), err)
}

// mapErr converts an error of an internal package to the error that this package
// documents.
func (s *Session) mapErr(ctx context.Context, err error) error {
	var size *conn.SizeError
	switch {
	case errors.As(err, &size):
		return &SizeError{Size: size.Size, Limit: size.Limit}
	case errors.Is(err, conn.ErrClientClosed):
		return errClientClosed
	case errors.Is(err, conn.ErrClosed):
		return ErrClosed
	case errors.Is(err, queue.ErrExhausted):
		return ErrSequenceExhausted
	case errors.Is(err, queue.ErrBusy):
		return ErrBusy
	case errors.Is(err, queue.ErrLimit):
		return ErrLimitMismatch
	case ctx.Err() != nil:
		return ctxErr(ctx)
	}
	return refusal(err)
}

// LossReason returns why a lock was lost, of an error that Is ErrLost: of
// Release, say, or the cause of a Hold's context. For another it is "".
func LossReason(err error) EndReason {
	if !errors.Is(err, ErrLost) {
		return ""
	}
	return endReason(err)
}

// closed reports whether a lock was lost by the Close of its session.
func closed(err error) bool {
	return errors.Is(err, ErrClosed) && !errors.Is(err, errClientClosed)
}

func endReason(err error) EndReason {
	switch {
	case errors.Is(err, ErrClosed):
		return EndClosed
	case errors.Is(err, conn.ErrNodeGone):
		return EndNodeDeleted
	case errors.Is(err, conn.ErrNoContact):
		return EndContactLost
	}
	return EndSessionExpired
}
