// Package tracing shows locks of package zksync in OpenTelemetry: the wait for a
// lock, the time it is held and its release as spans, and metrics of all of this.
//
//	tracer := tracing.New()
//	s, err := zksync.Dial(ctx, servers, zksync.WithTracer(tracer))
//
// The span of a wait has a link to the span of the call ahead of it, be it in
// another process or on another machine. Each lock node carries the traceparent of
// its call, and a session that waits behind the node reads it anyway. No baggage is
// published. Nothing in a node is trusted: text that is no traceparent gives no link
// and no error.
//
// # Spans
//
//	span             kind      from, to
//	acquire {name}   CLIENT    the call, its grant or failure: the wait
//	hold {name}      INTERNAL  the grant, the unlock or the loss: the hold
//	release {name}   CLIENT    the deletion of the lock's node
//
// Without WithLockName the names are "zksync acquire", "zksync hold" and "zksync
// release", because there may be many paths. The hold is a sibling of acquire and
// has a link to it. The release is a child of the hold, and is left out where the
// hold is not sampled. The context that Do passes to its function and the one of
// Hold.Context carry the hold's span, so that spans of the work nest in it. Lock,
// TryLock and Unlock have no context: their spans are root spans.
//
// All three spans have the attributes zksync.lock.path, zksync.lock.mode and, with
// WithLockName, zksync.lock.name. acquire also has these:
//
//	zksync.lock.try               the call does not wait
//	zksync.lock.result            acquired, busy, canceled or error
//	zksync.lock.queue.position    the position in line when the wait began; 1 is next
//	zksync.lock.node              the lock's node
//	zksync.lock.fence             of Hold, TryHold and Do
//	server.address, server.port   the ZooKeeper server
//	zksync.blocked_by.*           identity, host, pid, owner, node of the last call ahead
//	error.type                    if the result is error
//
// The link to the call ahead has zksync.link.relation=blocked_by and
// zksync.blocked_by.*. The link from hold to acquire has
// zksync.link.relation=acquired_by. hold has zksync.lock.release.reason:
// unlocked, revoked (released after somebody asked for it), session_expired,
// contact_lost, node_deleted or closed.
//
// A failure, a deadline included, gives the span the status Error; a refused
// TryLock and a cancelled caller do not. The loss of a lock is an Error of its hold,
// which ends when the loss is noticed. error.type is the result of zksync.Error's
// ErrorType. A call that fails before it asks ZooKeeper, for an invalid path, say,
// has a span and metrics like all others.
//
// # Metrics
//
//	zksync.lock.acquire.duration  histogram, s         mode, result, contended, error.type
//	zksync.lock.hold.duration     histogram, s         mode, release.reason
//	zksync.lock.losses            counter, {loss}      release.reason
//	zksync.lock.waiting           up-down, {call}      mode
//	zksync.lock.held              up-down, {lock}      mode
//	zksync.lock.handoffs          counter, {handoff}   mode
//	zksync.lock.queue.position    histogram, {waiter}  mode
//	zksync.lock.hold.oldest_age   gauge, s             mode
//	zksync.session.connected      gauge, {session}     (how many are connected)
//	zksync.session.disconnects    counter, {disconnect}
//	zksync.cleanup.pending        gauge, {node}        (deletion not confirmed yet)
//
// mode stands for zksync.lock.mode, and so on. A path is never an attribute of a
// metric; the name that WithLockName returns is one, as zksync.lock.name.
// hold.oldest_age is the age of the oldest hold that has not ended. A hold that
// never ends shows nowhere else, because spans are exported when they end.
//
// A queue.position of 0 means that the call did not have to wait. Readers that
// share a node count as one lock held.
//
// The package uses OpenTelemetry's API, v1.20.0 or later, and no SDK. As long as no
// provider is set, its output is discarded, and it costs little. A program's SDK has
// v1.20.0 or later. Before v1.25.0 its spans have no links, and only
// zksync.blocked_by.* tells of the call ahead. Before v1.22.0 the metrics lack the
// calls whose context has ended.
package tracing
