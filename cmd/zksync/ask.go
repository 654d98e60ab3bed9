package main

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/await"
)

// askAgain is the pause before a request is made again.
const askAgain = 100 * time.Millisecond

// ask makes a request with the session's own client, again until it is answered or ctx
// ends, as [await.Result] does. f must stand being called twice: the answer to the first
// call may be lost.
func ask[T any](ctx context.Context, o *operator, f func(c *zk.Conn) (T, error)) (T, error) {
	for {
		c := o.session.Conn()
		result, err := await.Result(ctx, func() (T, error) { return f(c) })
		if !unanswered(err) {
			return result, err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// unanswered reports whether err leaves open what the server has done. The client passes
// on the error with which its connection has ended.
func unanswered(err error) bool {
	if errors.As(err, new(net.Error)) {
		return true
	}
	for _, e := range []error{
		zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrNoServer, zk.ErrClosing,
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
