package control

import (
	"fmt"
	"time"
)

// Status is the document of the requests that change the servers, after the change.
type Status struct {
	Members  []Member `json:"members"`
	Leader   *int     `json:"leader,omitempty"` // nil: there is no quorum
	Sessions int      `json:"sessions"`
	Drops    int      `json:"drops"`
	Faults   []Fault  `json:"faults"`
	Zxid     string   `json:"zxid"`
}

// Member is a server in a [Status].
type Member struct {
	Member  int    `json:"member"`
	Address string `json:"address"`
	Stopped bool   `json:"stopped"`
}

// Fault is a fault in force: the request that made it, with the parameters that it has.
type Fault struct {
	Fault     string `json:"fault"`
	Member    *int   `json:"member,omitempty"` // nil: of all
	Direction string `json:"direction,omitempty"`
	Time      string `json:"time,omitempty"`
	What      string `json:"what,omitempty"`
	Op        string `json:"op,omitempty"`
	Path      string `json:"path,omitempty"`
	Below     string `json:"below,omitempty"`
	Session   string `json:"session,omitempty"`
	Count     int    `json:"count,omitempty"` // of those that are still to be lost
}

// Sessions is a list of sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Session is a session that has not ended.
type Session struct {
	Session    string   `json:"session"`
	Connected  bool     `json:"connected"`
	Timeout    float64  `json:"timeout_seconds"`
	Remaining  float64  `json:"remaining_seconds"`
	Ephemerals []string `json:"ephemerals"`
}

// Watches is a list of watches.
type Watches struct {
	Watches []Watch `json:"watches"`
}

// Watch is a watch that a client has left with the servers.
type Watch struct {
	Path      string `json:"path"`
	Session   string `json:"session"`
	Kind      string `json:"kind"`
	Lasting   bool   `json:"lasting"`
	Recursive bool   `json:"recursive"`
}

// Tree is a list of nodes.
type Tree struct {
	Nodes []Node `json:"nodes"`
}

// Node is a node of the tree.
type Node struct {
	Path     string  `json:"path"`
	Data     []byte  `json:"data"`
	Text     *string `json:"text,omitempty"` // nil: not UTF-8
	Session  string  `json:"session,omitempty"`
	Version  int32   `json:"version"`
	Children int32   `json:"children"`
}

// Requests is a list of requests that have come.
type Requests struct {
	Requests  []Request      `json:"requests"`
	Counts    map[string]int `json:"counts"`
	Forgotten int            `json:"forgotten"`
}

// Request is a request that has come.
type Request struct {
	At      time.Time `json:"at"`
	Member  int       `json:"member"`
	Session string    `json:"session"`
	Op      string    `json:"op"`
	Paths   []string  `json:"paths"`
	Result  string    `json:"result,omitempty"` // "": not carried out, or not yet
	Lost    bool      `json:"lost"`
}

// Failure is the document of a request that was not done.
type Failure struct {
	Error string `json:"error"`
}

// name returns the name of a session in documents.
func name(session int64) string { return fmt.Sprintf("%#x", uint64(session)) }
