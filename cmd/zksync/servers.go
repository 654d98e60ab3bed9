package main

import (
	"net"
	"strconv"
	"strings"
	"unicode"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/text"
)

// checkList returns a usage error if list, with its chroot, is written as another
// program's list of servers is. from is where it comes from.
func checkList(from, list string) error {
	if _, rest, found := strings.Cut(list, "://"); found {
		return exit.Usagef("%s: %s is a URL, and a server is only host:port, as in %s", from, text.Quoted(list), text.Name(rest))
	}
	servers, _, _ := strings.Cut(list, "/")
	parts := strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
	for server := range strings.SplitSeq(servers, ",") {
		if strings.ContainsFunc(strings.TrimSpace(server), func(r rune) bool { return r == ';' || unicode.IsSpace(r) }) {
			return exit.Usagef("%s: %s: there is a comma between two servers, as in %s", from, text.Quoted(list), text.Name(strings.Join(parts, ",")))
		}
	}
	return nil
}

// withPort completes a server of a list to host:port, as [zksync.Dial] does.
func withPort(server string) (string, error) {
	const port = "2181"
	if net.ParseIP(server) != nil || !strings.ContainsAny(server, ":[]") {
		return net.JoinHostPort(server, port), nil
	}
	if ip, ok := strings.CutPrefix(server, "["); ok && strings.HasSuffix(ip, "]") && net.ParseIP(ip[:len(ip)-1]) != nil {
		return net.JoinHostPort(ip[:len(ip)-1], port), nil
	}
	host, given, err := net.SplitHostPort(server)
	if err != nil || host == "" {
		return "", exit.Usagef("server %s: want host:port, as in zk1:2181", text.Quoted(server))
	}
	if n, err := strconv.ParseUint(given, 10, 16); err != nil || n == 0 {
		return "", exit.Usagef("server %s: the port is a number from 1 to 65535, as in %s", text.Quoted(server), text.Name(net.JoinHostPort(host, port)))
	}
	return server, nil
}
