package zktest

import (
	"errors"
	"syscall"
)

// reservePort binds a socket to a free port of an address, and never listens with it.
// Linux then gives the port to nobody who asks for any free port, neither for a listener
// nor for the near end of a connection, but does let a listener have it that asks for this
// port by its number, as Go's listeners do with SO_REUSEADDR.
func reservePort(ip [4]byte) (port int, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, nil, err
	}
	release = func() { _ = syscall.Close(fd) } // the system has nothing to lose
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: ip}),
	)
	if err == nil {
		var own syscall.Sockaddr
		if own, err = syscall.Getsockname(fd); err == nil {
			if own, ok := own.(*syscall.SockaddrInet4); ok {
				return own.Port, release, nil
			}
			err = syscall.EAFNOSUPPORT
		}
	}
	release()
	return 0, nil, err
}
