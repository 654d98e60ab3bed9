package suite

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// OpSetWatches is the kind of request that sets watches again.
const OpSetWatches = 101

// TapFrame is a frame on its way. The payload of connect frames has no header:
// op and xid are zero.
type TapFrame struct {
	Conn       int // counted from 1
	FromServer bool
	Op         int32 // of a request; 0 of what comes from the server
	xid        int32 // -1: an event
	Payload    []byte
}

// Event returns the type and the path of a watch event; "" for other frames.
func (f TapFrame) Event() (zk.EventType, string) {
	const head, kind = 16, 8 // the reply's header; type and state
	if !f.FromServer || f.xid != -1 || len(f.Payload) < head+kind+4 {
		return 0, ""
	}
	b := f.Payload[head:]
	return zk.EventType(binary.BigEndian.Uint32(b)), string(b[kind+4:])
}

// TapAct is what becomes of a frame.
type TapAct int

const (
	TapPass TapAct = iota
	TapDrop
	TapCut // the frame is lost, with the connection
)

// Tap is a dialer that shows each frame to a function, which decides about it
// and may keep it waiting, with all that come after it in its direction. In
// contrast to a [ensemble.Proxy] it lives in a bubble.
type Tap struct {
	To zk.Dialer

	mu   sync.Mutex
	n    int                     // guarded by mu; connections so far
	hook func(f TapFrame) TapAct // guarded by mu
}

// On has f called for each frame from now on, by several goroutines.
func (w *Tap) On(f func(f TapFrame) TapAct) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = f
}

// Dial is the dialer.
func (w *Tap) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	server, err := w.To(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	w.mu.Lock()
	w.n++
	n := w.n
	w.mu.Unlock()
	go w.carry(server, far, n, false)
	go w.carry(far, server, n, true)
	return near, nil
}

// carry brings the frames of one direction over, until either end is closed.
func (w *Tap) carry(dst, src net.Conn, n int, fromServer bool) {
	defer dst.Close()
	defer src.Close()
	for first := true; ; first = false {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(src, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(src, frame[4:]); err != nil {
			return
		}
		f := TapFrame{Conn: n, FromServer: fromServer, Payload: frame[4:]}
		if !first {
			f.xid = int32(binary.BigEndian.Uint32(f.Payload))
			if !fromServer {
				f.Op = int32(binary.BigEndian.Uint32(f.Payload[4:]))
			}
		}
		w.mu.Lock()
		hook := w.hook
		w.mu.Unlock()
		act := TapPass
		if hook != nil {
			act = hook(f)
		}
		switch act {
		case TapDrop:
			continue
		case TapCut:
			return
		}
		if _, err := dst.Write(frame); err != nil {
			return
		}
	}
}
