package zksync

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zklocker/go-zksync/zksync/internal/local"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
)

// Multi takes several locks of one session as one, and releases them as one. One
// transaction puts a node in each of their queues, so that of two Multis one is ahead
// in every queue that they share. They can't wait for each other, in whatever order
// they name their locks, as long as their goroutines hold nothing else.
//
// A Multi has its own nodes: it does not join locks that the session holds already,
// and it takes or gives no hand-over. Its Hold is lost when any of the locks is lost.
// Its fence is that of each lock, because one transaction has one zxid. An owner that
// holds one of the locks already gets ErrDeadlock, and so does an owner that holds
// the Multi and asks for one of its locks. A call that waits ends so as well when its
// owner gets the other lock.
//
// Get one from NewMulti: the zero value is not usable, and its methods panic. A
// Multi must not be copied. Two Multis of the same locks on one session are the same
// lock. Its methods may be called by several goroutines.
type Multi struct {
	m Mutex
}

// NewMulti returns a lock of several locks: any mix of Mutexes, RWMutexes (their
// write sides), read sides (RLocker), and Multis, all of one session. A lock that is
// named twice counts once, and writing wins over reading. If As has given one of the
// locks an owner, the Multi does not take that owner over.
//
// Each lock keeps the options that show in ZooKeeper: kazoo sees those with
// WithKazooName. NewMulti panics without a lock, if the locks are of several sessions, and
// if one is of a type that embeds a Locker: it can't tell which lock that is. All locks must have the same access list (WithACL) and valid paths, and a
// lock that is named twice must have the same options each time: otherwise every use
// of the Multi fails. Every use also fails, with a *SizeError, if there are so many
// locks that one transaction can't hold them.
func NewMulti(locks ...Locker) *Multi {
	mu := &Multi{}
	for _, l := range locks {
		mu.add(l)
	}
	m := &mu.m
	if m.s == nil {
		panic("zksync: NewMulti without a lock")
	}
	slices.SortFunc(m.cfg.Parts, func(a, b local.Part) int { return cmp.Compare(a.Path, b.Path) })
	m.full = multiKey(m.cfg.Parts)
	m.mode, m.kind = ModeMulti, znode.Read
	for _, p := range m.cfg.Parts { // of read sides alone several hold at a time
		if p.Kind != znode.Read {
			m.kind = znode.Exclusive
		}
	}
	m.cfg.handoff, m.cfg.Manners = 0, local.Manners{}
	return mu
}

// multiKey is the key of a Multi among the locks of a session. It is no path's,
// as it has no slash first. Each path comes with its length, so that none can
// pass for the end of a part and another one.
func multiKey(parts []local.Part) string {
	var key []byte
	for _, p := range parts {
		key = fmt.Appendf(key, "%v %t %d %s", p.Kind, p.Twin, len(p.Path), p.Path)
	}
	return string(key)
}

// add adds a lock: its session and options, and its parts.
func (mu *Multi) add(l Locker) {
	m := memberOf(l)
	m.check()
	all := &mu.m
	switch {
	case all.s == nil:
		all.s, all.cfg, all.path = m.s, m.cfg, m.path
		all.cfg.Parts = nil
	case all.s != m.s:
		panic("zksync: NewMulti with locks of several sessions")
	default:
		all.path += "," + m.path
		if !slices.Equal(all.cfg.ACL, m.cfg.ACL) && all.err == nil {
			all.err = local.ErrTerms
		}
	}
	if m.paths == nil {
		all.paths = append(all.paths, m.path)
	} else {
		all.paths = append(all.paths, m.paths...)
	}
	if all.err == nil {
		all.err = m.err
	}
	for _, p := range partsOf(m) {
		mu.addPart(p)
	}
}

// memberOf returns the Mutex by which a lock given to NewMulti is taken.
func memberOf(l Locker) *Mutex {
	switch l := l.(type) {
	case *Mutex:
		return l
	case *RWMutex:
		return l.writer()
	case *Multi:
		return l.all()
	case *owned:
		return &l.Mutex
	case nil:
		panic("zksync: NewMulti with a nil Locker")
	}
	// Locker is sealed, but a type that embeds one has its methods.
	panic(fmt.Sprintf("zksync: NewMulti with a %T, which wraps a Locker: pass the Locker itself", l))
}

// partsOf returns the parts of a Multi, or the one part that any other lock is.
func partsOf(m *Mutex) []local.Part {
	if m.cfg.Parts != nil {
		return m.cfg.Parts
	}
	return []local.Part{{Path: m.full, Kind: m.kind, Manners: m.cfg.Manners, Twin: m.cfg.Kazoo && m.kind == znode.Exclusive}}
}

// addPart adds a part, or merges it with the part of the same path: writing wins over
// reading.
func (mu *Multi) addPart(p local.Part) {
	all := &mu.m
	i := slices.IndexFunc(all.cfg.Parts, func(o local.Part) bool { return o.Path == p.Path })
	if i < 0 {
		all.cfg.Parts = append(all.cfg.Parts, p)
		return
	}
	o := &all.cfg.Parts[i]
	if !o.Manners.Same(&p.Manners) && all.err == nil {
		all.err = local.ErrTerms
	}
	if o.Kind == znode.Read {
		o.Kind = p.Kind
	}
	o.Twin = o.Twin || p.Twin
}

func (mu *Multi) all() *Mutex {
	if mu == nil || mu.m.s == nil {
		panic("zksync: use of zero Multi")
	}
	return &mu.m
}

// Paths returns the paths of the locks as they were given, in the order in which
// NewMulti got them. The slice is the caller's.
func (mu *Multi) Paths() []string { return slices.Clone(mu.all().paths) }

// Path returns the paths of the locks as they were given, with commas between
// them. It is for display: a path may contain a comma, and Paths tells them apart.
func (mu *Multi) Path() string { return mu.all().path }

// Lock waits until it holds all locks, through disconnects and session changes, for
// as long as that takes. When it can never hold them it panics with an *Error, which
// Is ErrClosed, ErrInvalidPath, ErrSequenceExhausted, ErrNoAuth or another refusal
// of the servers, wraps a *SizeError, or tells that the options of the locks make no
// sense or contradict those of another value in use for a path. Nodes that it has made
// are deleted then. Unlock releases the locks.
func (mu *Multi) Lock() { mu.all().Lock() }

// Unlock ends one level of the Multi, whoever took it, as in package sync; the last
// one releases all locks. Unlock returns once the release has been sent: the next call of
// this session finds the locks released, but another session may be refused for that
// moment. Use UnlockContext to know. It panics if the Multi is not locked, or is held by a
// Hold.
//
// The deletion of the nodes is followed in the background until they are gone. If that
// shows that the Multi had been lost, the loss is logged, unless that was done before. It
// waits when and for as long as the Unlock of a Mutex does.
func (mu *Multi) Unlock() { mu.all().Unlock() }

// TryLock takes all locks if nobody holds one of them or waits for it, and reports
// whether it did. It returns false also while disconnected, after a third of the
// session timeout without an answer, and on every error; it may return false for a
// lock that was released a moment ago. It holds none of the locks then, and nodes that
// it has made are deleted, in the background if need be.
func (mu *Multi) TryLock() bool { return mu.all().TryLock() }

// LockContext waits until it holds all locks, or until ctx is done: then the error Is
// ctx.Err() and context.Cause(ctx), and says where in line the call stood. A ctx that
// is done already never gets the locks. If ctx carries an Owner that holds the Multi,
// the call enters it again at once; if a call of that owner gets it meanwhile, this one
// enters with it.
//
// Every error is an *Error. It Is ErrClosed after Close or Shutdown, ErrInvalidPath,
// ErrSequenceExhausted, ErrNoAuth or another refusal of the servers; it wraps a
// *SizeError if there are too many locks for one transaction; it Is ErrDeadlock if the
// call's owner holds one of the locks, or gets it while the call waits, or if the call is
// made in a Do of one of them; for an owner ErrLost if its hold of the Multi was lost; or
// it tells that the options make no sense or contradict those of
// another value in use for a path. A call that fails holds none of the locks and
// leaves nothing behind: nodes that can't be deleted at once are deleted in the
// background.
func (mu *Multi) LockContext(ctx context.Context) error { return mu.all().LockContext(ctx) }

// TryLockContext takes all locks if nobody holds one of them or waits for it, and
// reports whether it did: false without an error means that somebody does. It waits for
// a connection and for answers, until ctx is done. The errors are those of
// LockContext, and one that says that a node of the call was deleted twice while it
// looked. Without the locks it leaves nothing behind: nodes that can't be deleted at
// once are deleted in the background.
func (mu *Multi) TryLockContext(ctx context.Context) (bool, error) {
	return mu.all().TryLockContext(ctx)
}

// UnlockContext ends one level of the Multi, as Unlock does, and returns an error. If
// ctx carries an Owner, that is one of the owner's levels, or if the owner has none, one
// that was taken for no owner. ctx bounds only the wait for the confirmation: if ctx ends first, the error Is
// ctx.Err(), the locks are released all the same, and the deletion goes on in the
// background. The error Is ErrLost if one of the locks had been lost, and ErrClosed if
// the session is closed meanwhile. If it is a refusal of the servers, nodes stay until
// the session ends. Every error is an *Error. UnlockContext panics as Unlock does, and if
// only other owners hold the Multi.
func (mu *Multi) UnlockContext(ctx context.Context) error { return mu.all().UnlockContext(ctx) }

// Hold waits until it holds all locks, or until ctx is done, and returns one handle
// for them, which knows the fence and the loss. Only the handle's Release gives the
// locks back. The errors are those of LockContext. A call that fails returns no
// handle, holds none of the locks and leaves nothing behind: nodes that can't be
// deleted at once are deleted in the background.
func (mu *Multi) Hold(ctx context.Context) (*Hold, error) { return mu.all().Hold(ctx) }

// TryHold takes all locks if nobody holds one of them or waits for it, and returns a
// handle as Hold does; otherwise the error Is ErrBusy. It waits for a connection and
// for answers, until ctx is done; the other errors are those of TryLockContext. A call
// that fails leaves nothing behind, as with Hold.
func (mu *Multi) TryHold(ctx context.Context) (*Hold, error) { return mu.all().TryHold(ctx) }

// Do waits for all locks until ctx is done, and holds them while fn runs. fn gets the
// handle and a context that ends with ctx, with a loss of any of the locks, and, if
// the first lock given to NewMulti has WithCancelOnRevoke, when one of them is asked back.
// Until Do ends, a call with this context, or with one made from it, that asks for the
// Multi on this session, for one of its locks, or for another Multi that takes one of
// them, fails at once with ErrDeadlock. It enters the Multi if it is made for an Owner
// who holds it: see [Mutex.Do].
//
// Do returns fn's error, joined with ErrLost if a lock was lost, whatever fn returned.
// An error of fn is also joined with ErrRevoked if a lock was asked back; nil stays nil, because the locks were held. If the locks can't be had, fn does
// not run, and the error is one of LockContext's; nothing is left behind. If fn panics
// the locks are released first. Do waits at most a third of the session timeout for the
// confirmation of the release; after that the deletion goes on in the background, and
// that is no error.
func (mu *Multi) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) error {
	return mu.all().Do(ctx, fn)
}

// TryDo runs fn under all locks as Do does, if nobody holds one of them or waits for it,
// and reports whether fn ran: false without an error means that somebody else has one. It
// waits for a connection and for answers, until ctx is done.
//
// If fn ran, the error is one of Do's. If it did not, the error is one of TryHold's but
// ErrBusy, and nothing is left behind, as with TryHold.
func (mu *Multi) TryDo(ctx context.Context, fn func(ctx context.Context, h *Hold) error) (ran bool, err error) {
	return mu.all().TryDo(ctx, fn)
}

// As returns the same locks for one owner. Calls on it enter the Multi again if o holds
// it, and are given back level by level, whatever owner their contexts carry. Its
// unlocks end a level of o, or if o has none, one that was taken for no owner; they panic
// if only other owners hold the Multi. If o holds one of the locks by itself, or gets it
// while they wait, they fail with ErrDeadlock, and if o's hold of the Multi was lost with
// ErrLost; Lock panics with these errors. The context of Do's fn does not carry o. The
// first handle on a Multi that o took without one
// costs a round trip, which finds out whether it was lost. As makes no request and
// panics for the zero Owner.
func (mu *Multi) As(o Owner) Locker { return mu.all().As(o) }

func (mu *Multi) sealed() {}

var _ Locker = (*Multi)(nil)
