package zksync

import (
	"context"
	"time"
)

// Tracer is a set of functions that are told what locks do, in the manner of
// net/http/httptrace: any may be nil, and more may come. A nil Tracer costs
// nothing.
//
// Start functions return the context that the matching End gets and that
// travels on; End comes on every path, failures included. AcquireStart,
// Blocked, Handoff, HoldStart, HoldContext, AcquireEnd and ReleaseStart run in
// the goroutine of the call: a panic in one of them leaves the call, which
// gives everything back first. The others may run in a goroutine of the
// library's, where a panic is logged. None may block, or use the lock that it
// is told of.
//
// The zero value does nothing. A Tracer may be copied, but not changed once a
// session uses it; its functions are called by several goroutines at once.
type Tracer struct {
	// AcquireStart begins a call that wants a lock, before anything is sent. A
	// call that fails at once begins, too, for an invalid path or an error of
	// its options, say, and so does one that wants no permits. Its context is
	// the parent of all that the call does.
	AcquireStart func(ctx context.Context, a Acquire) context.Context
	// Blocked tells whom the call waits for. It comes again when that changes,
	// to the call that is first in line of its session; the others wait for it.
	Blocked func(ctx context.Context, p Peer)
	// AcquireEnd ends what AcquireStart began: granted when r.Err is nil.
	AcquireEnd func(ctx context.Context, a Acquire, r Result)

	// HoldStart begins a tenure of the lock. ctx is AcquireStart's.
	HoldStart func(ctx context.Context, a Acquire) context.Context
	// HoldContext returns parent with what hold carries, which is a context
	// that HoldStart returned: Hold.Context and Do hand it to the work under
	// the lock, so that spans of the work nest in the hold's.
	HoldContext func(parent, hold context.Context) context.Context
	// HoldEnd ends the tenure, at the unlock or when the loss is noticed.
	HoldEnd func(ctx context.Context, a Acquire, e Ending)

	// ReleaseStart and ReleaseEnd enclose the deletion of the lock's node. ctx
	// is HoldStart's. A hand-over has none. err Is ErrLost if the node was gone,
	// a loss that nobody noticed before.
	ReleaseStart func(ctx context.Context, a Acquire) context.Context
	ReleaseEnd   func(ctx context.Context, a Acquire, err error)

	// Handoff tells that the lock passed to this call from another one of the
	// same session, without the network. It comes before AcquireEnd.
	Handoff func(ctx context.Context, a Acquire)

	// Session tells what becomes of the connection and its session.
	Session func(e SessionEvent)
	// Cleanup tells by how much the number of nodes that wait for a confirmed
	// deletion changes. Changes add up, of several sessions too.
	Cleanup func(change int)

	// Parent returns the traceparent (W3C Trace Context) to publish in the
	// call's lock node, where whoever waits for it finds it, or "". ctx is
	// AcquireStart's; it is that of RUnlockContext to learn which of the calls
	// that read on one node has ended: the one in the same trace.
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

// Acquire describes a call that wants a lock. It is a plain value.
type Acquire struct {
	Path   string // the lock's path, as the program named it
	Mode   Mode
	Try    bool  // TryLock, TryLockContext or TryHold: does not wait
	Owner  Owner // for whom, if the call said so
	Weight int64 // the permits wanted; 0 for a lock
}

// Peer is who stands before a waiting call: the node it watches, as that node
// says itself. All texts are the other's words: don't trust them. It is a
// plain value; unknown fields are zero.
type Peer struct {
	Node     string // full path of the node
	Position int    // the call's place in line behind it: 1 is next to get the lock
	Local    bool   // the node is of the same session as the call

	Identity    string // WithIdentity of the other's session
	Host        string
	PID         int
	OwnerID     string
	OwnerName   string
	TraceParent string
	Session     int64     // the ZooKeeper session the node belongs to
	Since       time.Time // when the node was made (server's clock)
}

// Result is how a call that wanted a lock ended. It is a plain value.
type Result struct {
	Err       error         // nil: granted
	Node      string        // the lock's node, if there was one
	Fence     int64         // of a Hold or Do; else 0
	Position  int           // the place in line when it ended, or 0
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
	EndRevoked        EndReason = "revoked"         // given back, after it was asked back
	EndSessionExpired EndReason = "session_expired" // the session is over
	EndContactLost    EndReason = "contact_lost"    // no quorum answer for half a session timeout
	EndNodeDeleted    EndReason = "node_deleted"    // somebody deleted the lock's node
	EndClosed         EndReason = "closed"          // the Session was closed
)

// Ending is how a tenure ended. It is a plain value.
type Ending struct {
	Reason EndReason
	Err    error         // nil when it was given back, else an error that Is ErrLost
	Held   time.Duration // from the grant to the end
}

// SessionEvent is a change of a Session's connection. It is a plain value.
type SessionEvent struct {
	State     SessionState
	Before    SessionState // what was told before; "" at first
	SessionID int64        // the ZooKeeper session, 0 when there is none
	Server    string       // the server connected to, or last connected to
}

// SessionState is what a Session's connection has come to.
type SessionState string

// The states.
const (
	StateConnected    SessionState = "connected"    // the session stands
	StateDisconnected SessionState = "disconnected" // the session may go on elsewhere
	StateExpired      SessionState = "expired"      // the session is over; a new one follows
	StateClosed       SessionState = "closed"       // by Close
)
