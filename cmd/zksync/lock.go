package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/process"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/view"
	"github.com/zklocker/go-zksync/zksync"
)

// releaseWithin limits the wait for the lock to be given back and for the end of the
// session, together. If they are not confirmed by then, the lock ends when the servers
// end the session.
const releaseWithin = 5 * time.Second

// obtain waits for the lock, until a signal asks for an end. On an error nothing
// is left behind, unless it said so or was asked twice.
func (r *runner) obtain(servers []string, opts []zksync.DialOption) error {
	ctx, cancel := context.WithCancel(traced(context.Background()))
	defer cancel()
	var err error
	first, done := attend(r.sigs, nil, func() {
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
	a := &announcer{lock: r.locks.String(), note: r.out.Notef}
	defer a.stop()
	opts = append(opts, zksync.WithTracer(zksync.JoinTracers(&zksync.Tracer{Blocked: a.blocked}, r.spans.tracer)))
	if r.session, err = r.dial(ctx, servers, opts); err != nil {
		return err
	}
	if r.hold, err = r.locks.hold(ctx, r.session, r.nonblock); err == nil {
		return nil
	}
	var peer *zksync.Peer
	if e := (*zksync.Error)(nil); errors.As(err, &e) {
		peer = e.Peer
	}
	switch {
	case errors.Is(err, zksync.ErrBusy):
		r.out.Notef("%s", r.notFree(peer))
		return &exit.Error{Code: r.conflict}
	case r.waitSet && errors.Is(err, context.DeadlineExceeded):
		said := fmt.Sprintf("%s not obtained within %v", &r.locks, time.Duration(r.wait))
		if peer != nil {
			said += ": " + describe(*peer, time.Now())
		}
		r.out.Notef("%s", said)
		return &exit.Error{Code: r.conflict}
	}
	return r.serviceError(err)
}

// holderWithin limits the search for the holder of a lock that was not free.
const holderWithin = 2 * time.Second

// notFree returns a line about the lock that was not free. If peer is a waiter, it asks
// for the holder.
func (r *runner) notFree(peer *zksync.Peer) string {
	if peer == nil || peer.Position <= 1 {
		return notFree(r.locks.String(), peer, time.Now())
	}
	ctx, cancel := context.WithTimeout(context.Background(), holderWithin)
	defer cancel()
	for _, lock := range r.locks.paths {
		if !strings.HasSuffix(path.Dir(peer.Node), lock) {
			continue
		}
		q, err := r.session.Inspect(ctx, lock)
		if err != nil {
			break
		}
		v := view.NewQueue(&q, time.Now())
		if held := v.Holders(); len(held) > 0 {
			return heldBy(r.locks.String(), held, v.Waiters(), v.At)
		}
	}
	return notFree(r.locks.String(), peer, time.Now())
}

// dial opens the session with ZooKeeper.
func (c *config) dial(outer context.Context, servers []string, opts []zksync.DialOption) (*zksync.Session, error) {
	ctx := outer
	if c.connectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.connectTimeout))
		defer cancel()
	}
	s, err := zksync.Dial(ctx, servers, opts...)
	if err == nil {
		return s, nil
	}
	e := c.serviceError(err)
	if e.Code == exit.Unavailable {
		switch {
		case ctx.Err() == nil:
			e.Code = exit.Usage // Dial did not even try
		case outer.Err() == nil:
			e.Err = fmt.Errorf("%s; \"zksync doctor\" examines the servers", strings.Replace(exit.Plain(err), context.DeadlineExceeded.Error(),
				fmt.Sprintf("waited %v (--connect-timeout)", time.Duration(c.connectTimeout)), 1))
		}
	}
	return nil, e
}

// serviceError is the function of this name. If permission is refused, the text says for
// which credentials.
func (c *config) serviceError(err error) *exit.Error {
	e := serviceError(err)
	if e.Code == exit.NoPermission && !errors.Is(err, zk.ErrAuthFailed) {
		e.Err = c.refused(err)
	}
	return e
}

// refused adds to an error for which credentials permission was refused.
func (c *config) refused(err error) error {
	switch scheme, cred, _ := c.auth(); scheme {
	case "":
		return fmt.Errorf("%w (without credentials: see --auth-file)", err)
	case "digest":
		user, _, _ := strings.Cut(string(cred), ":")
		return fmt.Errorf("%w (for digest:%s; ZooKeeper takes a wrong password for another user)", err, text.Name(user))
	default:
		return fmt.Errorf("%w (for these credentials of the scheme %s)", err, text.Name(scheme))
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	var releaseErr, closeErr error
	_, done := attend(r.sigs, ctx.Done(), func() {
		releaseErr = r.hold.Release(ctx)
		// Close deletes the node if Release could not, or ends the session.
		closeErr = r.session.Close()
	}, func() {}) // a first signal changes nothing: the end has begun
	switch {
	case !done: // the goroutine may still write the two errors
		why := "interrupted"
		if ctx.Err() != nil {
			why = fmt.Sprintf("no answer within %v", releaseWithin)
		}
		r.out.Errorf("%s not given back: %s; it is free when the session times out, in %v", &r.locks, why, r.session.Timeout())
	case errors.Is(releaseErr, zksync.ErrLost):
		return releaseErr
	case closeErr != nil:
		r.out.Errorf("%s may not be given back: %s; it is free when the session times out, in %v", &r.locks, exit.Plain(closeErr), r.session.Timeout())
	}
	return nil
}

// attend runs work and watches for signals that ask the program to end. On the
// first one it calls onFirst, which should make work return soon. On the second
// one, or at limit, it returns at once. It returns the first signal, or nil, and
// whether work has returned.
func attend(sigs <-chan os.Signal, limit <-chan struct{}, work, onFirst func()) (first os.Signal, done bool) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		work()
	}()
	for {
		select {
		case <-returned:
			return first, true
		case <-limit:
			return first, false
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
