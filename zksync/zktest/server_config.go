package zktest

import (
	"fmt"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/dynamic"
	"github.com/zklocker/go-zksync/zksync/zktest/internal/tree"
)

// id is the number by which the configuration knows the member.
func (m *Member) id() int64 { return int64(m.index) + 1 }

// describe is list for a member that is new or has a new address, unless a client has
// to do that: after the first transaction of a server that may be reconfigured. The caller
// holds srv.mu.
func (s *Server) describe(m *Member) {
	if _, listed := s.servers.Find(m.id()); s.cfg.reconfig && (s.tree.Zxid() > s.first && !listed || s.servers.Version > 0) {
		return
	}
	s.list(m)
}

// list writes the line of a member into the configuration. The caller holds srv.mu.
func (s *Server) list(m *Member) {
	ip := fmt.Sprintf("127.0.%d.%d", m.id()>>8, m.id()&0xff)
	line := dynamic.Server{Quorum: ip + ":2888", Election: "3888", Client: ip + ":2181"}
	if m.addr != "" {
		line.Client = m.addr
	}
	s.servers = s.servers.With(m.id(), line)
	data, now := []byte(s.servers.String()), time.Now().UnixMilli()
	s.tree.Configure(data, now)
	for _, x := range s.members {
		x.view.Configure(data, now)
	}
}

// reconfigure carries out a reconfig as a part of the transaction, and writes the body
// of its answer.
func (c *conn) reconfigure(x *tree.Txn, r *request, a *answer, e *wire.Encoder) {
	s := c.srv
	next, code := s.nextConfig(r)
	next.Version = x.Zxid
	switch {
	case code != wire.CodeOK:
	case !next.HasQuorum(s.reachable):
		code = wire.CodeNewConfigNoQuorum
	default:
		code = s.tree.Reconfigure(x, []byte(next.String()), tree.Client{Session: c.session, IDs: c.ids})
	}
	if a.code = code; code != wire.CodeOK {
		return
	}
	n := s.tree.Node(tree.ConfigPath)
	e.Buffer(n.Data())
	e.Stat(n.Stat())
	before := s.servers
	s.servers = next
	a.last = s.deposed() || c.member.changedRole(before)
	a.then = func() {
		if a.last {
			c.leave() // what is queued arrives
		}
		s.settle(before)
	}
}

// nextConfig returns the configuration that a request asks for.
func (s *Server) nextConfig(r *request) (dynamic.Config, wire.Code) {
	switch {
	case !s.cfg.reconfig:
		return dynamic.Config{}, wire.CodeReconfigDisabled
	case r.config != -1 && r.config != s.servers.Version:
		return dynamic.Config{}, wire.CodeBadVersion
	case r.servers != nil:
		return dynamic.Replace(string(r.servers))
	}
	return s.servers.Change(string(r.joining), string(r.leaving))
}

// reachable reports whether the leader is in contact with the server of an id.
func (s *Server) reachable(id int64) bool {
	return id > 0 && id <= int64(len(s.members)) && s.members[id-1].uncut == nil
}

// deposed reports whether the configuration has taken the lead from its leader.
func (s *Server) deposed() bool {
	line, listed := s.servers.Find(s.leader.id())
	return !listed || line.Observer
}

// changedRole reports whether a member that votes becomes an observer, or the reverse.
func (m *Member) changedRole(before dynamic.Config) bool {
	was, _ := before.Find(m.id())
	is, _ := m.srv.servers.Find(m.id())
	return was.Observer != is.Observer
}

// settle lets the members do what a new configuration wants of them. Those that get
// another role start anew, and a leader that has none is replaced.
func (s *Server) settle(before dynamic.Config) {
	for _, m := range s.members {
		if m.changedRole(before) {
			m.disconnectAll()
		}
	}
	if !s.deposed() {
		return
	}
	for _, e := range s.servers.Servers {
		if !e.Observer && s.reachable(e.ID) {
			s.members[e.ID-1].elect()
			return
		}
	}
}
