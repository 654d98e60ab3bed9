package conn

import (
	"math"
	"slices"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// keepOut bounds the buffers that are kept for later frames.
const keepOut = 4 << 10

// wait ends when so many bytes have been written.
type wait struct {
	upto int64
	done chan struct{}
}

// enqueue puts the frames of calls into out. From then on their place in the order of
// all requests is certain, and each will have a result. upto is for written. roomy
// reports that a write will not block, as so little waits for an answer. After an
// error, none was sent, and none gets a result.
func (p *pipe) enqueue(calls []*call) (upto int64, roomy bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, false, errNotSent
	}
	p.enqueueLocked(calls)
	return p.queued, p.f.buffers && p.awaited <= roomFor, nil
}

// enqueueUnwatch does the same as enqueue for a request that removes a watch, unless the
// program may have a watch on the path: the server knows one watch for the connection.
func (p *pipe) enqueueUnwatch(k *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.theirs.may(k.rq.path) {
		return false
	}
	p.enqueueLocked([]*call{k})
	return true
}

func (p *pipe) enqueueLocked(calls []*call) {
	now := time.Now()
	for _, k := range calls {
		if p.last--; p.last == math.MinInt32 {
			p.last = firstXid
		}
		before := len(p.out)
		k.xid, k.sent = p.last, now
		p.out = k.rq.appendFrame(p.out, k.xid)
		k.size = len(p.out) - before
		p.awaited += k.size
		p.queued += int64(k.size)
		p.calls.push(k)
		p.c.requests.Add(1)
	}
	p.unsent += len(calls)
	for _, k := range calls {
		if k.rq.op == wire.OpCreate {
			p.c.outbox.sent(k.rq.path)
		}
	}
}

// roomFor is a number of bytes that fits into the buffers of any socket. What a dialer of
// the program's own returns may be none, and have no buffer: see framed.buffers.
const roomFor = 32 << 10

// pass sends a frame of the client, and returns once it has been written. size is the
// number of bytes for which there will be an answer: see passed.
func (p *pipe) pass(frame []byte, size int) (int, error) {
	p.mu.Lock()
	if p.err == nil {
		p.out = append(p.out, frame...)
		p.queued += int64(len(frame))
		p.theirs.see(frame)
		p.awaited += size
	}
	upto := p.queued
	p.mu.Unlock()
	if err := p.written(upto); err != nil {
		return 0, err
	}
	return len(frame), nil
}

// passed notes that a frame of the client was answered.
func (p *pipe) passed(size int) {
	p.mu.Lock()
	p.awaited -= size
	p.mu.Unlock()
}

// written waits until so many bytes have been written, for T/3 at most. After that it
// ends the connection. It fails with the reason for which the connection ended.
func (p *pipe) written(upto int64) error {
	p.flush()
	p.mu.Lock()
	if p.wrote >= upto || p.err != nil {
		err := p.err
		p.mu.Unlock()
		return err
	}
	w := wait{upto: upto, done: make(chan struct{})}
	p.waits = append(p.waits, w)
	p.mu.Unlock()
	timer := time.NewTimer(p.patience())
	defer timer.Stop()
	select {
	case <-w.done:
		return nil
	case <-p.ended:
	case <-timer.C:
		p.f.cut()
	}
	return p.failure()
}

// flush writes what is queued, unless somebody writes already: that one goes on
// until the queue is empty.
func (p *pipe) flush() { p.flushes(false) }

// flushes is flush. With brief it leaves to another goroutine what might block.
func (p *pipe) flushes(brief bool) {
	select {
	case p.turn <- struct{}{}:
		p.drain(brief)
	default:
	}
}

// drain writes what is queued until nothing is, and gives the turn back. If that takes
// long, a goroutine goes on; with brief also if a write might block, because others have
// queued more meanwhile.
func (p *pipe) drain(brief bool) {
	start := time.Now()
	for rounds := 0; ; rounds++ {
		p.mu.Lock()
		if len(p.out) == 0 || p.err != nil {
			<-p.turn // under the mutex: who queues more after this gets the turn
			p.mu.Unlock()
			return
		}
		if brief && p.awaited > roomFor || rounds > 0 && time.Since(start) > longDrain {
			p.mu.Unlock()
			go p.drain(false)
			return
		}
		buf := p.out
		p.out, p.spare, p.unsent = p.spare[:0], nil, 0
		p.mu.Unlock()
		if err := p.write(buf); err != nil {
			p.fail(err)
			p.f.cut() // a part of a frame may have been written
			continue
		}
		p.mu.Lock()
		p.wrote += int64(len(buf))
		p.wakeLocked()
		if cap(buf) <= keepOut {
			p.spare = buf[:0]
		}
		p.mu.Unlock()
	}
}

// longDrain is how long a caller may write for others.
const longDrain = time.Millisecond

// wakeLocked ends the waits for bytes that have been written.
func (p *pipe) wakeLocked() {
	n := 0
	for ; n < len(p.waits) && p.waits[n].upto <= p.wrote; n++ {
		close(p.waits[n].done)
	}
	p.waits = slices.Delete(p.waits, 0, n)
}

// write writes to the socket, for T/3 at most.
func (p *pipe) write(b []byte) error {
	_ = p.f.Conn.SetWriteDeadline(time.Now().Add(p.patience()))
	_, err := p.f.Conn.Write(b)
	return err
}

// patience bounds a write. The session has to survive a server that reads nothing.
func (p *pipe) patience() time.Duration { return p.c.shorter() / 3 }
