package zksync

import (
	"context"
	"time"
)

// Tracer is a set of functions that the library calls when something happens to a
// lock, like a trace of net/http/httptrace. Any of them may be nil, and later
// versions may add more. A nil Tracer costs nothing.
//
// A Start function returns a context, which the matching End and the functions
// that follow get. End is called on every path, failures included. AcquireStart,
// Blocked, Handoff, HoldStart, HoldContext, AcquireEnd and ReleaseStart run in the
// goroutine of the call: if one of them panics, the call releases everything, and
// then the panic leaves the call. The others may run in a goroutine of the
// library, which logs a panic. No function may block, or use the lock that it is
// called for.
//
// When several holds are lost at once, all their contexts have ended before
// HoldEnd is called for the first of them. HoldEnd is then called for one after
// the other: a slow call delays the next ones, but no context and no deletion.
//
// HoldEnd, ReleaseStart, ReleaseEnd, Cleanup and Session may call Session.Close
// and Session.Shutdown. The others run within a call that Shutdown waits for: if
// they call Shutdown, its ctx must end.
//
// The zero value does nothing. A Tracer may be copied, but must not be changed
// once a session uses it. Several goroutines call its functions at once.
type Tracer struct {
	// AcquireStart is called when a call wants a lock, before anything is sent.
	// It is called too for a call that fails at once, because of an invalid path
	// or an error of its options, say, and for a call that wants no permits. The
	// context that it returns is the parent of all that the call does.
	AcquireStart func(ctx context.Context, a AcquireInfo) context.Context
	// Blocked reports whom the call waits for. When that changes, it is called
	// again for the call that is first in line in its session; the other calls
	// wait for that one.
	Blocked func(ctx context.Context, p Peer)
	// AcquireEnd is called when the call has its answer: the lock is granted if
	// r.Err is nil.
	AcquireEnd func(ctx context.Context, a AcquireInfo, r AcquireEndInfo)

	// HoldStart is called when a tenure of the lock begins, which is before
	// AcquireEnd. A tenure is the time from the grant to the release or the loss.
	// Calls that enter a held lock again have no tenure of their own, and readers
	// that share a node have one tenure together. ctx is AcquireStart's.
	HoldStart func(ctx context.Context, a AcquireInfo) context.Context
	// HoldContext returns parent with the values of hold, a context that
	// HoldStart returned. Hold.Context and Do pass the result to the work under
	// the lock, so that spans of the work nest in the hold's.
	HoldContext func(parent, hold context.Context) context.Context
	// HoldEnd is called when the tenure ends: at the unlock, or when the loss is
	// noticed.
	HoldEnd func(ctx context.Context, a AcquireInfo, e HoldEndInfo)

	// ReleaseStart and ReleaseEnd are called before and after the deletion of
	// the lock's node, and not for a hand-over. ReleaseStart gets the context that
	// HoldStart returned. ReleaseEnd is called once the answer is known: before
	// UnlockContext, Release and Do return if they wait for it, and in general after
	// Unlock, RUnlock and Semaphore.Release have returned.
	ReleaseStart func(ctx context.Context, a AcquireInfo) context.Context
	ReleaseEnd   func(ctx context.Context, a AcquireInfo, r ReleaseEndInfo)

	// Handoff is called before AcquireEnd if the lock passed to this call from
	// another call of the same session, without the network.
	Handoff func(ctx context.Context, a AcquireInfo)

	// Session reports the changes of the connection and its session: one event
	// at a time, in order. It may call Session.Close, which then returns about a
	// second later than elsewhere, because it can't wait for the function that
	// calls it; StateClosed is reported after that function has returned.
	Session func(e SessionEvent)
	// Cleanup reports a change of the number of nodes that wait for a confirmed
	// deletion. Each release is one of them, until the servers have answered.
	Cleanup func(e CleanupEvent)

	// Parent returns the traceparent (W3C Trace Context) that the call's lock
	// node publishes for those who wait behind it, or "". ctx is AcquireStart's.
	// Parent is also called with the ctx of RUnlockContext, to find out which of
	// the calls that read on one node has ended: the one in the same trace.
	Parent func(ctx context.Context) string
}

// Mode is the way a lock is held.
type Mode string

// The modes.
const (
	ModeMutex  Mode = "mutex"  // of a Mutex
	ModeWrite  Mode = "write"  // of an RWMutex's write side
	ModeRead   Mode = "read"   // of its read side
	ModePermit Mode = "permit" // of a Semaphore
	ModeMulti  Mode = "multi"  // of a Multi
)

// AcquireInfo describes a call that wants a lock. It is a plain value.
type AcquireInfo struct {
	Path   string   // the lock's path, as the program named it; of a Multi, all paths with commas between them
	Paths  []string // of a Multi: the paths of its locks as given (a path that is given twice is there twice), which must not be changed; else nil
	Mode   Mode
	Try    bool  // TryLock, TryLockContext, TryHold or TryDo: does not wait
	Owner  Owner // the owner for whom the call is made, if any
	Weight int64 // the permits wanted; 0 for a lock

	// Label is the call's name, from WithLabel. If it is not "", the lock's node
	// publishes it as the owner's name, in place of Owner.Name.
	Label string
}

// Peer describes the node that a call waits for, or that it stood behind when it failed
// (Error.Peer). The texts come from that node's
// own data, which any program may have written: don't trust them. It is a plain value;
// unknown fields are zero. Held and BlockedBy are never known of a Peer.
type Peer struct {
	LockNode
	Position int  // the call's position in line behind it: 1 is next to get the lock
	Local    bool // the node is of the same session as the call
	// Persistent: the node belongs to no session, so that ZooKeeper never removes
	// it, and the call waits until somebody deletes it by hand (see Session.Break).
	Persistent bool
}

// AcquireEndInfo is how a call that wanted a lock ended. It is a plain value.
type AcquireEndInfo struct {
	Err       error         // nil: granted
	Node      string        // the lock's node, if there was one
	Fence     int64         // of a Hold or Do; else 0
	Position  int           // the position in line when it ended, or 0
	Contended bool          // it had to wait for somebody
	Handoff   bool          // granted by the same session's previous holder
	Waited    time.Duration // from the call to its end
	Server    string        // host:port connected to, or last connected to
}

// EndReason is why a tenure of a lock ended.
type EndReason string

// The reasons.
const (
	EndUnlocked       EndReason = "unlocked"
	EndRevoked        EndReason = "revoked"         // released, after somebody asked for it
	EndSessionExpired EndReason = "session_expired" // the session is over
	EndContactLost    EndReason = "contact_lost"    // no quorum answer for half a session timeout
	EndNodeDeleted    EndReason = "node_deleted"    // the lock's node was deleted
	EndClosed         EndReason = "closed"          // the Session was closed
)

// HoldEndInfo is how a tenure ended. It is a plain value.
type HoldEndInfo struct {
	Reason EndReason
	Err    error         // nil when it was released, else an error that Is ErrLost
	Held   time.Duration // from the grant to the end
}

// ReleaseEndInfo is how the deletion of a lock's node ended. It is a plain value.
type ReleaseEndInfo struct {
	// Err is nil if the node is gone and existed until then. It Is ErrLost if the
	// node was gone before, and nobody had noticed that loss.
	Err error
	// Confirmed reports that the servers have answered that the node is gone.
	Confirmed bool
	Took      time.Duration // since ReleaseStart
}

// CleanupEvent is a change of the number of nodes that wait for a confirmed deletion.
// It is a plain value.
type CleanupEvent struct {
	Change int // 1 or -1. The changes add up, those of several sessions too.
}

// SessionEvent is a change of a Session's connection. It is a plain value.
type SessionEvent struct {
	State     SessionState
	Before    SessionState // the state reported before; "" at first
	SessionID int64        // the ZooKeeper session, 0 when there is none
	Server    string       // the server connected to, or last connected to
}

// SessionState is the state of a Session's connection.
type SessionState string

// The states.
const (
	StateConnected    SessionState = "connected"    // the session stands
	StateDisconnected SessionState = "disconnected" // the session may go on elsewhere
	StateExpired      SessionState = "expired"      // the session is over; a new one follows
	StateClosed       SessionState = "closed"       // by Close or Shutdown
)
