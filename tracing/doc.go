// Package tracing shows locks of package zksync in OpenTelemetry: the wait for a
// lock, the time it is held and its release as spans, and metrics of all of it.
//
//	tracer := tracing.New()
//	s, err := zksync.Dial(ctx, servers, zksync.WithTracer(tracer))
//
// The span of a wait has a link to the span of whoever is ahead, in another
// process, on another machine: each lock node carries the traceparent of its
// call, and whoever waits behind it reads the node anyway. No baggage is
// published, and nothing of a node is trusted: what is no traceparent gives no
// link, and no error.
//
// # Spans
//
//	span             kind      from, to
//	acquire {name}   CLIENT    the call, its grant or failure: the wait
//	hold {name}      INTERNAL  the grant, the unlock or the loss: the hold
//	release {name}   CLIENT    the deletion of the lock's node
//
// Without WithLockName they are "zksync acquire", "zksync hold" and "zksync
// release": a path may be one of many. The hold is a sibling of acquire and has
// a link to it; the release is the hold's child, and left out where the hold is
// not sampled. The context that Do gives and
// that of Hold.Context carry the hold's span, so that spans of the work nest in
// it. Lock, TryLock and Unlock have no context: theirs are root spans.
//
// Attributes of all three are zksync.lock.path, zksync.lock.mode and, with
// WithLockName, zksync.lock.name. acquire has these besides:
//
//	zksync.lock.try               the call does not wait
//	zksync.lock.result            acquired, busy, canceled or error
//	zksync.lock.queue.position    the place in line when the wait began; 1 is next
//	zksync.lock.node              the lock's node
//	zksync.lock.fence             of Hold, TryHold and Do
//	server.address, server.port   the ZooKeeper server
//	zksync.blocked_by.*           identity, host, pid, owner, node: who was last ahead
//	error.type                    of a result that is error
//
// The link to whoever is ahead has zksync.link.relation=blocked_by and
// zksync.blocked_by.*, the link from hold to acquire
// zksync.link.relation=acquired_by. hold has zksync.lock.release.reason:
// unlocked, revoked (given back after it was asked back), session_expired,
// contact_lost, node_deleted or closed.
//
// A failure, a deadline included, is a status Error; a refused TryLock and a
// cancelled caller are none. The loss of a lock is an Error of its hold, which
// ends when the loss is noticed. error.type is what zksync.Error's ErrorType
// returns. A call that fails before it asks ZooKeeper, for an invalid path, say,
// has its span and its metrics as all others.
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
//	zksync.session.state          gauge, {session}     (how many are connected)
//	zksync.session.disconnects    counter, {disconnect}
//	zksync.cleanup.pending        gauge, {node}        (deletion not confirmed yet)
//
// mode stands for zksync.lock.mode, and so on. A path is never an attribute;
// what WithLockName returns is one, zksync.lock.name. hold.oldest_age is the age
// of the oldest hold that has not ended: one that never ends shows nowhere else,
// since spans are exported at their end.
//
// A queue.position of 0 is a call that did not have to wait. Readers who share a
// node hold one lock.
//
// The package uses OpenTelemetry's API and no SDK. As long as no provider is set
// its work is lost, and costs little.
package tracing
