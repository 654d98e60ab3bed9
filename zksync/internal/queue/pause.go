package queue

import (
	"context"
	"time"
)

// pause spaces tries that fail while the connection is up, because the server answers
// nonsense. While there is no connection, Await waits. The zero value is ready: the
// first two tries come at once.
type pause struct {
	tries int
}

func (p *pause) wait(ctx context.Context) {
	if p.tries++; p.tries <= 2 {
		return
	}
	t := time.NewTimer(min(5*time.Millisecond<<min(p.tries-3, 10), time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Pause is the engine's pause, for other callers that try again. The zero value is
// ready.
type Pause struct{ p pause }

// Wait waits before the next try, or until ctx ends.
func (p *Pause) Wait(ctx context.Context) { p.p.wait(ctx) }
