package zksync

import (
	"log/slog"
	"sync"

	"github.com/zklocker/go-zksync/zksync/internal/conn"
)

// events runs functions one after the other in a goroutine that exists while
// there are any. The zero value is ready.
type events struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	closed  bool
	wg      sync.WaitGroup
}

func (e *events) push(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.queue = append(e.queue, f)
	if !e.running {
		e.running = true
		e.wg.Add(1)
		go e.run()
	}
}

func (e *events) run() {
	defer e.wg.Done()
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			e.running = false
			e.mu.Unlock()
			return
		}
		f := e.queue[0]
		e.queue = e.queue[1:]
		e.mu.Unlock()
		f()
	}
}

// stop runs what is queued, and refuses more.
func (e *events) stop() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.wg.Wait()
}

// onState follows the connection: an expiry ends every tenure of the session
// that is over, those included that nobody guards.
func (s *Session) onState(st conn.State) {
	ev := SessionEvent{SessionID: st.Session, Server: st.Server}
	switch {
	case st.Expired:
		ev.State = StateExpired
		s.eachLock(func(l *lock) { l.sessionOver() })
	case st.Up:
		ev.State = StateConnected
		s.stats.connects.Add(1)
	default:
		ev.State = StateDisconnected
		s.stats.disconnects.Add(1)
	}
	s.tell(ev)
}

// tell runs in the goroutine of the events: one at a time, in order.
func (s *Session) tell(ev SessionEvent) {
	ev.Before, s.told = s.told, ev.State
	if f := s.cfg.tracer.Session; f != nil {
		s.hook(func() { f(ev) })
	}
}

// hook runs a function of the tracer that no call of the program's waits for:
// a panic in it has nowhere to go but the log.
func (s *Session) hook(f func()) {
	defer s.caught()
	f()
}

func (s *Session) caught() {
	if p := recover(); p != nil {
		s.logger().Error("zksync: panic in a tracer's function", "panic", p)
	}
}

// logger is for what must not go unsaid.
func (s *Session) logger() *slog.Logger {
	if s.cfg.logger != nil {
		return s.cfg.logger
	}
	return slog.Default()
}
