package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/control"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// maxMembers is how many servers an ensemble can have: ZooKeeper numbers them from 1 to
// 255.
const maxMembers = 255

// checkListen checks the value of a flag that is an address to listen on.
func checkListen(flag, addr string) error {
	switch host, _, err := net.SplitHostPort(addr); {
	case err != nil:
		return exit.Usagef("%s %q: want host:port, as in 127.0.0.1:2181", flag, addr)
	case host == "":
		return exit.Usagef("%s %q: no host; 0.0.0.0%s is every address of this machine", flag, addr, addr)
	}
	return nil
}

// open gives each member a port, and returns their addresses.
func (s *server) open(srv *zktest.Server) (addresses []string, err error) {
	addr := s.listen
	for i := range s.members {
		if i > 0 {
			srv.AddMember()
		}
		m := srv.Member(i)
		if err := m.Listen(addr); err != nil {
			return nil, cantListen(addr, err)
		}
		addresses = append(addresses, bound(addr, m.Addr()))
		addr = after(addr)
	}
	return addresses, nil
}

// bound returns the address that was opened for the address asked for. The system calls
// every address of this machine [::], also where 0.0.0.0 was asked for.
func bound(asked, opened string) string {
	host, _, _ := net.SplitHostPort(asked)
	_, port, err := net.SplitHostPort(opened)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return opened
	}
	return net.JoinHostPort(host, port)
}

// after returns the address with the next port; port 0, or one with a name, stays.
func after(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	if n, err := strconv.Atoi(port); err == nil && n > 0 {
		port = strconv.Itoa(n + 1)
	}
	return net.JoinHostPort(host, port)
}

// openControl opens the control port, if there is to be one, and returns its address. end
// closes it. failed gets the error that ends it.
func (s *server) openControl(srv *zktest.Server, addresses []string, failed chan<- error) (addr string, end func(), err error) {
	if s.control == "" {
		return "", func() {}, nil
	}
	l, err := net.Listen("tcp", s.control)
	if err != nil {
		return "", nil, cantListen(s.control, err)
	}
	h := &http.Server{
		Handler:           control.Guard(control.New(srv, addresses), s.controlHosts...),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
	}
	go func() { failed <- fmt.Errorf("control port: %w", h.Serve(l)) }()
	return bound(s.control, l.Addr().String()), func() { h.Close() }, nil
}

// cantListen returns the error of a port that can't be opened.
func cantListen(addr string, err error) error {
	return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("can't listen on %s: %w", addr, cause(err))}
}

// isOpen reports whether other machines may reach an address.
func isOpen(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(strings.SplitN(host, "%", 2)[0])
	return ip != nil && !ip.IsLoopback()
}

// cause returns what the system said of a network operation, without the
// operation and its address.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
