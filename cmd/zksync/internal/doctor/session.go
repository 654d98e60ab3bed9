package doctor

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/await"
	"github.com/zklocker/go-zksync/zksync"
)

const (
	samples    = 5               // how many round trips a median is of
	samplesFor = 2 * time.Second // after this time it is of fewer
)

// median returns the median time of a round trip, in seconds, and how many round trips it
// is of: on a slow server it can be a single one.
func (d *Doctor) median(ctx context.Context, trip func() error) (seconds float64, n int, err error) {
	var times []time.Duration
	for start := time.Now(); len(times) <= samples && (len(times) == 0 || time.Since(start) < samplesFor); {
		began := time.Now()
		if err := cmp.Or(trip(), ctx.Err()); err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(began))
	}
	if len(times) > 1 {
		times = times[1:] // the first one may pay for what it finds cold
	}
	slices.Sort(times)
	return times[len(times)/2].Seconds(), len(times), nil
}

// openSessions opens a session with each server that serves. One whose session can't be
// opened or used counts as not serving, unless it refuses the credentials.
func (d *Doctor) openSessions(ctx context.Context, r *Report) map[*Server]*zksync.Session {
	var mu sync.Mutex
	sessions := make(map[*Server]*zksync.Session)
	d.each(r.serving(), func(s *Server) {
		within, cancel := context.WithTimeout(ctx, d.Patience)
		session, err := zksync.Dial(within, []string{s.Address}, d.dialOptions()...)
		cancel()
		switch {
		case errors.Is(err, zk.ErrAuthFailed):
			s.Credentials = "refused"
			return
		case err != nil:
			s.State, s.Error, s.cause = NotServing, d.explain(err), err
			return
		}
		mu.Lock()
		sessions[s] = session
		mu.Unlock()
		if s.Write, s.writes, err = d.median(ctx, func() error { return d.write(ctx, session) }); err != nil {
			s.State, s.Error, s.cause, s.mute = NotServing, d.explain(err), err, true
			return
		}
		if d.Scheme != "" {
			s.Credentials = "accepted"
		}
	})
	return sessions
}

// write makes a write without an effect, to which a majority of the servers agrees.
func (d *Doctor) write(ctx context.Context, s *zksync.Session) error {
	ctx, cancel := context.WithTimeout(ctx, d.Patience)
	defer cancel()
	return s.Ping(ctx)
}

func (d *Doctor) dialOptions() []zksync.DialOption {
	opts := []zksync.DialOption{
		zksync.WithSessionTimeout(d.Timeout), zksync.WithIdentity("zksync doctor"),
		zksync.WithLogger(slog.New(slog.DiscardHandler)), // the report says it
	}
	if d.TLS != nil {
		opts = append(opts, zksync.WithTLS(d.TLS))
	}
	if d.Scheme != "" {
		opts = append(opts, zksync.WithAuth(d.Scheme, d.Cred))
	}
	return opts
}

// call runs a call of go-zookeeper's client, which knows no context, within d.Patience. A
// call that is given up goes on, and ends with the session at the latest.
func call[T any](ctx context.Context, d *Doctor, f func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Patience)
	defer cancel()
	return await.Result(ctx, f)
}

// memberLine is a server in the ensemble's configuration.
var memberLine = regexp.MustCompile(`(?m)^server\.\d+=\S*?:(participant|observer)`)

// readConfig reads how many servers the ensemble has. A single server without a quorum
// has an empty configuration, and credentials may not suffice to read it.
func (d *Doctor) readConfig(ctx context.Context, r *Report, s *zksync.Session) error {
	conn := s.Conn()
	data, err := call(ctx, d, func() ([]byte, error) {
		data, _, err := conn.Get("/zookeeper/config")
		return data, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
		return nil
	case err != nil:
		return err
	}
	var e Ensemble
	for _, m := range memberLine.FindAllSubmatch(data, -1) {
		if string(m[1]) == "observer" {
			e.Observers++
		} else {
			e.Participants++
		}
	}
	if e.Participants > 0 {
		r.Ensemble = &e
	}
	return nil
}
