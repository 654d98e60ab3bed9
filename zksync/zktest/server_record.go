package zktest

import (
	"cmp"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// record notes that a request has come, if somebody wants to know. The caller holds
// srv.mu.
func (c *conn) record(req Request) *Record {
	s := c.srv
	if len(s.recorders) == 0 {
		return nil
	}
	s.records++
	rec := &Record{Request: req, Member: c.member.index, Time: time.Now(), number: s.records}
	for _, r := range s.recorders {
		r.came.add(rec)
		r.stir()
	}
	return rec
}

// finish notes what came of a request. The caller holds srv.mu.
func (s *Server) finish(rec *Record, result string, zxid int64, lost bool) {
	if rec == nil {
		return
	}
	rec.Result, rec.Zxid, rec.Lost = result, zxid, lost
	for _, r := range s.recorders {
		if rec.number > r.since {
			r.answered.add(rec)
			r.stir()
		}
	}
}

// finishLost is finish for a request that was not carried out. The caller does not
// hold srv.mu.
func (s *Server) finishLost(rec *Record) {
	if rec == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(rec, "", 0, true)
}

// finishAnswer is finish for a request that was carried out; mute says that its answer
// is lost.
func (s *Server) finishAnswer(rec *Record, a answer, mute bool) {
	if a.silent {
		s.finish(rec, "", 0, true)
		return
	}
	s.finish(rec, cmp.Or(a.code, a.failed).String(), a.zxid, mute)
}

// finishConnect is finish for a connect that was answered; ss is nil if there is no
// such session.
func (s *Server) finishConnect(rec *Record, ss *session) {
	result := wire.CodeSessionExpired
	if ss != nil && rec != nil {
		rec.Session, result = ss.id, wire.CodeOK
	}
	s.finish(rec, result.String(), 0, false)
}

// paths returns the paths of a request as they were sent.
func (r *request) paths() (list []string) {
	switch {
	case r.Op == wire.OpMulti, r.Op == wire.OpMultiRead:
		for i := range r.ops {
			list = append(list, r.ops[i].Path)
		}
	case r.Path != "":
		list = []string{r.Path}
	}
	return list
}
