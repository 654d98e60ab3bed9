package suite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// Creation finds the frames of a proxy that make a lock's node, and their
// answers. The zero value is ready.
type Creation struct {
	mu    sync.Mutex
	asked map[[2]int64]bool // guarded by mu; by connection and xid
	sent  int               // guarded by mu
}

// Of reports whether f asks for a lock node, or answers that.
func (c *Creation) Of(f ensemble.Frame) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]int64{f.Conn, int64(f.Xid)}
	if f.FromServer {
		return c.asked[key]
	}
	is := f.Op == "create" || f.Op == "multi" && makes(f.Payload)
	if is && bytes.Contains(f.Payload, []byte("_c_")) {
		if c.asked == nil {
			c.asked = make(map[[2]int64]bool)
		}
		c.asked[key] = true
		c.sent++
		return true
	}
	return false
}

// makes reports whether the request of a transaction makes a lock's node: it does that
// first, or second after the deletion of another.
func makes(p []byte) bool {
	const header, ended, version = 8, 1 + 4, 4
	op := func(at int) (op, behind int) {
		if len(p) < at+4 {
			return 0, len(p)
		}
		return int(binary.BigEndian.Uint32(p[at:])), at + 4 + ended
	}
	first, at := op(header)
	if first == 2 && len(p) >= at+4 {
		first, _ = op(at + 4 + int(binary.BigEndian.Uint32(p[at:])) + version)
	}
	return first == 1
}

// Count is the number of requests for a lock node.
func (c *Creation) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// CutOff closes all connections of a proxy, and refuses new ones.
func CutOff(p *ensemble.Proxy) {
	p.Refuse()
	p.DisconnectAll()
}

// CutOffUntilKnown is [CutOff], and waits until the session has noticed it.
func CutOffUntilKnown(t testing.TB, p *ensemble.Proxy, s *zksync.Session) {
	t.Helper()
	n := s.Stats().Disconnects
	CutOff(p)
	Eventually(t, "the session is cut off", func() bool { return s.Stats().Disconnects > n })
}

// Wedge sends credentials by a client's own AddAuth and then makes the write
// that repeats them on the next connection fail, which locks the client up.
func Wedge(t *testing.T, s *zksync.Session, p *ensemble.Proxy, w *Wires) {
	t.Helper()
	Must(t, s.Conn().AddAuth("digest", []byte("somebody:secret")))
	last := w.Count()
	var failed atomic.Bool
	w.OnWrite(func(conn int, frame []byte) error {
		const auth = 100
		// A number below zero is that of the library's own request, in the handshake.
		theirs := len(frame) >= 12 && int32(binary.BigEndian.Uint32(frame[4:])) >= 0
		if conn > last && theirs && binary.BigEndian.Uint32(frame[8:]) == auth && failed.CompareAndSwap(false, true) {
			return ErrInjected
		}
		return nil
	})
	p.DisconnectAll()
	Eventually(t, "the client has failed to repeat the credentials", failed.Load)
}

// LoseCreateReply has the server make the next lock node and the answer get
// lost with the connection.
func LoseCreateReply(p *ensemble.Proxy, also func(ensemble.Frame)) *Creation {
	var (
		c    Creation
		lost atomic.Bool
	)
	p.SetHook(func(f ensemble.Frame) ensemble.Action {
		if c.Of(f) && f.FromServer && f.Err == 0 && lost.CompareAndSwap(false, true) {
			return ensemble.DropAndDisconnect
		}
		if also != nil && lost.Load() {
			also(f)
		}
		return ensemble.Pass
	})
	return &c
}

// ErrInjected is the error of a connection that a test breaks.
var ErrInjected = errors.New("injected by the test")
