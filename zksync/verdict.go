package zksync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/queue"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
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
	return s.counted(d.Err())
}

// counted returns what the result of a deletion means for the lock, and counts a loss that
// was not counted before.
func (s *Session) counted(result error) error {
	err := s.verdict(result)
	if errors.Is(err, ErrLost) && !errors.Is(result, ErrLost) {
		s.table.Losses.Add(1)
	}
	return err
}

// follow follows the result of giving a lock back in the background. If it shows that the
// lock had been lost, and nobody knew that, the loss is logged by report in the goroutine of
// the events.
func (s *Session) follow(b local.Back, report func(error)) {
	if b.Lost != nil || b.Deletion == nil {
		return
	}
	b.Deletion.Follow(func(result error) {
		if err := s.counted(result); errors.Is(err, ErrLost) && !closed(err) {
			s.events.push(func() { report(err) })
		}
	})
}

// sent waits until what gives locks back has been sent, until the deadline; if that is zero,
// for a third of the session timeout at most. A client that belongs to the program does not show what it has sent: there
// sent waits for the answers.
func (s *Session) sent(deadline time.Time, all ...local.Back) {
	var limit <-chan time.Time
	for _, b := range all {
		d := b.Deletion
		if b.Lost != nil || d == nil || !s.foreign && !d.Unsent() {
			continue
		}
		if limit == nil {
			left := s.Timeout() / 3
			if !deadline.IsZero() {
				left = time.Until(deadline)
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			limit = timer.C
		}
		if !s.foreign {
			if !d.AwaitSent(limit) {
				return
			}
			continue
		}
		select {
		case <-d.Done():
		case <-limit:
			return
		case <-s.life.Done():
			return // Close has named the node
		}
	}
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
	var mixed *queue.MixedError
	switch {
	case errors.As(err, &mixed):
		return fmt.Errorf("a %s can't wait behind a %s (%s): a path is a semaphore's or a lock's",
			kindNames[mixed.Kind], kindNames[mixed.Other], mixed.Node)
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

// kindNames are the kinds of nodes, as the program knows them.
var kindNames = map[znode.Kind]string{
	znode.Exclusive: "mutex", znode.Write: "write lock", znode.Read: "read lock", znode.Permit: "permit of a semaphore",
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
