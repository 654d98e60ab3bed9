package control

import (
	"time"

	"github.com/zklocker/go-zksync/zksync/zktest"
)

// inForce is the faults of a member that have begun and not ended. The zero value is none.
// A member that is stopped is so beside them.
type inForce struct {
	refuse, lag, cut   bool
	toServer, toClient bool // held back
	delay, jitter      time.Duration
}

// list returns the faults of a member as the requests that made them.
func (f *inForce) list(member int, stopped bool) (list []Fault) {
	add := func(is bool, x Fault) {
		if is {
			x.Member = &member
			list = append(list, x)
		}
	}
	add(stopped, Fault{Fault: "stop"})
	add(f.refuse, Fault{Fault: "refuse"})
	add(f.toServer && f.toClient, Fault{Fault: "blackhole"})
	add(f.toServer && !f.toClient, Fault{Fault: "blackhole", Direction: "to-server"})
	add(!f.toServer && f.toClient, Fault{Fault: "blackhole", Direction: "to-client"})
	add(f.delay > 0, Fault{Fault: "delay", Time: f.delay.String()})
	add(f.jitter > 0, Fault{Fault: "jitter", Time: f.jitter.String()})
	add(f.lag, Fault{Fault: "lag"})
	add(f.cut, Fault{Fault: "cut-from-leader"})
	return list
}

// allFaults returns all faults in force. The caller holds mu.
func (c *Control) allFaults() []Fault {
	list := []Fault{}
	if c.lost {
		list = append(list, Fault{Fault: "lose-quorum"})
	}
	for i := range c.faults {
		list = append(list, c.faults[i].list(i, c.stopped[i])...)
	}
	return append(list, c.losses.list()...)
}

// note changes what is in force at the members of a target. The caller holds mu.
func (c *Control) note(t target, change func(*inForce)) {
	for _, i := range t.members {
		change(&c.faults[i])
	}
}

// fault returns what makes a fault of members, or ends it, and notes that.
func fault(do func(*zktest.Faults), change func(*inForce)) func(*Control, *request) (any, error) {
	return actOn(func(c *Control, _ *request, t target) error {
		do(t.Faults)
		c.note(t, change)
		return nil
	})
}

// slow returns what makes traffic of members slow, and notes that.
func slow(do func(*zktest.Faults, time.Duration), change func(*inForce, time.Duration)) func(*Control, *request) (any, error) {
	return actOn(func(c *Control, r *request, t target) error {
		if r.params["time"] == "" {
			return badf("no time: want time=250ms, or time=0 to end it")
		}
		d, err := r.duration("time", 0)
		if err != nil {
			return err
		}
		do(t.Faults, d)
		c.note(t, func(f *inForce) { change(f, d) })
		return nil
	})
}

// What requests begin and end.
var (
	refuse  = fault((*zktest.Faults).Refuse, func(f *inForce) { f.refuse = true })
	lag     = fault((*zktest.Faults).LagUntilSync, func(f *inForce) { f.lag = true })
	catchUp = fault((*zktest.Faults).CatchUp, func(f *inForce) { f.lag = false })
	cut     = fault((*zktest.Faults).CutFromLeader, func(f *inForce) { f.cut = true })
	rejoin  = fault((*zktest.Faults).RejoinLeader, func(f *inForce) { f.cut = false })
	delay   = slow((*zktest.Faults).Delay, func(f *inForce, d time.Duration) { f.delay = d })
	jitter  = slow((*zktest.Faults).Jitter, func(f *inForce, d time.Duration) { f.jitter = d })
)

// together ends lag and cuts of members.
func (c *Control) together(t target) {
	t.CatchUp()
	t.RejoinLeader()
	c.note(t, func(f *inForce) { f.lag, f.cut = false, false })
}

// elected notes what an election has ended: the cut of the new leader, and the lag of all
// that take part. The caller holds mu.
func (c *Control) elected() {
	if leader := c.leader(); leader != nil {
		c.faults[*leader].cut = false
		c.led = *leader
	}
	for i := range c.faults {
		if f := &c.faults[i]; !f.cut {
			f.lag = false
		}
	}
}

// notice notes an election that a client has made by a reconfig that takes the leader out.
// The caller holds mu.
func (c *Control) notice() {
	if leader := c.leader(); leader != nil && *leader != c.led {
		c.elected()
	}
}
