package doctor

import (
	"encoding/json"
	"io"
	"slices"
	"time"
)

// Report is what "zksync doctor -o json" prints. schema.json describes it.
type Report struct {
	Version  int       `json:"version"` // of this format: 1
	Zksync   string    `json:"zksync"`
	Healthy  bool      `json:"healthy"` // no finding needs something done
	Findings []Finding `json:"findings"`
	Servers  []*Server `json:"servers"`
	Session  *Session  `json:"session,omitempty"`
	Ensemble *Ensemble `json:"ensemble,omitempty"`
	Path     *Path     `json:"path,omitempty"`
	Clock    *Clock    `json:"clock,omitempty"`
	Lock     *Lock     `json:"lock,omitempty"`

	failures []Finding // what could not be examined to its end
}

// Level says how much a finding matters.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Note    Level = "note"    // good to know; nothing has to be done
	Problem Level = "problem" // something should be done
)

// Finding is one result of the examination.
type Finding struct {
	Level  Level  `json:"level"`
	Check  string `json:"check"`
	Server string `json:"server,omitempty"` // the one that it is about; empty: all
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"` // what to do about it
}

// State says how far a server lets clients come.
type State string

// The states.
const (
	Serving    State = "serving"
	NotServing State = "notServing"  // it accepts connections, but gives no session or answers no write
	Unreached  State = "unreachable" // it accepts no connection
)

// Server is what was found out about one server. Zero values stand for what is not
// known.
type Server struct {
	Address       string    `json:"address"`
	State         State     `json:"state"`           // whether it gives sessions and answers writes
	Error         string    `json:"error,omitempty"` // why it is not serving
	Version       string    `json:"version,omitempty"`
	Role          string    `json:"role,omitempty"` // leader, follower, observer, standalone, read-only
	Words         []string  `json:"words"`          // the four-letter words that it answers, of those that were tried
	Connect       float64   `json:"connectSeconds,omitempty"`
	Read          float64   `json:"readSeconds,omitempty"`           // median
	Write         float64   `json:"writeSeconds,omitempty"`          // median, agreed to by a quorum
	Granted       float64   `json:"sessionTimeoutSeconds,omitempty"` // for the session timeout that was asked for
	CertExpires   time.Time `json:"certificateExpires,omitzero"`
	Credentials   string    `json:"credentials,omitempty"` // accepted or refused, if there are any
	SameTree      *bool     `json:"sameTree,omitempty"`    // sees what the first serving one sees
	notTLS, noTLS bool      // it seems to speak the other one of TLS and no TLS
	unready       bool      // it says that it serves no requests
	mute          bool      // it gives a session, and answers no write
	listed        int       // how often the server list has it
	cause         error     // that of Error
	writes        int       // how many Write is the median of
	tick          float64   // by its configuration
}

// Session is what session timeouts the ensemble grants.
type Session struct {
	Asked    float64 `json:"askedSeconds"`
	Granted  float64 `json:"grantedSeconds"`
	Shortest float64 `json:"shortestSeconds,omitempty"`
	Longest  float64 `json:"longestSeconds,omitempty"`
	Tick     float64 `json:"tickSeconds,omitempty"` // known if a server answers "conf"
}

// Ensemble is what the servers' own configuration says.
type Ensemble struct {
	Participants int `json:"participants"`
	Observers    int `json:"observers"`
}

// Answer is whether something is allowed or available.
type Answer string

// The answers. The zero value means that it was not tried.
const (
	Yes Answer = "yes"
	No  Answer = "no"
)

// Path is what the credentials may do under a path, with the chroot.
type Path struct {
	Path       string   `json:"path"`
	Exists     bool     `json:"exists"`
	Nearest    string   `json:"nearest"`    // the path, or the nearest node above it that exists
	Identity   string   `json:"identity"`   // such as digest:alice; empty: none
	Create     Answer   `json:"create"`     // below Nearest
	Read       Answer   `json:"read"`       // the children of Nearest
	Delete     Answer   `json:"delete"`     // below Nearest
	Containers Answer   `json:"containers"` // nodes that the servers delete when they are empty
	ACL        []string `json:"acl"`        // of Nearest, without digests; empty if it can't be read
	ephemeral  bool     // Nearest can't have children
}

// Clock compares the leader's clock with that of this machine.
type Clock struct {
	Ahead       float64 `json:"aheadSeconds"` // of this machine; negative: behind
	Uncertainty float64 `json:"uncertaintySeconds"`
}

// Lock is what a free lock costs here.
type Lock struct {
	Cycles   int     `json:"cycles"`
	Median   float64 `json:"medianSeconds"` // of taking and releasing it
	Longest  float64 `json:"longestSeconds"`
	Requests float64 `json:"requestsPerCycle"`
}

// Reached reports whether any server serves.
func (r *Report) Reached() bool { return len(r.serving()) > 0 }

// Mute reports whether any server gave a session, but answered no write.
func (r *Report) Mute() bool {
	return slices.ContainsFunc(r.Servers, func(s *Server) bool { return s.mute })
}

// Refused reports whether all servers that give a session refuse the credentials.
func (r *Report) Refused() bool {
	return r.Reached() && !slices.ContainsFunc(r.serving(), func(s *Server) bool { return s.Credentials != "refused" })
}

func (r *Report) serving() (list []*Server) {
	for _, s := range r.Servers {
		if s.State == Serving {
			list = append(list, s)
		}
	}
	return list
}

// WriteJSON writes the report as a line of JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
