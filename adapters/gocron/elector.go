package zkgocron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/zklocker/go-zksync/zksync"
)

// ErrNotLeader is returned by [Elector.IsLeader] while another instance leads, or none.
var ErrNotLeader = errors.New("zkgocron: this instance does not lead")

// pause is the time after an error until an Elector stands again.
const pause = time.Second

// Elector is a gocron.Elector: of all instances that stand at a path, one leads and runs
// the jobs, until it is closed, or fails, or loses its session. It then stands again, behind
// the others.
//
// Get one from [NewElector]: the zero value is not usable. It must not be copied. Its
// methods may be called by several goroutines.
type Elector struct {
	hold   atomic.Pointer[zksync.Hold] // nil while this instance does not lead
	cancel context.CancelFunc
	ended  chan struct{}

	mu  sync.Mutex
	err error // why it does not stand; guarded by mu
}

var _ gocron.Elector = (*Elector)(nil)

// NewElector returns an Elector that stands at path from now on. Close it before the
// session: the next instance then leads at once.
func NewElector(s *zksync.Session, path string, opts ...zksync.LockOption) *Elector {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Elector{cancel: cancel, ended: make(chan struct{})}
	go e.stand(ctx, zksync.NewElection(s, path, opts...))
	return e
}

// stand leads whenever it is this instance's turn, until ctx ends.
func (e *Elector) stand(ctx context.Context, election *zksync.Election) {
	defer close(e.ended)
	for ctx.Err() == nil {
		err := election.Run(ctx, e.lead)
		if ctx.Err() != nil {
			return
		}
		e.fail(err)
		if errors.Is(err, zksync.ErrClosed) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// lead leads until Close, or the loss.
func (e *Elector) lead(ctx context.Context, h *zksync.Hold) error {
	e.fail(nil)
	e.hold.Store(h)
	defer e.hold.Store(nil)
	<-ctx.Done()
	return nil
}

func (e *Elector) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
}

// IsLeader returns nil while this instance leads. Its error Is [ErrNotLeader], and says
// why this instance can't stand, if that is so. The answer holds for the moment: a run
// that begins with it may outlive the leadership; see [Elector.Hold].
func (e *Elector) IsLeader(context.Context) error {
	h := e.hold.Load()
	if h == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.err != nil {
			return fmt.Errorf("%w: %w", ErrNotLeader, e.err)
		}
		return ErrNotLeader
	}
	if err := h.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return nil
}

// Hold returns the handle of the leadership, or nil while this instance does not lead. Its
// context ends when the leadership is lost, and its fence grows from leader to leader.
func (e *Elector) Hold() *zksync.Hold { return e.hold.Load() }

// Close resigns, and waits until this instance no longer leads. Further calls do nothing.
func (e *Elector) Close() {
	e.cancel()
	<-e.ended
}
