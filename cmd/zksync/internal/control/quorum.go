package control

import "net/http"

// weigh takes the quorum from the ensemble when half of its members or more are stopped,
// and gives it back when they are not. When the leader is stopped, the first member that is
// not leads. The caller holds mu.
func (c *Control) weigh() {
	first, running := 0, 0
	for i := len(c.stopped) - 1; i >= 0; i-- {
		if !c.stopped[i] {
			first = i
			running++
		}
	}
	leader := c.leader()
	switch {
	case c.lost || 2*running <= len(c.stopped):
		c.srv.LoseQuorum()
	case leader == nil:
		// The one that led before leads again, if it runs.
		if c.srv.RegainQuorum(); c.stopped[*c.leader()] {
			c.srv.Member(first).Lead()
		}
		c.elected()
	case c.stopped[*leader]:
		c.srv.Member(first).Lead()
		c.elected()
	}
}

// leader returns the number of the member that leads, or nil if there is no quorum.
func (c *Control) leader() *int {
	leader := c.srv.Leader()
	for i := range c.addresses {
		if c.srv.Member(i) == leader {
			return &i
		}
	}
	return nil
}

func (c *Control) loseQuorum(*request) error {
	c.lost = true
	c.weigh()
	return nil
}

func (c *Control) regainQuorum(*request) error {
	c.lost = false
	c.weigh()
	return nil
}

// lead makes a member the leader.
func (c *Control) lead(r *request, t target) error {
	if r.params["member"] == "" {
		return badf("no member: want the number of the one that is to lead")
	}
	switch i := t.members[0]; {
	case c.stopped[i]:
		return refusef(http.StatusConflict, "member %d is stopped: start it", i)
	case c.leader() == nil:
		return refusef(http.StatusConflict, "there is no quorum, so no member can lead")
	default:
		c.srv.Member(i).Lead()
		c.elected()
	}
	return nil
}
