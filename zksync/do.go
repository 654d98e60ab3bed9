package zksync

import (
	"context"
	"errors"
)

// work runs fn under a hold, and gives it back.
func (m *Mutex) work(ctx context.Context, h *Hold, fn func(ctx context.Context, h *Hold) error) (err error) {
	ctx, end := m.doing(ctx)
	defer func() { // also when fn panics or ends its goroutine
		end()
		rctx, cancel := m.brief(context.Background())
		defer cancel()
		rerr := h.Release(rctx)
		if rctx.Err() != nil && errors.Is(rerr, context.DeadlineExceeded) {
			// Not confirmed yet: that goes on without us, and is no reason to
			// tell that the work failed.
			rerr = nil
		}
		err = join(err, rerr)
	}()
	ctx = h.Context(ctx)
	if m.cfg.revocable {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		select {
		case <-h.Revoked():
			cancel(ErrRevoked)
		default:
			go func() {
				select {
				case <-h.Revoked():
					cancel(ErrRevoked)
				case <-ctx.Done():
				}
			}()
		}
	}
	return fn(ctx, h)
}

// join adds the error of a clean-up to the error that caused it, which comes
// first: the clean-up must not hide the cause.
func join(err, cleanup error) error {
	switch {
	case err == nil:
		return cleanup
	case cleanup == nil:
		return err
	}
	return errors.Join(err, cleanup)
}
