package zktest

import "github.com/zklocker/go-zksync/zksync/internal/wire"

// endedCounts is of how many sessions that are over the server keeps the counts.
const endedCounts = 1000

// requestCounts counts the requests of clients.
type requestCounts struct {
	all     map[wire.Op]int
	session map[int64]map[wire.Op]int // of sessions that live, and of those in ended
	ended   []int64                   // a ring of sessions that are over
	oldest  int                       // its place in ended, once that is full
}

func newRequestCounts() requestCounts {
	return requestCounts{all: make(map[wire.Op]int), session: make(map[int64]map[wire.Op]int)}
}

// begin starts to count the requests of a new session.
func (r *requestCounts) begin(session int64) { r.session[session] = make(map[wire.Op]int) }

// add counts a request. A member that lags may still get some of a session that is
// over.
func (r *requestCounts) add(session int64, op wire.Op) {
	r.all[op]++
	if own := r.session[session]; own != nil {
		own[op]++
	}
}

// end takes note that a session is over. The counts of the one that has been over for
// longest are dropped for it.
func (r *requestCounts) end(session int64) {
	if len(r.ended) < endedCounts {
		r.ended = append(r.ended, session)
		return
	}
	delete(r.session, r.ended[r.oldest])
	r.ended[r.oldest] = session
	r.oldest = (r.oldest + 1) % endedCounts
}

// reset starts all counts anew.
func (r *requestCounts) reset() {
	clear(r.all)
	for _, own := range r.session {
		clear(own)
	}
}

// Requests returns how many requests of each kind have come through all members
// since the start or [Server.ResetRequests], by their names ("create", "getData",
// ...). A multi counts as one. Dropped requests count; connects and pings don't.
// The map is the caller's.
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return byName(s.requests.all)
}

// SessionRequests is [Server.Requests] for one session. The counts of a session that
// has ended stay until 1,000 others have ended after it.
func (s *Server) SessionRequests(session int64) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return byName(s.requests.session[session])
}

// Pings returns how many pings have come since the start or
// [Server.ResetRequests].
func (s *Server) Pings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests.all[wire.OpPing]
}

// ResetRequests starts the counts of [Server.Requests], [Server.SessionRequests]
// and [Server.Pings] anew.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.reset()
}

func byName(counts map[wire.Op]int) map[string]int {
	m := make(map[string]int)
	for op, n := range counts {
		if op != wire.OpPing {
			m[op.String()] += n
		}
	}
	return m
}
