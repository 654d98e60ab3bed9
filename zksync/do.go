package zksync

import (
	"context"
	"errors"
	"strings"
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
	return joined{err, cleanup}
}

// joined is what errors.Join returns, with its text on one line.
type joined []error

func (j joined) Error() string {
	texts := make([]string, len(j))
	for i, err := range j {
		texts[i] = err.Error()
		if i > 0 {
			texts[i] = strings.TrimPrefix(texts[i], "zksync: ")
		}
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (j joined) Unwrap() []error { return j }

// Do waits for the lock until ctx is done, and holds it while fn runs. fn gets the
// handle and a context that ends with ctx, with a loss of the lock, and with
// WithCancelOnRevoke when the lock is asked back.
//
// Until Do ends, a call for the same lock on this session fails at once with ErrDeadlock
// if it has this context or one made from it, even one that no longer ends with it
// (context.WithoutCancel). The lock's other side, if it has two, is the same lock, and so
// is a Multi that takes it. Such a call enters the lock again if it is made for an
// [Owner] who holds it: give Do a context WithOwner, or call it on the result of As.
//
// Do returns fn's error, joined with ErrLost if the lock was lost, whatever fn
// returned. An error of fn is also joined with ErrRevoked if the lock was asked back; nil stays nil, because the lock was held. If the lock can't be had, fn
// does not run, and the error is one of LockContext's; nothing is left behind. If fn
// panics the lock is released first. Do waits at most a third of the session timeout for
// the confirmation of the release; after that the deletion goes on in the background, and
// that is no error.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	m.check()
	c := holdCall()
	if err := m.acquire(ctx, "lock", c); err != nil {
		return err
	}
	return m.work(ctx, c.hold, fn)
}

// TryDo runs fn under the lock as Do does, if nobody holds the lock or waits for it, and
// reports whether fn ran: false without an error means that somebody else has the lock.
// It waits for a connection and for answers, until ctx is done.
//
// If fn ran, the error is one of Do's. If it did not, the error is one of TryHold's but
// ErrBusy, and nothing is left behind, as with TryHold.
func (m *Mutex) TryDo(ctx context.Context, fn func(ctx context.Context, h *Hold) error) (ran bool, err error) {
	c := holdCall().tries()
	if err := m.acquire(ctx, "try", c); err != nil {
		return false, notBusy(err)
	}
	return true, m.work(ctx, c.hold, fn)
}
