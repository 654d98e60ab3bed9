//go:build !linux

package zktest

import "errors"

// reservePort fails: on this system two sockets can't share a port as it takes.
func reservePort([4]byte) (port int, release func(), err error) {
	return 0, nil, errors.ErrUnsupported
}
