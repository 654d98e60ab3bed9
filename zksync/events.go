package zksync

import (
	"context"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// events runs functions one after the other in a goroutine that exists while
// there are any, and counts those that run elsewhere. The zero value is ready.
type events struct {
	mu      sync.Mutex
	queue   []func()      // guarded by mu; those before next have gone
	next    int           // guarded by mu
	running bool          // guarded by mu
	loop    func()        // guarded by mu; run, made once
	open    int           // guarded by mu; functions that have not ended
	ended   chan struct{} // guarded by mu; closed when one has; nil while nobody waits
}

func (e *events) push(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open++
	if e.next > len(e.queue)/2 { // so that a queue which is never empty takes at most twice its length
		n := copy(e.queue, e.queue[e.next:])
		clear(e.queue[n:])
		e.queue, e.next = e.queue[:n], 0
	}
	e.queue = append(e.queue, f)
	if e.loop == nil {
		e.loop = e.run
	}
	if !e.running {
		e.running = true
		go e.loop()
	}
}

func (e *events) run() {
	for {
		e.mu.Lock()
		if e.next == len(e.queue) {
			e.queue, e.next, e.running = e.queue[:0], 0, false
			e.mu.Unlock()
			return
		}
		f := e.queue[e.next]
		e.queue[e.next] = nil
		e.next++
		e.mu.Unlock()
		f()
		e.end()
	}
}

// begin counts a function that runs elsewhere, until end is called.
func (e *events) begin() {
	e.mu.Lock()
	e.open++
	e.mu.Unlock()
}

func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open--
	if e.ended != nil {
		close(e.ended)
		e.ended = nil
	}
}

// drain waits until all functions have ended. It gives up when ctx ends, or when none of
// them ends within limit, because the caller may run in one of them.
func (e *events) drain(ctx context.Context, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		e.mu.Lock()
		if e.open == 0 {
			e.mu.Unlock()
			return
		}
		if e.ended == nil {
			e.ended = make(chan struct{})
		}
		ended := e.ended
		e.mu.Unlock()
		select {
		case <-ended:
			timer.Reset(limit)
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// onState follows the connection. An expiry ends every holding of the expired session,
// even those without a handle. onState runs in the goroutine of the states, which calls no
// function of the program, so that none delays a loss.
func (s *Session) onState(st conn.State) {
	ev := SessionEvent{SessionID: st.Session, Server: st.Server}
	switch {
	case st.Expired:
		ev.State = StateExpired
		s.table.SessionOver()
	case st.Up:
		ev.State = StateConnected
		s.stats.connects.Add(1)
	default:
		ev.State = StateDisconnected
		s.stats.disconnects.Add(1)
	}
	s.events.push(func() { s.report(ev) })
}

// report passes an event to the tracer. It runs in the goroutine of the events: one at a
// time, in order.
func (s *Session) report(ev SessionEvent) {
	if s.reported == StateClosed {
		return
	}
	ev.Before, s.reported = s.reported, ev.State
	if f := s.cfg.tracer.Session; f != nil {
		s.hook(func() { f(ev) })
	}
}

// hook runs a function of the tracer for which no call of the program waits. It logs a
// panic of the function.
func (s *Session) hook(f func()) {
	defer s.caught()
	f()
}

func (s *Session) caught() {
	if p := recover(); p != nil {
		s.logger().Error("zksync: panic in a tracer's function", "panic", p)
	}
}
