package zktest

import "time"

// reapLater schedules reap for the next whole interval since the start.
func (s *Server) reapLater() {
	if s.reaper != nil || s.closed {
		return
	}
	s.reaper = time.AfterFunc(s.cfg.reap-s.since()%s.cfg.reap, s.reap)
}

// reap deletes containers that have lost their last child, and nodes whose time
// to live has passed, each in a transaction of its own.
func (s *Server) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaper = nil
	if s.closed || s.idle() {
		return
	}
	for _, p := range s.tree.Due(time.Now().UnixMilli()) {
		x := s.begin()
		s.tree.Remove(x, p)
		s.commit(x, nil)
		s.log("reaped", "path", p)
	}
	if s.tree.SelfGoing() {
		s.reapLater()
	}
}
