//go:build unix

package foreign

import (
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
)

// The ports are below those that systems take for outgoing connections, and above those
// that package ensemble picks.
const firstPort, lastPort = 30000, 32760

var nextPort struct {
	mu sync.Mutex
	n  int
}

// takePorts returns the first of n ports in a row that nobody listens on. No other call
// returns one of them soon.
func takePorts(t *testing.T, n int) int {
	t.Helper()
	nextPort.mu.Lock()
	defer nextPort.mu.Unlock()
	if nextPort.n == 0 {
		nextPort.n = firstPort + os.Getpid()%(lastPort-firstPort) // another run may go on beside this one
	}
search:
	for range lastPort - firstPort {
		if nextPort.n+n > lastPort {
			nextPort.n = firstPort
		}
		first := nextPort.n
		nextPort.n += n
		for port := first; port < first+n; port++ {
			l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
			if err != nil {
				continue search
			}
			l.Close()
		}
		return first
	}
	t.Error("no free ports")
	return 0
}
