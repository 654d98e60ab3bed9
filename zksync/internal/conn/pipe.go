package conn

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// firstXid is the number of the first request on a pipe; the next ones are lower. The
// servers return it as it is. The client's numbers are not negative, and ZooKeeper uses
// those just below zero for pings, events and credentials.
const firstXid = -1001

// errNotSent is the error of a request that was not sent, because there is no
// connection or because that ended first.
var errNotSent = errors.New("not connected to ZooKeeper")

// pipe carries the requests of this package on the connection of a client that belongs
// to the Conn, beside the client's own. framed passes the answers to it before the
// client sees them.
//
// A request on a pipe belongs to one connection and so to one session. No other one
// ever runs it. If it is not answered there, its outcome is unknown.
//
// The servers answer the requests of a connection in their order. So the calls without
// an answer are a queue, and an answer that is not for the first of them ends the
// connection.
//
// No mutex is held while a frame is written. Whoever has the turn writes all that is
// queued, for the others too.
type pipe struct {
	c     *Conn
	f     *framed
	state State         // of its connection; written before the pipe is in Conn.pipe
	turn  chan struct{} // full while somebody writes
	ended chan struct{} // closed by fail

	mu      sync.Mutex
	calls   queue // those without an answer, in the order of their frames
	last    int32 // the number of the newest call
	awaited int   // bytes of the frames without an answer, the client's included
	out     []byte
	unsent  int    // the newest calls, whose frames are in out
	spare   []byte // the next out
	theirs  programWatches
	free    []*call
	err     error // why the connection ended; nil: it has not
	queued  int64 // bytes that were put into out so far
	wrote   int64 // bytes that were written so far
	waits   []wait
}

func newPipe(f *framed) *pipe {
	return &pipe{c: f.l.c, f: f, turn: make(chan struct{}, 1), ended: make(chan struct{}), last: firstXid + 1}
}

// call is a request on its way, and its result.
type call struct {
	rq   request
	xid  int32
	size int       // of its frame
	sent time.Time // not after its frame was written

	answer answer
	err    error
	done   chan struct{} // gets one value with the result
	owner  owner         // hears of the result instead, if not nil
}

// owner hears of the result of a call, from the goroutine that reads from the connection
// or from the one that ends it. finished must not block.
type owner interface{ finished() }

// carry makes a request and waits for the answer. It ends with the connection, and
// when the Conn is closed.
func (p *pipe) carry(rq *request) (answer, Ran, error) {
	ran := p.ran()
	k := p.newCall(rq)
	upto, _, err := p.enqueue([]*call{k})
	if err != nil {
		return answer{}, ran, err
	}
	if f := p.c.outbox.waiter(rq); f == nil {
		p.flush()
	} else if p.written(upto) == nil {
		f()
	}
	select {
	case <-k.done:
	case <-p.c.life.Done():
		select {
		case <-k.done:
		default:
			return answer{}, ran, zk.ErrConnectionClosed
		}
	}
	a, err := k.answer, k.err
	p.reuse(k)
	return a, ran, err
}

// ran returns the Ran of each request on the pipe.
func (p *pipe) ran() Ran { return Ran{Before: p.state, After: p.state} }

// newCall returns a call whose result is a value on its channel.
func (p *pipe) newCall(rq *request) (k *call) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		k, p.free = p.free[n-1], p.free[:n-1]
	}
	p.mu.Unlock()
	if k == nil {
		k = &call{done: make(chan struct{}, 1)}
	}
	k.rq = *rq
	return k
}

// maxFree bounds the calls that are kept for use by later requests.
const maxFree = 32

// reuse keeps a call whose result has been read. The calls of a pipe are not those
// of another one, since in tests each lives in the bubble of its channel.
func (p *pipe) reuse(k *call) {
	*k = call{done: k.done}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) < maxFree {
		p.free = append(p.free, k)
	}
}

// failure returns why the connection ended, or nil.
func (p *pipe) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// receive gives an answer to its call. An error means that the connection can't be
// used any more.
func (p *pipe) receive(h wire.ReplyHeader, body []byte) error {
	p.mu.Lock()
	if err := p.err; err != nil {
		p.mu.Unlock()
		return err
	}
	k := p.calls.first()
	if k == nil || k.xid != h.Xid || p.calls.len() <= p.unsent {
		p.mu.Unlock()
		return fmt.Errorf("%w: an answer with the number %d, which is not the next", wire.ErrMalformed, h.Xid)
	}
	p.calls.pop()
	p.awaited -= k.size
	p.mu.Unlock()
	var malformed error
	if h.Err != wire.CodeOK {
		k.err = toError(h.Err)
	} else if k.answer, k.err, malformed = k.rq.decode(body); malformed != nil {
		k.err = zk.ErrConnectionClosed
	}
	if malformed == nil {
		k.answer.zxid = h.Zxid
		k.err = k.rq.refused(k.answer.parts, k.err)
		p.c.proved(k.rq.op, k.err, p.state.Session, k.sent)
		k.finish()
		return nil
	}
	p.c.pipeEnded(p)
	k.finish()
	return malformed
}

// fail ends the pipe with its connection. Calls that were written finish with an
// unknown outcome. The state of the Conn is down before that, so that nobody tries again
// at once.
func (p *pipe) fail(err error) {
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return
	}
	p.err = err
	calls, unsent := p.calls.all(), p.unsent
	p.calls, p.out, p.spare, p.waits, p.free = queue{}, nil, nil, nil, nil
	p.mu.Unlock()
	close(p.ended)
	p.c.pipeEnded(p)
	for i, k := range calls {
		k.err = zk.ErrConnectionClosed
		if i >= len(calls)-unsent {
			k.err = errNotSent
		}
		k.finish()
	}
}

// finish passes the result on.
func (k *call) finish() {
	if k.owner != nil {
		k.owner.finished()
		return
	}
	k.done <- struct{}{}
}
