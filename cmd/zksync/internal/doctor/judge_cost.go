package doctor

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// short prints a time for a person.
func short(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", seconds*1000)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", seconds*1000)
	case d%time.Second != 0:
		return fmt.Sprintf("%.1f s", seconds)
	default:
		return fmt.Sprintf("%.0f s", seconds)
	}
}

// ticks is how many of the servers' ticks a session timeout has to have, so that half of
// it is a safe time to do without an answer.
const ticks = 3

// session judges the session timeouts.
func (r *Report) session() (list []Finding) {
	t := r.Session
	if t == nil {
		return nil
	}
	for _, s := range r.serving() {
		if s.Granted != t.Granted {
			list = append(list, Finding{Problem, "session", s.Address, fmt.Sprintf("it grants a session timeout of %s, and another server %s", short(s.Granted), short(t.Granted)),
				"give all servers the same tickTime, minSessionTimeout and maxSessionTimeout"})
		}
	}
	limits := ""
	if t.Longest > 0 {
		limits = fmt.Sprintf("; the servers grant %s to %s", short(t.Shortest), short(t.Longest))
	}
	switch {
	case t.Granted != t.Asked:
		list = append(list, Finding{Problem, "session", "", fmt.Sprintf("a session timeout of %s was asked for, and %s granted%s", short(t.Asked), short(t.Granted), limits),
			"ask for what they grant (--session-timeout, WithSessionTimeout), or change maxSessionTimeout or minSessionTimeout"})
	default:
		list = append(list, Finding{Level: OK, Check: "session", Text: fmt.Sprintf("a session timeout of %s is granted as asked%s", short(t.Granted), limits)})
	}
	switch {
	case t.Tick > 0 && t.Granted < ticks*t.Tick:
		list = append(list, Finding{Problem, "session", "", fmt.Sprintf("a session timeout of %s is less than %d ticks of the servers, %s each", short(t.Granted), ticks, short(t.Tick)),
			fmt.Sprintf("ask for %s or more: below that, a holder may learn of a loss too late", short(ticks*t.Tick))})
	case t.Tick == 0 && t.Granted < t.Shortest*ticks/2: // by default the shortest is two ticks
		list = append(list, Finding{Note, "session", "", fmt.Sprintf("a session timeout of %s is less than %d ticks of the servers, if the shortest that they grant is two", short(t.Granted), ticks),
			fmt.Sprintf("ask for %s or more: below %d ticks, a holder may learn of a loss too late", short(t.Shortest*ticks/2), ticks)})
	}
	return list
}

// A holder gives up a server that does not answer for a sixth of the session timeout. A
// quarter of that leaves room for a bad moment.
const (
	tooSlow = 6
	slow    = 24
)

// latency judges how fast the servers answer.
func (r *Report) latency() (list []Finding) {
	var slowest *Server
	for _, s := range r.serving() {
		if s.Write == 0 || s.Granted == 0 {
			continue
		}
		if slowest == nil || s.Write > slowest.Write {
			slowest = s
		}
		text := fmt.Sprintf("writes are slow: one takes %s (median of %d), and a read %s; ", short(s.Write), s.writes, duration(s.Read))
		switch {
		case s.Write >= s.Granted/tooSlow:
			list = append(list, Finding{Problem, "latency", s.Address,
				text + fmt.Sprintf("a holder gives up a server after %s, a sixth of the session timeout of %s", short(s.Granted/tooSlow), short(s.Granted)),
				s.hasten() + fmt.Sprintf("; until then, ask for a session timeout of %s or more (--session-timeout, WithSessionTimeout)", short(math.Ceil(2*tooSlow*s.Write)))})
		case s.Write >= s.Granted/slow:
			list = append(list, Finding{Note, "latency", s.Address,
				text + fmt.Sprintf("it should be less than %s, 1/24 of the session timeout of %s", short(s.Granted/slow), short(s.Granted)), s.hasten()})
		}
	}
	if len(list) == 0 && slowest != nil {
		list = append(list, Finding{Level: OK, Check: "latency", Text: fmt.Sprintf("a write takes %s on the slowest server (median of %d); it should be less than %s, 1/24 of the session timeout",
			short(slowest.Write), slowest.writes, short(slowest.Granted/slow))})
	}
	return list
}

// hasten says where to look for what makes a server's writes slow.
func (s *Server) hasten() string {
	if s.Read > s.Write/2 { // a read needs neither a disk nor another server
		return "reads are slow as well: look at the network to the server, and at its garbage collection and load"
	}
	return "reads are faster: look at the disks of the servers' transaction logs, and at the network between the servers"
}

// path judges what the credentials may do.
func (r *Report) path() (list []Finding) {
	p := r.Path
	if p == nil {
		return nil
	}
	who := "without credentials, one"
	if p.Identity != "" {
		who = p.Identity
	}
	refuse := func(what, perm string) {
		advice := fmt.Sprintf("grant the permission %s on %s to them", perm, p.Nearest)
		if p.Identity == "" {
			advice = fmt.Sprintf("give credentials (--auth-file), or grant the permission %s on %s to everybody", perm, p.Nearest)
		}
		if strings.HasPrefix(p.Identity, "digest:") {
			advice += ", or check the password: ZooKeeper takes a wrong one for another user"
		}
		if len(p.ACL) > 0 {
			advice += "; its ACL is " + strings.Join(p.ACL, ", ")
		}
		list = append(list, Finding{Problem, "path", "", fmt.Sprintf("%s may not %s %s", who, what, p.Nearest), advice})
	}
	if p.ephemeral {
		return []Finding{{Problem, "path", "", p.Nearest + " is an ephemeral node, which can't have children", "use another path for the locks"}}
	}
	if p.Create == No {
		refuse("create nodes below", "c (create)")
	}
	// What is made below a node is the maker's: only the node itself has to let others.
	if p.Exists && p.Read == No {
		refuse("list the children of", "r (read)")
	}
	if p.Exists && p.Delete == No {
		refuse("delete nodes below", "d (delete)")
	}
	if len(list) > 0 || p.Create == "" {
		return list
	}
	text := fmt.Sprintf("nodes below %s can be created, listed and deleted", p.Path)
	if !p.Exists {
		text = fmt.Sprintf("%s does not exist: the first lock makes it, below %s", p.Path, p.Nearest)
	}
	return []Finding{{Level: OK, Check: "path", Text: text}}
}

// containers judges whether the paths of locks go away by themselves.
func (r *Report) containers() []Finding {
	switch p := r.Path; {
	case p == nil || p.Containers == "":
		return nil
	case p.Containers == No:
		return []Finding{{Note, "containers", "", "the servers have no container nodes: the paths of locks stay when nobody uses them", "upgrade ZooKeeper, or delete empty paths by hand"}}
	}
	return []Finding{{Level: OK, Check: "containers", Text: "the servers delete the path of a lock when nobody uses it any more"}}
}

// The clocks do not matter to the locks. Beyond these, in seconds, they matter to what is
// shown of them, and to certificates.
const (
	clockOff    = 1
	clockBroken = 10
)

// clock judges the difference of the clocks.
func (r *Report) clock() []Finding {
	c := r.Clock
	if c == nil {
		return nil
	}
	off := max(math.Abs(c.Ahead)-c.Uncertainty, 0)
	if off < clockOff {
		return []Finding{{Level: OK, Check: "clock", Text: "the leader's clock and this machine's agree to a second"}}
	}
	way := "ahead of"
	if c.Ahead < 0 {
		way = "behind"
	}
	f := Finding{Note, "clock", "", fmt.Sprintf("the leader's clock is %s %s this machine's: locks work all the same, but times in line are shown wrong", short(math.Abs(c.Ahead)), way),
		"synchronize the clocks (chrony, NTP)"}
	if off >= clockBroken {
		f.Level = Problem
	}
	return []Finding{f}
}

// lock reports what a lock costs.
func (r *Report) lock() []Finding {
	l := r.Lock
	if l == nil {
		return nil
	}
	return []Finding{{Level: OK, Check: "lock", Text: fmt.Sprintf("a free lock is taken and released in %s (median of %d; longest %s), by %.1f requests",
		short(l.Median), l.Cycles, short(l.Longest), l.Requests)}}
}
