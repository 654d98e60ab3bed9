package zksync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// The errors of this package. Methods return them wrapped in an [*Error], which
// names the lock and the node; compare with [errors.Is].
var (
	// ErrLost is returned when the lock was lost before it was released: its
	// node is gone, its session is over, or the quorum was out of reach for
	// half a session timeout. Somebody else may hold the lock by now.
	ErrLost = errors.New("zksync: lock lost")

	// ErrBusy is returned by TryHold when somebody else holds the lock, or waits for
	// it. Error.Peer tells who, as far as that is known.
	ErrBusy = errors.New("zksync: lock held by another")

	// ErrClosed is returned when the session was closed, when it is shutting
	// down and accepts no new waits, and when the program has closed the client
	// that it passed to NewSession.
	ErrClosed = errors.New("zksync: session closed")

	// ErrDeadlock is returned when a call would wait for its own work. An owner
	// that holds a lock for reading only asks to write, or one that holds one of a
	// Multi's locks asks for the Multi, or the other way round: a call that waits
	// already when its owner gets the lock ends then. A call with the context of
	// a Do that still runs asks for the same lock, on either side of an RWMutex,
	// or for a lock that shares a path with it, and no owner of the call holds it.
	ErrDeadlock = errors.New("zksync: the call would wait for its own work")

	// ErrLimitMismatch is returned by a Semaphore with WithStrictLimit when
	// another program uses the path with another limit.
	ErrLimitMismatch = errors.New("zksync: the semaphore is in use with another limit")

	// ErrRevoked is returned by Do, joined with an error of its function, if somebody
	// has asked for the lock. With WithCancelOnRevoke context.Cause returns it for the
	// function's context.
	ErrRevoked = errors.New("zksync: lock asked back")

	// ErrNoAuth is returned when an access list refuses a request: the session's
	// credentials (WithAuth) don't have the permission. It Is zk.ErrNoAuth, too. The text
	// of the *Error names the operation and the path in ZooKeeper that was refused.
	ErrNoAuth = fmt.Errorf("zksync: no permission: %w", zk.ErrNoAuth)

	// ErrSequenceExhausted is returned when the sequence numbers below the
	// lock's path are used up (2,147,482,647 nodes, or a number that two nodes
	// share): no lock is granted by an order that can't be trusted. Delete the
	// path while nobody uses it, and the numbers start again; fences go on
	// growing.
	ErrSequenceExhausted = errors.New("zksync: sequence numbers of the path are exhausted")

	// ErrNoLeader is returned by Election.Leader when nobody stands for the election.
	ErrNoLeader = errors.New("zksync: no leader")

	// ErrInvalidPath is returned for a path that ZooKeeper would refuse, for
	// "/" and for anything under "/zookeeper".
	ErrInvalidPath = errors.New("zksync: invalid path")
)

// refusal returns err, or if that is the client's refusal of an access list, an error that
// Is ErrNoAuth as well and says what was refused.
func refusal(err error) error {
	var what *conn.RefusalError
	switch {
	case !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, ErrNoAuth):
		return err
	case err == error(zk.ErrNoAuth):
		return ErrNoAuth
	case errors.As(err, &what):
		return &refused{*what}
	}
	return fmt.Errorf("%w: %w", ErrNoAuth, err)
}

// refused is ErrNoAuth with the operation and the path that an access list refuses.
type refused struct{ what conn.RefusalError }

func (e *refused) Error() string {
	return fmt.Sprintf("zksync: no permission to %s %s", e.what.Op, e.what.Path)
}

func (e *refused) Unwrap() error { return ErrNoAuth }

// errClientClosed is ErrClosed on a client of the program's.
var errClientClosed = fmt.Errorf("%w: the program has closed its ZooKeeper client", ErrClosed)

// SizeError says that a request was not sent because it would be too large. A Multi of
// very many locks gets it, because one transaction makes all of its nodes. The call
// returns it, wrapped in an [*Error], before it asks ZooKeeper for anything; no node is
// made.
//
// On a session from Dial the limit is 135 KiB, enough for some 300 locks. Their paths,
// their access list and the data of their nodes count. On a session from NewSession the
// limit is the servers' default, 1,048,575 bytes (jute.maxbuffer). Use [errors.As] to
// get a SizeError out of the error of a call.
//
// Its zero value is an error about nothing. It is a plain value: it may be copied, and
// used by several goroutines.
type SizeError struct {
	Size  int // of the request, in bytes
	Limit int // the most that can be sent, in bytes
}

// Error returns the size and the limit.
func (e *SizeError) Error() string {
	return fmt.Sprintf("zksync: request of %d bytes, at most %d can be sent", e.Size, e.Limit)
}

// Error says which operation failed, on which lock, and why. Every error that a
// lock's method returns is an *Error, with two exceptions: the error of a callback, which
// Do and TryDo join with their own, and the ctx.Err() of Semaphore.Acquire.
//
// Its zero value is an error without a reason. It is a plain value: it may be
// copied, and used by several goroutines. Copies share the Peer.
type Error struct {
	Op   string // what was tried: "lock", "try", "hold", "unlock", "release", "dial", ...
	Path string // the lock's path as the program named it
	Node string // the lock node's full path in ZooKeeper, when there was one

	// Position is the call's position in line when it ended: 1 is the next to
	// get the lock. It is 0 if the call did not stand in line, or not long
	// enough to know.
	Position int

	// Peer describes whom the call was refused or waited behind when it failed; nil if
	// that is not known. A TryHold that is refused by another session's node reads that
	// node. If the node is gone by then, or if there is no answer, the Peer has what the
	// node's name shows; so it has for a call for permits that was not the first in line.
	// Peer.Position is Position.
	Peer *Peer

	Err error // why
}

// Error returns the operation, the lock or else the node, the position in line, the reason,
// and the identity of the Peer. That identity is whatever the other program calls itself:
// it is quoted, and cut after 128 bytes.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("zksync: ")
	b.WriteString(e.Op)
	if lock := cmp.Or(e.Path, e.Node); lock != "" {
		b.WriteByte(' ')
		b.WriteString(lock)
	}
	if e.Position > 0 {
		fmt.Fprintf(&b, " (place %d in line)", e.Position)
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(strings.TrimPrefix(e.Err.Error(), "zksync: "))
	}
	if e.Peer != nil {
		b.WriteString(" (")
		e.Peer.describe(&b)
		b.WriteByte(')')
	}
	return b.String()
}

// maxShown bounds a text of another program in an error, in bytes.
const maxShown = 128

// describe writes who the peer is, and since when it stands in line.
func (p *Peer) describe(b *strings.Builder) {
	who := cmp.Or(p.Identity, path.Base(p.Node))
	fmt.Fprintf(b, "behind %q", who[:min(len(who), maxShown)])
	if !p.Since.IsZero() {
		b.WriteString(", in line since ")
		b.WriteString(p.Since.UTC().Format(time.RFC3339))
	}
}

// Unwrap returns the reason, so that errors.Is and errors.As see it.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a deadline ended the call, as net.Error does.
func (e *Error) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// ErrorType returns the kind of failure as one word of a closed list, which may
// label a metric: session_expired, connection_closed, no_auth, deadline_exceeded,
// canceled, closed, busy, deadlock, revoked, limit_mismatch, lost,
// sequence_exhausted, invalid_path, no_leader, request_too_large, or _OTHER.
func (e *Error) ErrorType() string {
	if size := (*SizeError)(nil); errors.As(e.Err, &size) {
		return "request_too_large"
	}
	for _, t := range errorTypes {
		if errors.Is(e.Err, t.err) {
			return t.name
		}
	}
	return "_OTHER"
}

// errorTypes is in order of precedence: what an error wraps first is not
// always what it is about.
var errorTypes = []struct {
	err  error
	name string
}{
	{ErrClosed, "closed"},
	{ErrLost, "lost"},
	{ErrBusy, "busy"},
	{ErrDeadlock, "deadlock"},
	{ErrRevoked, "revoked"},
	{ErrLimitMismatch, "limit_mismatch"},
	{ErrSequenceExhausted, "sequence_exhausted"},
	{ErrInvalidPath, "invalid_path"},
	{ErrNoLeader, "no_leader"},
	{context.DeadlineExceeded, "deadline_exceeded"},
	{context.Canceled, "canceled"},
	{zk.ErrSessionExpired, "session_expired"},
	{ErrNoAuth, "no_auth"},
	{zk.ErrAuthFailed, "no_auth"},
	{zk.ErrConnectionClosed, "connection_closed"},
	{zk.ErrNoServer, "connection_closed"},
}

// ctxErr returns why ctx ended: an error that Is ctx.Err() and Is
// context.Cause(ctx), which differ when the cause was given by hand.
func ctxErr(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == nil || errors.Is(cause, err) {
		return cmpErr(cause, err)
	}
	return &causeError{err: err, cause: cause}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

type causeError struct{ err, cause error }

func (e *causeError) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *causeError) Unwrap() []error { return []error{e.err, e.cause} }

// lost returns an error that Is ErrLost and says why.
func lost(reason error) error {
	if reason == nil {
		return ErrLost
	}
	if errors.Is(reason, ErrLost) {
		return reason
	}
	return fmt.Errorf("%w: %w", ErrLost, reason)
}
