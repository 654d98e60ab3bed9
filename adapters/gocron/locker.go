package zkgocron

import (
	"context"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/zklocker/go-zksync/zksync"
)

// unlockWithin limits the wait for an unlock to be confirmed. If it is not, the deletion
// goes on in the background.
const unlockWithin = 5 * time.Second

// Locker is a gocron.Locker: before each run of a job an instance tries to lock the job's
// name, and skips the run if another one has it. Jobs with different names run beside each
// other, so give each job a name (gocron.WithName).
//
// Get one from [NewLocker]: the zero value is not usable. It must not be copied once it is
// in use. Its methods may be called by several goroutines.
type Locker struct {
	// OnLost, if it is set before the Locker is used, is called when the lock of a run
	// is lost while the job runs. Another instance may then begin the next run. err Is
	// zksync.ErrLost. It is called in a goroutine of its own.
	OnLost func(job string, err error)

	session *zksync.Session
	root    string
	least   time.Duration
	opts    []zksync.LockOption
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker returns a Locker whose locks are below root. The lock of a run is held for
// least at least, also if the job takes less time: an instance whose clock is behind by
// less than that skips the run that another one has done already. So least must be larger
// than the difference of the clocks, and smaller than the time from run to run; 0 gives a
// lock back when the job is done.
//
// NewLocker makes no request. Each run of a job has a lock with a node of its own, so the
// options for hand-over and lingering change nothing.
func NewLocker(s *zksync.Session, root string, least time.Duration, opts ...zksync.LockOption) *Locker {
	return &Locker{session: s, root: root, least: least, opts: opts}
}

// Lock takes the lock of a job, without waiting for who has it. The error Is
// zksync.ErrBusy if another run has it, and is that of [zksync.Mutex.TryHold] otherwise;
// gocron then skips the run.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	began := time.Now()
	h, err := zksync.NewMutex(l.session, zksync.Path(l.root, job), l.opts...).TryHold(ctx)
	if err != nil {
		return nil, err
	}
	held := &lock{hold: h, until: began.Add(l.least), stop: func() bool { return true }}
	if l.OnLost != nil {
		lost := h.Context(context.Background())
		held.stop = context.AfterFunc(lost, func() { l.OnLost(job, h.Err()) })
	}
	return held, nil
}

// lock is a lock that is held.
type lock struct {
	hold  *zksync.Hold
	until time.Time
	stop  func() bool // OnLost is not called from now on
}

// Unlock gives the lock back, now or when it has been held for long enough.
func (l *lock) Unlock(ctx context.Context) error {
	l.stop()
	if wait := time.Until(l.until); wait > 0 {
		time.AfterFunc(wait, func() { _ = l.release(context.Background()) }) // a loss by now matters to nobody
		return l.hold.Err()
	}
	return l.release(ctx)
}

// release gives the lock back. gocron's ctx may have ended with the scheduler.
func (l *lock) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWithin)
	defer cancel()
	return l.hold.Release(ctx)
}
