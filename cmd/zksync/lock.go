package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/zksync"
)

// releaseWithin limits the wait for the lock to be given back. If that is not
// confirmed by then, the lock ends with the session.
const releaseWithin = 5 * time.Second

// obtain waits for the lock, until a signal asks for an end. On an error nothing
// is left behind, unless it said so or was asked twice.
func (r *runner) obtain(servers []string, opts []zksync.DialOption) error {
	ctx, cancel := context.WithCancel(traced(context.Background()))
	defer cancel()
	var err error
	first, done := attend(r.sigs, func() {
		if err = r.acquire(ctx, servers, opts); err != nil && r.session != nil {
			if e := r.session.Close(); e != nil {
				r.out.Errorf("may still stand in line: %s; that ends when the session times out, in %v", exit.Plain(e), r.session.Timeout())
			}
		}
	}, cancel)
	switch {
	case first == nil:
		return err
	case !done:
		// Asked twice: the server deletes the node with the session.
	case err == nil:
		_ = r.giveBack() // granted at the same moment
	}
	return exit.Interrupted(first)
}

// acquire connects and takes the lock.
func (r *runner) acquire(ctx context.Context, servers []string, opts []zksync.DialOption) (err error) {
	if r.waitSet {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.wait))
		defer cancel()
	}
	a := &announcer{lock: r.lock, note: r.out.Notef}
	defer a.stop()
	tracer := &zksync.Tracer{Blocked: a.blocked}
	if r.trace {
		spans, err := newSpans(r.out)
		if err != nil {
			return exit.Usagef("--trace: %w", err) // of OTEL_RESOURCE_ATTRIBUTES
		}
		tracer = zksync.JoinTracers(tracer, spans)
	}
	opts = append(opts, zksync.WithTracer(tracer))
	if r.session, err = r.dial(ctx, servers, opts); err != nil {
		return err
	}
	mu := zksync.NewMutex(r.session, r.lock)
	if r.nonblock {
		r.hold, err = mu.TryHold(ctx)
	} else {
		r.hold, err = mu.Hold(ctx)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zksync.ErrBusy):
		r.out.Notef("%s is held by another", r.lock)
		return &exit.Error{Code: r.conflict}
	case r.waitSet && errors.Is(err, context.DeadlineExceeded):
		r.out.Notef("%s not obtained within %v", r.lock, time.Duration(r.wait))
		return &exit.Error{Code: r.conflict}
	}
	return serviceError(err)
}

// dial opens the session with ZooKeeper.
func (r *runner) dial(ctx context.Context, servers []string, opts []zksync.DialOption) (*zksync.Session, error) {
	if r.connectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.connectTimeout))
		defer cancel()
	}
	s, err := zksync.Dial(ctx, servers, opts...)
	if err == nil {
		return s, nil
	}
	e := serviceError(err)
	if ctx.Err() == nil && e.Code == exit.Unavailable {
		e.Code = exit.Usage // Dial did not even try
	}
	return nil, e
}

// serviceError gives an error of package zksync its exit code.
func serviceError(err error) *exit.Error {
	e := &exit.Error{Code: exit.Unavailable, Err: err}
	var typed *zksync.Error
	switch {
	case errors.Is(err, zksync.ErrInvalidPath):
		e.Code = exit.Usage
	case errors.As(err, &typed) && typed.ErrorType() == "no_auth":
		e.Code = exit.NoPermission
	}
	return e
}

// giveBack releases the lock and ends the session. Its error means that the lock
// was lost before. If ZooKeeper can't be reached, giveBack only prints that: the
// lock ends with the session.
func (r *runner) giveBack() (lost error) {
	var releaseErr, closeErr error
	_, done := attend(r.sigs, func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
		defer cancel()
		releaseErr = r.hold.Release(ctx)
		// Close deletes the node if Release could not, or ends the session.
		closeErr = r.session.Close()
	}, func() {}) // a first signal changes nothing: the end has begun
	switch {
	case !done: // the goroutine may still write the two errors
		r.out.Errorf("%s not given back: interrupted; it is free when the session times out, in %v", r.lock, r.session.Timeout())
	case errors.Is(releaseErr, zksync.ErrLost):
		return releaseErr
	case closeErr != nil:
		r.out.Errorf("%s may not be given back: %s; it is free when the session times out, in %v", r.lock, exit.Plain(closeErr), r.session.Timeout())
	}
	return nil
}

// attend runs work and watches for signals that ask the program to end. On the
// first one it calls onFirst, which should make work return soon. On the second
// one it returns at once. It returns the first signal, or nil, and whether work
// has returned.
func attend(sigs <-chan os.Signal, work, onFirst func()) (first os.Signal, done bool) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		work()
	}()
	for {
		select {
		case <-returned:
			return first, true
		case sig := <-sigs:
			switch {
			case !process.AsksToEnd(sig):
				// It is meant for the command, which does not run.
			case first != nil:
				return first, false
			default:
				first = sig
				onFirst()
			}
		}
	}
}
