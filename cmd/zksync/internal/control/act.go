package control

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// target is what an act is done to: one member, or all.
type target struct {
	*zktest.Faults
	members []int
}

// target returns the member of a request, or all.
func (c *Control) target(r *request) (target, error) {
	n := len(c.addresses)
	text := r.params["member"]
	if text == "" {
		t := target{Faults: &c.srv.Faults}
		for i := range n {
			t.members = append(t.members, i)
		}
		return t, nil
	}
	i, err := strconv.Atoi(text)
	if err != nil {
		return target{}, badf("member=%q: want the number of a member, from 0 to %d", text, n-1)
	}
	if i < 0 || i >= n {
		return target{}, refusef(http.StatusNotFound, "no member %d: they are numbered from 0 to %d", i, n-1)
	}
	return target{Faults: &c.srv.Member(i).Faults, members: []int{i}}, nil
}

// act returns what answers a request that changes the servers: it calls do, and returns the
// servers' status.
func act(do func(*Control, *request) error) func(*Control, *request) (any, error) {
	return func(c *Control, r *request) (any, error) {
		if err := do(c, r); err != nil {
			return nil, err
		}
		return c.now(), nil
	}
}

// actOn is act for a request that may name a member.
func actOn(do func(*Control, *request, target) error) func(*Control, *request) (any, error) {
	return act(func(c *Control, r *request) error {
		t, err := c.target(r)
		if err != nil {
			return err
		}
		return do(c, r, t)
	})
}

func (c *Control) blackhole(r *request, t target) error {
	d, err := r.oneOf("direction", "", "to-server", "to-client")
	if err != nil {
		return err
	}
	var ways []zktest.Direction // none: both
	switch d {
	case "to-server":
		ways = append(ways, zktest.ToServer)
	case "to-client":
		ways = append(ways, zktest.ToClient)
	}
	t.Blackhole(ways...)
	c.note(t, func(f *inForce) { f.toServer, f.toClient = d != "to-client", d != "to-server" })
	return nil
}

// eachSession calls do for the session of a request, or for all of them.
func (c *Control) eachSession(r *request, do func(id int64)) error {
	text := r.params["session"]
	if text == "" {
		return badf("no session: want session=0x100000000000001, or session=all")
	}
	list := c.srv.Sessions()
	if text != "all" {
		id, err := parseSession(text)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(s zktest.SessionInfo) bool { return s.ID != id })
		if len(list) == 0 {
			return refusef(http.StatusNotFound, "no session %s: it has ended, or there was none", name(id))
		}
	}
	for _, s := range list {
		do(s.ID)
	}
	return nil
}

func (c *Control) expire(r *request) error {
	return c.eachSession(r, func(id int64) { c.srv.Expire(id) })
}

func (c *Control) disconnect(r *request, t target) error {
	if err := c.eachSession(r, t.Disconnect); err != nil {
		return err
	}
	if r.params["session"] == "all" {
		t.DisconnectAll() // also those that have no session yet
	}
	return nil
}

// stop makes members act as if they were not there.
func (c *Control) stop(_ *request, t target) error {
	t.Refuse()
	t.DisconnectAll()
	for _, i := range t.members {
		c.stopped[i] = true
	}
	c.weigh()
	return nil
}

// start ends stop.
func (c *Control) start(_ *request, t target) error {
	c.startAll(t.members)
	return nil
}

// startAll starts those members that are stopped.
func (c *Control) startAll(members []int) {
	for _, i := range members {
		if c.stopped[i] {
			c.srv.Member(i).Accept()
			c.stopped[i], c.faults[i].refuse = false, false
		}
	}
	c.weigh()
}

// restart stops members and starts them.
func (c *Control) restart(r *request, t target) error {
	expired, err := r.yes("expired")
	switch {
	case err != nil:
		return err
	case r.params["member"] != "" && expired:
		return badf("sessions expire when all members are away: give expired=true without member")
	case r.params["member"] != "":
		t.DisconnectAll()
		c.together(t)
	case expired:
		c.srv.RestartExpired()
		c.lost = false
		c.together(t)
	default:
		c.srv.Restart()
		c.lost = false
		c.together(t)
	}
	c.startAll(t.members)
	return nil
}

// accept ends refuse.
func (c *Control) accept(_ *request, t target) error {
	for _, i := range t.members {
		if c.stopped[i] {
			return refusef(http.StatusConflict, "member %d is stopped: start it", i)
		}
	}
	t.Accept()
	c.note(t, func(f *inForce) { f.refuse = false })
	return nil
}

// drop makes requests be lost, or their answers.
func (c *Control) drop(r *request) error {
	m, err := readMatch(r.params)
	if err != nil {
		return err
	}
	if m.op == opConnect {
		return badf("op=%q: a connect is never lost; refuse and blackhole keep clients from connecting", m.op)
	}
	what, err := r.oneOf("what", "request", "reply")
	if err != nil {
		return err
	}
	n, err := r.count()
	if err != nil {
		return err
	}
	c.losses.add(m, what == "reply", n)
	c.srv.DropRequest(c.losses.request)
	c.srv.DropReply(c.losses.reply)
	return nil
}

// heal ends all faults of members.
func (c *Control) heal(r *request, t target) error {
	c.together(t)
	t.Heal()
	c.note(t, func(f *inForce) { *f = inForce{} })
	if r.params["member"] == "" {
		c.keep()
		c.lost = false
	}
	c.startAll(t.members)
	return nil
}

// keep ends drop.
func (c *Control) keep() {
	c.srv.DropRequest(nil)
	c.srv.DropReply(nil)
	c.losses.end()
}

// reset makes the servers as they were at the start.
func (c *Control) reset(*request) error {
	c.keep()
	c.srv.Reset()
	c.record.Reset()
	clear(c.stopped)
	clear(c.faults)
	c.led = 0
	c.lost = false
	return nil
}

func (c *Control) forget(*request) error {
	c.record.Reset()
	return nil
}
