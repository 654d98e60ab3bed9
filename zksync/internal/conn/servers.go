package conn

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// defaultPort is ZooKeeper's client port.
const defaultPort = "2181"

// ParseServers checks a list of servers and completes each to host:port. The default
// port is 2181. An IPv6 address may stand in brackets or without them.
func ParseServers(servers []string) ([]string, error) {
	if len(servers) == 0 {
		return nil, errors.New("the server list is empty")
	}
	out := make([]string, len(servers))
	for i, s := range servers {
		hp, err := parseServer(s)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", s, err)
		}
		out[i] = hp
	}
	return out, nil
}

func parseServer(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", errors.New("empty")
	case strings.Contains(s, ","):
		return "", errors.New("several servers in one string: give each its own element")
	case strings.Contains(s, "/"):
		return "", errors.New("a server is host:port; a root path goes into WithChroot")
	case strings.ContainsAny(s, " \t\r\n"):
		return "", errors.New("contains white space")
	}
	if net.ParseIP(s) != nil { // the colons of IPv6 are not those before a port
		return net.JoinHostPort(s, defaultPort), nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		if !strings.ContainsAny(s, ":[]") {
			return net.JoinHostPort(s, defaultPort), nil
		}
		if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") && net.ParseIP(s[1:len(s)-1]) != nil {
			return net.JoinHostPort(s[1:len(s)-1], defaultPort), nil
		}
		return "", err
	}
	if host == "" {
		return "", errors.New("no host")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("bad port %q", port)
	}
	return net.JoinHostPort(host, port), nil
}
