package zktest

// LoseQuorum takes the quorum from the ensemble, as when most of its servers have
// stopped. All connections are closed. The members accept new ones and close them at
// the first bytes of a client. No request is carried out, and the clocks of the
// sessions stand still: no session ends. [Server.RegainQuorum], [Member.Lead] and
// [Server.Restart] end it. Further calls do nothing.
func (s *Server) LoseQuorum() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
	for _, m := range s.members {
		m.cutAll()
	}
}

// RegainQuorum ends [Server.LoseQuorum]: the member that led before is elected again,
// as by [Member.Lead]. It does nothing if the ensemble has its quorum.
func (s *Server) RegainQuorum() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		s.leader.lead()
	}
}

// Leader returns the member that leads, or nil after [Server.LoseQuorum].
func (s *Server) Leader() *Member {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return nil
	}
	return s.leader
}

// Lead makes the member the leader by an election, even if it leads already. Before,
// the first member leads. An election closes all connections, ends all lag and
// [Server.LoseQuorum], and starts the count of transactions anew in the next epoch.
// Each session has its whole timeout to come back, however long it was silent. A
// member that [Faults.CutFromLeader] has cut off takes no part: it goes on as before,
// and closes its connections when the cut ends. Lead ends the cut of the new leader.
func (m *Member) Lead() {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	m.lead()
}

// lead is elect for a test that wants it: it also closes the connections that only
// deliver what was sent before. The caller holds srv.mu.
func (m *Member) lead() {
	m.elect()
	for _, x := range m.srv.members {
		if !x.missed {
			x.cutLeaving(func(*conn) bool { return true })
		}
	}
}

// elect makes the member the leader. The caller holds srv.mu.
func (m *Member) elect() {
	s := m.srv
	m.rejoin()
	s.leader = m
	for _, x := range s.members {
		if x.uncut != nil {
			x.missed = true
			continue
		}
		x.disconnectAll()
		x.setLag(false)
	}
	s.newEpoch()
	for _, ss := range s.sessions {
		s.touch(ss)
	}
}

// newEpoch begins the time of a leader. The caller holds srv.mu.
func (s *Server) newEpoch() {
	s.lost = false
	s.tree.NewEpoch()
	if s.tree.SelfGoing() {
		s.reapLater()
	}
}

// majority returns how many of n members make transactions. ZooKeeper wants more than
// half. But two members are the least of which a test can cut one off, so there one is
// enough: it stands for the majority of a larger ensemble.
func majority(n int) int {
	if n == 2 {
		return 1
	}
	return n/2 + 1
}

// weigh decides, after a member has come or was cut or rejoined, whether there are
// enough to make a transaction. The caller holds srv.mu.
func (s *Server) weigh() {
	cut := 0
	for _, m := range s.members {
		if m.uncut != nil {
			cut++
		}
	}
	few := len(s.members)-cut < majority(len(s.members))
	if few == (s.few != nil) {
		return
	}
	if few {
		s.few = make(chan struct{})
		return
	}
	close(s.few)
	s.few = nil
	// The leader has gone on counting the time of its sessions.
	s.wake(max(s.since(), 1))
	if s.tree.SelfGoing() {
		s.reapLater()
	}
}

// idle reports whether no transaction is made at present. The caller holds srv.mu.
func (s *Server) idle() bool { return s.lost || s.few != nil }
