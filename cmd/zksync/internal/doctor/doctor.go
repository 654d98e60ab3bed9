package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zklocker/go-zksync/zksync"
)

// Doctor examines the ensemble behind a list of servers. It is a plain value.
type Doctor struct {
	Servers  []string // host:port; each is examined once
	Timeout  time.Duration
	Patience time.Duration // with each request
	TLS      *tls.Config   // nil: without TLS
	Scheme   string        // of a credential; empty: none
	Cred     []byte
	Path     string // below which locks are to be, with the chroot
	Version  string // of zksync
}

// leaveWithin limits the clean-up.
const leaveWithin = 5 * time.Second

// Examine collects the facts. When ctx ends, it deletes what it has made, and returns the
// error of ctx.
func (d *Doctor) Examine(ctx context.Context) (*Report, error) {
	r := &Report{Version: 1, Zksync: d.Version}
	for _, addr := range d.Servers {
		i := slices.IndexFunc(r.Servers, func(s *Server) bool { return strings.EqualFold(s.Address, addr) })
		if i < 0 {
			i, r.Servers = len(r.Servers), append(r.Servers, &Server{Address: addr, State: Unreached, Words: []string{}})
		}
		r.Servers[i].listed++
	}
	d.each(r.Servers, func(s *Server) { d.probe(ctx, s) })
	sessions := d.openSessions(ctx, r)
	defer func() {
		all := make([]*Server, 0, len(sessions))
		for s := range sessions {
			all = append(all, s)
		}
		d.each(all, func(s *Server) { _ = sessions[s].Close() }) // the servers end what it can't
	}()
	for _, s := range r.serving() {
		shortest, longest := d.limits(ctx, s.Address)
		r.Session = &Session{Asked: d.Timeout.Seconds(), Granted: s.Granted, Shortest: shortest.Seconds(), Longest: longest.Seconds(), Tick: s.tick}
		if longest > 0 {
			break
		}
	}
	if main := first(r.serving(), sessions); main != nil {
		d.tryOut(ctx, r, sessions, main)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, nil
}

// first returns the session of the first server that has one.
func first(list []*Server, sessions map[*Server]*zksync.Session) *zksync.Session {
	for _, s := range list {
		if sessions[s] != nil {
			return sessions[s]
		}
	}
	return nil
}

// tryOut does by a session what locks do.
func (d *Doctor) tryOut(ctx context.Context, r *Report, sessions map[*Server]*zksync.Session, main *zksync.Session) {
	for _, step := range []struct {
		check string
		do    func(context.Context) error
	}{
		{"ensemble", func(ctx context.Context) error { return d.readConfig(ctx, r, main) }},
		{"path", func(ctx context.Context) error { return d.tryPath(ctx, r, sessions, main) }},
		{"lock", func(ctx context.Context) error { return d.tryLock(ctx, r, main) }},
	} {
		err := step.do(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if isTimeout(err) {
			err = fmt.Errorf("no answer within %v", d.Patience)
		}
		r.failures = append(r.failures, Finding{Problem, step.check, "", "the examination ended early: " + err.Error(),
			"run zksync doctor again; if this stays, look into the logs of the servers"})
	}
}

// each calls f for all servers at once, and waits.
func (d *Doctor) each(list []*Server, f func(*Server)) {
	var all sync.WaitGroup
	for _, s := range list {
		all.Go(func() { f(s) })
	}
	all.Wait()
}
