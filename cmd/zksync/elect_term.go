package main

import (
	"context"

	"github.com/zklocker/go-zksync/zksync"
)

// leadership is the hold of a leader for its job: the leadership counts as lost also when it is
// asked back.
type leadership struct{ h *zksync.Hold }

// Context returns a context that ends when the leadership is lost or asked back.
func (t leadership) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(t.h.Context(parent))
	go func() {
		select {
		case <-t.h.Revoked():
			cancel(errResigns)
		case <-ctx.Done():
		}
	}()
	return ctx
}

// Err returns nil while the leadership is held and not asked back.
func (t leadership) Err() error {
	if err := t.h.Err(); err != nil {
		return err
	}
	select {
	case <-t.h.Revoked():
		return errResigns
	default:
		return nil
	}
}

// errResigns is why a command is ended whose leadership was asked back.
var errResigns error = resigns{}

// resigns is an error that Is [zksync.ErrRevoked], in words for a line that names the
// election.
type resigns struct{}

func (resigns) Error() string        { return "somebody has asked for it" }
func (resigns) Is(target error) bool { return target == zksync.ErrRevoked }
