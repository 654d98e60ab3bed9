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
// port is 2181. An IPv6 address may stand in brackets or without them. An element may
// name several servers with commas between them. At the end of the last element, and
// nowhere else, a chroot may stand; it is returned with its slash, or as "" if there is
// none, and is not checked.
func ParseServers(servers []string) (list []string, chroot string, err error) {
	if len(servers) == 0 {
		return nil, "", errors.New("the server list is empty")
	}
	for i, element := range servers {
		hosts, root, found := strings.Cut(element, "/")
		switch {
		case found && (i < len(servers)-1 || strings.Contains(root, ",")):
			return nil, "", fmt.Errorf("servers %q: a chroot can stand only behind the last server, as in \"zk1:2181,zk2:2181/app\"", element)
		case found:
			chroot = "/" + root
		}
		parts := strings.Split(hosts, ",")
		for _, s := range parts {
			if len(parts) > 1 {
				s = strings.TrimSpace(s)
			}
			hp, err := parseServer(s)
			if err != nil {
				return nil, "", fmt.Errorf("server %q: %w", s, err)
			}
			list = append(list, hp)
		}
	}
	return list, chroot, nil
}

func parseServer(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", errors.New("empty")
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
