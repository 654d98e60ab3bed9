package zksync

import (
	"context"
	"errors"
)

// notBusy returns the error of a TryDo whose function did not run: none for a refusal.
func notBusy(err error) error {
	if errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// work runs fn under a hold, and gives it back.
func (m *Mutex) work(ctx context.Context, h *Hold, fn func(ctx context.Context, h *Hold) error) (err error) {
	ctx, end := m.doing(ctx)
	defer func() { // also when fn panics or ends its goroutine
		end()
		rctx, cancel := m.brief(context.Background())
		defer cancel()
		rerr := h.Release(rctx)
		if !errors.Is(rerr, ErrLost) && (errors.Is(rerr, context.DeadlineExceeded) || errors.Is(rerr, context.Canceled)) {
			// Not confirmed yet, within this wait or that of a Release by fn: the
			// deletion goes on without us, and the work has not failed.
			rerr = nil
		}
		err = join(err, rerr)
	}()
	if m.cfg.revocable {
		err = m.revocably(h.Context(ctx), h, fn)
	} else {
		err = fn(h.Context(ctx), h)
	}
	if err == nil || errors.Is(err, ErrRevoked) {
		return err
	}
	select {
	case <-h.Revoked():
		return join(err, h.named("hold", ErrRevoked))
	default:
		return err
	}
}

// revocably runs fn with a context that ends also when the lock is asked back.
func (m *Mutex) revocably(ctx context.Context, h *Hold, fn func(ctx context.Context, h *Hold) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	revoked := h.named("hold", ErrRevoked)
	select {
	case <-h.Revoked():
		cancel(revoked)
	default:
		go func() {
			select {
			case <-h.Revoked():
				cancel(revoked)
			case <-ctx.Done():
			}
		}()
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
