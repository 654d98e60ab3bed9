package doctor

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Judge makes the findings, those that need something done first. now is the present
// time.
func (r *Report) Judge(now time.Time) {
	r.Findings = slices.Concat(r.servers(), r.size(), r.trees(), r.versions(), r.words(), r.certificates(now), r.credentials(),
		r.session(), r.latency(), r.path(), r.containers(), r.clock(), r.lock(), r.failures)
	order := []Level{Problem, Note, OK}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	r.Healthy = !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Problem })
}

// servers judges which servers serve.
func (r *Report) servers() (list []Finding) {
	for _, s := range r.Servers {
		if s.State != Serving {
			list = append(list, Finding{Problem, "server", s.Address, s.fault(), s.remedy()})
		}
	}
	if len(list) == 0 {
		list = append(list, Finding{Level: OK, Check: "server", Text: fmt.Sprintf("%s, and a majority agrees to writes", all(len(r.Servers), "serves", "serve"))})
	}
	for _, s := range r.Servers {
		if s.listed > 1 {
			list = append(list, Finding{Note, "server", s.Address, fmt.Sprintf("the server list has it %d times; it was examined once", s.listed),
				"name it once: clients try the servers of the list in turn, and this one comes up more often"})
		}
	}
	return list
}

// all returns a phrase about n servers.
func all(n int, one, many string) string {
	if n == 1 {
		return "the server " + one
	}
	return fmt.Sprintf("all %d servers %s", n, many)
}

// fault says that a server does not serve.
func (s *Server) fault() string {
	switch {
	case s.State == Unreached:
		return "it can't be reached: " + s.Error
	case s.unready:
		return "it runs without a quorum: " + s.Error
	case s.mute:
		return "it gives a session, but answers no write: " + s.Error
	}
	return "it gives no session: " + s.Error
}

// remedy says what to do about a server that does not serve.
func (s *Server) remedy() string {
	switch {
	case s.State == Unreached:
		return s.reach()
	case s.notTLS:
		return "this may be the port without TLS: name the secure one, or leave the --tls flags out"
	case strings.HasPrefix(s.Error, "TLS: "):
		return "check --tls-ca, --tls-cert and --tls-server-name against the server's certificate"
	case s.unready:
		return "see that a majority of the servers runs and that they reach each other"
	case s.mute:
		return "see that a majority of the servers runs and that they reach each other; if the writes are only slow, a longer --connect-timeout shows how slow"
	case s.noTLS:
		return "if this is a port for TLS, give --tls-ca; if it is that of another program, correct the address; else " + seeLog
	case isTimeout(s.cause):
		return "see whether its process hangs or is stopped, and whether it is a ZooKeeper at all; else " + seeLog
	}
	return seeLog
}

// seeLog is what to do about a server of which no more is known.
const seeLog = "look into the server's log: it may have no quorum, or as many connections of this machine as maxClientCnxns allows"

// reach says what to do about a server that can't be reached.
func (s *Server) reach() string {
	var name *net.DNSError
	switch {
	case errors.As(s.cause, &name) && name.IsNotFound:
		return "correct the name, or make this machine's DNS or /etc/hosts know it"
	case errors.As(s.cause, &name):
		return "see that this machine's DNS servers answer (/etc/resolv.conf)"
	case errors.Is(s.cause, syscall.ECONNREFUSED):
		return "start the server there, or correct the host and port: nothing listens there, or a firewall refuses it"
	}
	return "see that its machine is up and that no firewall is between, or correct the address"
}

// size judges how many servers may fail.
func (r *Report) size() (list []Finding) {
	e := r.Ensemble
	if e == nil {
		return nil
	}
	note := func(text, advice string) { list = append(list, Finding{Note, "ensemble", "", text, advice}) }
	spare := (e.Participants - 1) / 2
	switch {
	case e.Participants == 1:
		note("the ensemble has one server: while it is down, no lock can be taken or kept", "run three servers")
	case e.Participants%2 == 0:
		note(fmt.Sprintf("%d servers vote, which bears no more failures than %d", e.Participants, e.Participants-1), "add a server, or take one away")
	default:
		list = append(list, Finding{Level: OK, Check: "ensemble", Text: fmt.Sprintf("%d servers vote: %d may fail", e.Participants, spare)})
	}
	if total := e.Participants + e.Observers; len(r.Servers) < total {
		note(fmt.Sprintf("the server list has %d of the %d servers", len(r.Servers), total), "name all of them, so that programs can move when one fails, unless a name in the list stands for several")
	} else if e.Participants > 1 {
		if down := len(r.Servers) - len(r.serving()); down > 0 && down >= spare {
			list = append(list, Finding{Problem, "ensemble", "", "no further server may fail", "bring the others back soon"})
		}
	}
	return list
}

// trees judges whether the servers are one ensemble.
func (r *Report) trees() (list []Finding) {
	alone, leaders := 0, 0
	for _, s := range r.serving() {
		if s.SameTree != nil && !*s.SameTree {
			list = append(list, Finding{Problem, "ensemble", s.Address, "it does not show a node made on " + r.serving()[0].Address + ": it belongs to another ensemble",
				"take it out of the server list: programs on the two would hold one lock at once"})
		}
		switch s.Role {
		case "standalone":
			alone++
		case "leader":
			leaders++
		}
	}
	if len(list) == 0 && len(r.serving()) > 1 && (alone > 0 || leaders > 1) {
		list = append(list, Finding{Problem, "ensemble", "", fmt.Sprintf("of several servers, %d are standalone and %d lead", alone, leaders),
			"check that all of them have the same server lines in zoo.cfg"})
	}
	return list
}

// versions judges what ZooKeeper runs.
func (r *Report) versions() (list []Finding) {
	var seen, stalling []string
	for _, s := range r.serving() {
		if s.Version == "" {
			continue
		}
		if s.mayStall() {
			stalling = append(stalling, s.Address)
		}
		if !slices.Contains(seen, s.Version) {
			seen = append(seen, s.Version)
		}
		var major, minor int
		_, _ = fmt.Sscanf(s.Version, "%d.%d", &major, &minor) // of digits
		if major < 3 || major == 3 && minor < 5 {
			list = append(list, Finding{Problem, "version", s.Address, "ZooKeeper " + s.Version + " is older than zksync supports", "upgrade to ZooKeeper 3.5 or later"})
		}
	}
	slices.Sort(seen)
	switch {
	case len(seen) == 1 && len(list) == 0:
		list = append(list, Finding{Level: OK, Check: "version", Text: "ZooKeeper " + seen[0]})
	case len(seen) > 1:
		list = append(list, Finding{Note, "version", "", "the servers run different versions: " + strings.Join(seen, ", "), "finish the upgrade"})
	}
	if len(stalling) > 0 {
		list = append(list, Finding{Note, "version", strings.Join(stalling, ","), "a write may wait for the server's next request (ZOOKEEPER-4537): with few clients, a lock may take seconds",
			"upgrade to ZooKeeper 3.8.1 or later"})
	}
	return list
}

// mayStall reports whether the server has the race of ZOOKEEPER-4537. A standalone server
// has not.
func (s *Server) mayStall() bool {
	var major, minor, patch int
	_, _ = fmt.Sscanf(s.Version, "%d.%d.%d", &major, &minor, &patch)
	fixed, ok := map[int]int{6: 4, 7: 2, 8: 1}[minor]
	return ok && major == 3 && patch < fixed && slices.Contains([]string{"leader", "follower", "observer"}, s.Role)
}

// words judges what can be asked without a session.
func (r *Report) words() (list []Finding) {
	common := []string{}
	for i, s := range r.serving() {
		if !slices.Contains(s.Words, "srvr") {
			list = append(list, Finding{Note, "words", s.Address, "it does not answer srvr, so its version and role are unknown",
				"add srvr to 4lw.commands.whitelist, if monitoring is to see them"})
		}
		if i == 0 {
			common = slices.Clone(s.Words)
		}
		common = slices.DeleteFunc(common, func(w string) bool { return !slices.Contains(s.Words, w) })
	}
	if len(list) == 0 && len(common) > 0 {
		list = append(list, Finding{Level: OK, Check: "words", Text: fmt.Sprintf("four-letter words that are answered, of %s: %s", strings.Join(words, " "), strings.Join(common, " "))})
	}
	return list
}

// soon is how long before its end a certificate is to be replaced.
const soon = 14 * 24 * time.Hour

// certificates judges how long the servers' certificates last.
func (r *Report) certificates(now time.Time) (list []Finding) {
	var next time.Time
	for _, s := range r.serving() {
		end := s.CertExpires
		switch {
		case end.IsZero():
			continue
		case end.Before(now.Add(soon)):
			list = append(list, Finding{Problem, "certificate", s.Address, "a certificate that it shows ends on " + end.Format(time.DateOnly), "replace it"})
		}
		if next.IsZero() || end.Before(next) {
			next = end
		}
	}
	if len(list) == 0 && !next.IsZero() {
		list = append(list, Finding{Level: OK, Check: "certificate", Text: "the servers' certificates last until " + next.Format(time.DateOnly)})
	}
	return list
}

// credentials judges whether the servers know who we are.
func (r *Report) credentials() (list []Finding) {
	for _, s := range r.Servers {
		if s.Credentials == "refused" {
			list = append(list, Finding{Problem, "credentials", s.Address, "it refuses the credentials", "check their scheme, and that the server has a provider for it"})
		}
	}
	return list
}
