package conn

import (
	"fmt"
	"strings"
)

// ServerError says how one server failed. Err is nil if no try of it has ended.
type ServerError struct {
	Server string
	Err    error
}

// DialError says why there is no session.
type DialError struct {
	Servers []ServerError
	Err     error // why Dial gave up
}

func (e *DialError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no session with any server: %v", e.Err)
	for _, s := range e.Servers {
		if s.Err == nil {
			fmt.Fprintf(&b, "; %s: no answer yet", s.Server)
		} else {
			fmt.Fprintf(&b, "; %s: %v", s.Server, s.Err)
		}
	}
	return b.String()
}

// Unwrap returns why Dial gave up and how the servers failed.
func (e *DialError) Unwrap() []error {
	out := []error{e.Err}
	for _, s := range e.Servers {
		if s.Err != nil {
			out = append(out, s.Err)
		}
	}
	return out
}

// report returns how each server failed.
func (l *link) report(servers []string) []ServerError {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]ServerError, len(servers))
	for i, s := range servers {
		out[i] = ServerError{Server: s, Err: l.errs[s]}
	}
	return out
}
