package conn

import (
	"errors"
	"fmt"
	"io"
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
	if len(e.Servers) > 0 {
		b.WriteString("; " + reasons(e.Servers))
	}
	return b.String()
}

// reasons describes how each server failed.
func reasons(servers []ServerError) string {
	texts := make([]string, len(servers))
	for i, s := range servers {
		switch {
		case s.Err == nil:
			texts[i] = s.Server + ": no answer yet"
		case errors.Is(s.Err, io.EOF): // the whole answer of a server without a quorum
			texts[i] = s.Server + ": it closes the connection, as a server without a quorum does: " + s.Err.Error()
		default:
			texts[i] = fmt.Sprintf("%s: %v", s.Server, s.Err)
		}
	}
	return strings.Join(texts, "; ")
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
