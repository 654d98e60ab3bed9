package zktest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// A [Recorder] keeps at most so many requests, and so many bytes of them.
const (
	maxRecords     = 10_000
	maxRecordBytes = 16 << 20
)

// Record is a request, or a connect, as a [Recorder] shows it. The Op of a connect is
// "connect", and its Session is the one that the client asked for, or the new one that
// it got. It is a plain value; copies share Paths.
type Record struct {
	Request
	Member int       // index of the member that it came to
	Time   time.Time // when the server took it up
	Result string    // "OK", or an error such as "NoNode", of a multi the first one in it; empty if it was not carried out, or not yet
	Zxid   int64     // in the answer; 0 for a connect
	Lost   bool      // there is no answer: the connection ended instead

	number int // among all of the server
}

// String returns the request, its paths and its result: "create /a OK". A request that
// waits to be carried out ends with "...", one whose client gets no answer with "lost".
func (r Record) String() string {
	words := append([]string{r.Op}, r.Paths...)
	if r.Result != "" {
		words = append(words, r.Result)
	}
	switch {
	case r.Lost:
		words = append(words, "lost")
	case r.Result == "":
		words = append(words, "...")
	}
	return strings.Join(words, " ")
}

// size is about what a record takes in memory.
func (r *Record) size() int {
	n := 200
	for _, p := range r.Paths {
		n += 16 + len(p)
	}
	return n
}

// Recorder records the requests of all clients of a [Server], pings apart, and lets a
// test wait for one without looking again and again. It keeps the last 10,000 requests,
// fewer if their paths take more than 16 MiB.
//
// The zero value is not usable: use [Server.Record]. It must not be copied. Its
// methods may be called from several goroutines.
type Recorder struct {
	srv *Server

	// Guarded by srv.mu.
	since    int // the last request of the server that this one does not record
	came     tail
	answered tail          // those of came that were carried out or lost, in that order
	wake     chan struct{} // not nil while somebody waits; closed when there is something new
	stopped  bool
}

// tail is the end of a list of records.
type tail struct {
	base int // how many were before the last reset
	gone int // how many were before list
	list []*Record
	size int
}

func (t *tail) reset() {
	n := t.gone + len(t.list)
	*t = tail{base: n, gone: n}
}

func (t *tail) add(r *Record) {
	t.list = append(t.list, r)
	t.size += r.size()
	for len(t.list) > 1 && (len(t.list) > maxRecords || t.size > maxRecordBytes) {
		t.size -= t.list[0].size()
		t.list[0] = nil
		t.list = t.list[1:]
		t.gone++
	}
}

// Record starts to record the requests that come from now on. [Recorder.Stop] or
// [Server.Close] ends it.
func (s *Server) Record() *Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Recorder{srv: s, since: s.records}
	s.recorders = append(s.recorders, r)
	return r
}

// Stop ends the recording. What was recorded stays, and a request that is carried out only
// after Stop still gets its Result in [Recorder.Requests].
func (r *Recorder) Stop() {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	r.srv.recorders = slices.DeleteFunc(r.srv.recorders, func(x *Recorder) bool { return x == r })
	r.stopped = true
	r.stir()
}

// Requests returns what was recorded, in the order in which the requests came. The
// slice is the caller's.
func (r *Recorder) Requests() []Record {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	return copies(r.came.list)
}

// Forgotten returns how many requests were recorded and are no longer kept.
func (r *Recorder) Forgotten() int {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	return r.came.gone - r.came.base
}

// Reset forgets the requests that have come so far, and those of them that are not
// answered yet too.
func (r *Recorder) Reset() {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	r.since = r.srv.records
	r.came.reset()
	r.answered.reset()
}

// Await waits for a request that match is true for, and returns it. It first looks at
// the requests that were recorded before, so that none comes too early. match sees a
// request after the server has carried it out, or has lost it, in the order in which
// that happened: what a write has changed is in the tree. Its client may not have the
// answer yet. match runs in the goroutine that called Await, and is nil for any request.
//
// The error wraps ctx.Err(), or [net.ErrClosed] after [Recorder.Stop] and
// [Server.Close], and says which of them it was and what the last requests were. There is
// also an error if more requests come during Await than the Recorder keeps before match
// could see them. Those that were forgotten before Await began ([Recorder.Forgotten]) are
// not seen, and make no error. In virtual time give ctx a deadline: the pings of clients let
// a bubble wait forever.
func (r *Recorder) Await(ctx context.Context, match func(Record) bool) (Record, error) {
	return r.await(ctx, &r.answered, match)
}

// AwaitArrival is [Recorder.Await] for requests that have come, whether they are
// carried out yet or not. It is for a request that a fault keeps from being carried
// out, such as a write while [Faults.CutFromLeader] lasts.
func (r *Recorder) AwaitArrival(ctx context.Context, match func(Record) bool) (Record, error) {
	return r.await(ctx, &r.came, match)
}

func (r *Recorder) await(ctx context.Context, of *tail, match func(Record) bool) (Record, error) {
	for seen := -1; ; {
		ended := ctx.Err() // first: what has come by then is looked at
		list, missed, wake := r.next(of, &seen)
		if missed > 0 {
			return Record{}, fmt.Errorf("zktest: %d requests came too fast to be looked at", missed)
		}
		for _, rec := range list {
			if match == nil || match(rec) {
				return rec, nil
			}
		}
		switch {
		case len(list) == 0 && wake == nil:
			return Record{}, r.notFound(r.end())
		case ended != nil:
			return Record{}, r.notFound(ended)
		case len(list) > 0: // perhaps there are more
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// next returns the records behind number *seen of a tail, all that are kept if that is
// negative, how many are gone unseen, and, if there are no records, what is closed when
// there may be more; nil if there will be none.
func (r *Recorder) next(of *tail, seen *int) (list []Record, missed int, wake <-chan struct{}) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	switch {
	case *seen < 0:
		*seen = of.gone
	case *seen < of.base:
		*seen = of.base
	}
	if *seen < of.gone {
		return nil, of.gone - *seen, nil
	}
	list = copies(of.list[*seen-of.gone:])
	*seen += len(list)
	if len(list) > 0 || r.stopped || r.srv.closed {
		return list, 0, nil
	}
	if r.wake == nil {
		r.wake = make(chan struct{})
	}
	return nil, 0, r.wake
}

// end returns why no more requests are recorded.
func (r *Recorder) end() error {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if r.stopped {
		return endOfRecords("the recorder is stopped")
	}
	return endOfRecords("the server is closed")
}

// endOfRecords is a [net.ErrClosed] with a text of its own.
type endOfRecords string

func (e endOfRecords) Error() string { return string(e) }
func (e endOfRecords) Unwrap() error { return net.ErrClosed }

// notFound is the error of a wait that has ended without a match.
func (r *Recorder) notFound(why error) error {
	const shown = 10
	all := r.Requests()
	var b strings.Builder
	for _, rec := range all[max(0, len(all)-shown):] {
		fmt.Fprintf(&b, "\n\tsession %#x: %v", rec.Session, rec)
	}
	return fmt.Errorf("zktest: no such request among %d: %w%s", len(all)+r.Forgotten(), why, &b)
}

// stir wakes those that wait. The caller holds srv.mu.
func (r *Recorder) stir() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

func copies(list []*Record) []Record {
	all := make([]Record, len(list))
	for i, rec := range list {
		all[i] = *rec
	}
	return all
}
