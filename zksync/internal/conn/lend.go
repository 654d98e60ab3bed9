package conn

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// sendBuffer is the size of the buffer in which the client encodes a request, once the
// program may use the client. The client's own largest requests are SetWatches frames of
// up to 128 KiB (conn.go:592). One that does not fit fails, and its watches are not set
// again. The rest of the buffer is for the length before each frame, and for one long
// path.
const sendBuffer = 128<<10 + 8<<10

// firstSendBuffer is the size of that buffer before. The client then sends pings, and
// the request that ends the session.
const firstSendBuffer = 512

// lend makes the send buffer large enough for the program's requests, before the program
// gets the client. Only the goroutine in which the client sends may change the buffer. So,
// if there is a connection, lend makes the client send a request, and waits until that
// has been sent. Otherwise the buffer grows before the client can send anything.
func (l *link) lend() {
	first := !l.lent.Swap(true) // before the state is read: see event
	var limit <-chan time.Time
	for {
		st, changed := l.c.State()
		if !st.Up || l.c.life.Err() != nil {
			return
		}
		if first {
			first = false
			go func() { _, _, _ = l.zc.Exists("/") }()
		}
		select {
		case <-l.grown:
			return
		default:
		}
		if limit == nil {
			timer := time.NewTimer(l.c.shorter())
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-l.grown:
			return
		case <-changed:
		case <-l.done:
			return
		case <-limit: // the client has locked up
			return
		}
	}
}

// grow gives the client the larger buffer, if the program has the client. Only the
// client's goroutine that sends may call it, or the one that starts that.
func (l *link) grow() {
	if !l.lent.Load() {
		return
	}
	select {
	case <-l.grown:
	default:
		zk.WithMaxConnBufferSize(sendBuffer)(l.zc)
		close(l.grown)
	}
}
