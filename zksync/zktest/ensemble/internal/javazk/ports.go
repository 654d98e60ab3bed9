package javazk

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The ports are below the range that systems use for outgoing connections: a server
// that was down for a while must find its port free when it comes back.
const (
	firstPort = 10000
	lastPort  = 30000
)

const loopback = "127.0.0.1"

// errPortTaken says that another program took a port after it was picked and before
// it was used.
var errPortTaken = errors.New("ensemble: port taken")

// portPool hands out ports that no program listens on, and no port twice in a
// process.
type portPool struct {
	mu   sync.Mutex
	used map[int]struct{} // guarded by mu
}

var ports = portPool{used: make(map[int]struct{})}

// pick returns a free port. No other call returns it before release.
func (p *portPool) pick() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if _, taken := p.used[port]; taken {
			continue
		}
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			continue
		}
		l.Close()
		p.used[port] = struct{}{}
		return port, nil
	}
	return 0, errors.New("ensemble: no free port on " + loopback)
}

func (p *portPool) release(port int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, port)
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// PickPort returns a free port on loopback. No other call returns it before the
// ensemble that uses it is closed. It is the default of [Config.PickPort].
func PickPort() (int, error) { return ports.pick() }
