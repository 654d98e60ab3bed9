package dynamic

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// Server is the line of a server in a configuration. It is a plain value.
type Server struct {
	Quorum   string // host and port for the other servers
	Election string // port for elections
	Client   string // host and port for clients, or empty
	Observer bool   // it does not vote
}

// String returns the line as it follows "server.1=".
func (s Server) String() string {
	role := "participant"
	if s.Observer {
		role = "observer"
	}
	line := s.Quorum + ":" + s.Election + ":" + role
	if s.Client != "" {
		line += ";" + s.Client
	}
	return line
}

// parseServer reads "host:port:port", with ":role" after it and then ";port" or
// ";host:port" for clients, both optional.
func parseServer(line string) (s Server, code wire.Code) {
	line, client, _ := strings.Cut(strings.TrimRight(line, ";"), ";")
	if strings.Contains(client, ";") {
		return s, wire.CodeBadArguments
	}
	if client != "" {
		if s.Client, code = parseClient(client); code != wire.CodeOK {
			return s, code
		}
	}
	parts := hostAndPorts(line)
	if len(parts) < 3 || len(parts) > 4 || strings.Contains(line, "|") {
		return s, wire.CodeBadArguments
	}
	quorum, code := parsePort(parts[1])
	if code != wire.CodeOK {
		return s, code
	}
	if s.Election, code = parsePort(parts[2]); code != wire.CodeOK {
		return s, code
	}
	if quorum == s.Election {
		return s, wire.CodeBadArguments
	}
	s.Quorum = host(parts[0]) + ":" + quorum
	if len(parts) == 4 {
		switch strings.ToLower(strings.TrimSpace(parts[3])) {
		case "observer":
			s.Observer = true
		case "participant":
		default:
			return s, wire.CodeBadArguments
		}
	}
	return s, wire.CodeOK
}

func parseClient(text string) (string, wire.Code) {
	parts := hostAndPorts(text)
	if len(parts) == 0 || len(parts) > 2 {
		return "", wire.CodeBadArguments
	}
	port, code := parsePort(parts[len(parts)-1])
	if len(parts) == 1 {
		return "0.0.0.0:" + port, code
	}
	return host(parts[0]) + ":" + port, code
}

// parsePort reads a port. ZooKeeper takes what is no number for a mistake in the line,
// and what is no port for one in the request.
func parsePort(text string) (string, wire.Code) {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return "", wire.CodeBadArguments
	case n < 0 || n > 65535:
		return "", wire.CodeMarshallingError
	}
	return strconv.FormatInt(n, 10), wire.CodeOK
}

// hostAndPorts splits at colons, but not those of an address in brackets. Empty parts
// at the end don't count.
func hostAndPorts(text string) []string {
	var first []string
	if strings.HasPrefix(text, "[") {
		end := strings.Index(text, "]")
		if end < 0 {
			return nil
		}
		first, text = []string{text[1:end]}, strings.TrimPrefix(text[end+1:], ":")
	}
	parts := append(first, strings.Split(text, ":")...)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// host returns the name or address of a host as Java writes it: an address of IPv6
// in brackets and in full.
func host(name string) string {
	addr, err := netip.ParseAddr(name)
	if err != nil || !addr.Is6() {
		return name
	}
	b := addr.As16()
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = fmt.Sprintf("%x", int(b[2*i])<<8|int(b[2*i+1]))
	}
	return "[" + strings.Join(groups, ":") + "]"
}
