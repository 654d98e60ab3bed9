package conn

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// FuzzPipe lets frames of ours and of the client cross a connection whose server answers
// as a script says: correctly, in pieces, in the wrong order, twice, to nobody, or with
// garbage. Whatever comes, an answer reaches its own call or none, each call ends once,
// the client gets none of our answers, and what the servers can't have sent ends the
// connection.
func FuzzPipe(f *testing.F) {
	f.Add([]byte{0, 3, 4, 4, 1, 2, 4, 4, 4, 4, 4})
	f.Add([]byte{2, 3, 15, 1, 4, 4, 4, 4, 12, 14, 0, 11})
	f.Add([]byte{0, 0, 8, 4, 4})
	f.Add([]byte{3, 0, 8, 4, 4, 3, 4, 10})
	f.Add([]byte{0, 9})
	f.Add([]byte{0, 4, 10, 0, 4})
	f.Add([]byte{1, 15, 3, 4, 13, 4})
	f.Fuzz(func(t *testing.T, script []byte) {
		crossFrames(t, script[:min(len(script), 200)]) // far fewer calls than may wait
	})
}

// TestPipeScripts runs random scripts.
func TestPipeScripts(t *testing.T) {
	for range 3000 {
		script := make([]byte, rand.IntN(60))
		for i := range script {
			if script[i] = byte(rand.IntN(256)); rand.IntN(4) > 0 {
				script[i] %= 8 // so that some go on for long
			}
		}
		crossFrames(t, script)
		if t.Failed() {
			t.Fatalf("with the script %v", script)
		}
	}
}

// scripted is a connection whose server is the test.
type scripted struct {
	net.Conn // nil
	in       *io.PipeReader
	out      *io.PipeWriter // to in
	mu       sync.Mutex
	sent     bytes.Buffer
}

func (s *scripted) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *scripted) Close() error                     { return s.in.Close() }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }
func (s *scripted) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Write(b)
}

// asked is a request that has reached the server.
type asked struct {
	xid  int32
	path string
}

// take returns the requests that have come since the last take.
func (s *scripted) take(t *testing.T) (all []asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sent.Len() > 0 {
		frame, err := wire.ReadFrame(&s.sent, nil, 1<<20)
		if err != nil {
			t.Fatalf("half a frame was written: %v", err)
		}
		h, body, _ := wire.ParseRequestHeader(frame[wire.FrameHeader:])
		d := wire.NewDecoder(body)
		all = append(all, asked{h.Xid, d.String()})
	}
	return all
}

// answerTo returns a frame that answers a getData: the data is the path.
func answerTo(a asked) []byte {
	var e wire.Encoder
	e.Buffer([]byte(a.path))
	e.Stat(wire.Stat{})
	return frame(wire.ReplyHeader{Xid: a.xid, Zxid: 5}.Append(nil), e.Buf)
}

// crossing is one run of a script.
type crossing struct {
	t       *testing.T
	c       *Conn
	s       *scripted
	fr      *framed
	calls   []*Call
	waiting []asked
	last    asked // the one that was answered last
	next    int32
	chunk   int
	broken  bool // the connection has to end
}

func crossFrames(t *testing.T, script []byte) {
	c := newConn(Config{Timeout: time.Minute})
	s := &scripted{}
	s.in, s.out = io.Pipe()
	l := &link{c: c, zc: &zk.Conn{}, done: make(chan struct{}), grown: make(chan struct{})}
	fr := newFramed(l, s, s, "x", time.Second)
	fr.ready, fr.sent, l.cur, c.link = true, time.Now(), fr, l
	c.mu.Lock()
	c.setLocked(State{Session: 1, Epoch: 1, Up: true})
	c.mu.Unlock()
	x := &crossing{t: t, c: c, s: s, fr: fr, chunk: 1 << 20}
	seen := make(chan int, 1)
	go func() { seen <- x.client() }()
	for _, b := range script {
		x.step(b)
	}
	if x.broken {
		<-fr.pipe.ended
	}
	s.out.Close()
	<-seen
	for i, k := range x.calls {
		<-k.Done()
		if want := fmt.Sprint("/", i); k.Err() == nil && string(k.Data()) != want {
			t.Errorf("the call of %s got the answer of %s", want, k.Data())
		} else if k.Err() != nil && Classify(k.Err()) == Answered {
			t.Errorf("the call of %s: %v", want, k.Err())
		}
	}
	if n := fr.pipe.calls.len(); n != 0 || fr.pipe.awaited < 0 {
		t.Errorf("%d calls left, %d bytes awaited", n, fr.pipe.awaited)
	}
	if !c.slots.TryAcquire(maxOutstanding) {
		t.Error("a call has kept its slot")
	}
	if st, _ := c.State(); st.Up {
		t.Error("still connected")
	}
}

// client reads as the client does, until the connection ends. It returns the number of
// frames.
func (x *crossing) client() (n int) {
	defer x.fr.Close()
	head := make([]byte, 4)
	for ; ; n++ {
		if _, err := io.ReadFull(x.fr, head); err != nil {
			return n
		}
		payload := make([]byte, int(head[0])<<24|int(head[1])<<16|int(head[2])<<8|int(head[3]))
		if _, err := io.ReadFull(x.fr, payload); err != nil {
			x.t.Errorf("the client got half a frame: %v", err)
			return n
		}
		if h, _, err := wire.ParseReplyHeader(payload); err != nil || h.Xid < wire.XidSetWatches {
			x.t.Errorf("the client got the answer %d, %v", h.Xid, err)
		}
	}
}

// write sends bytes to the client's side, in chunks. A connection that has ended takes
// none.
func (x *crossing) write(b []byte) {
	for len(b) > 0 {
		n := min(len(b), x.chunk)
		if _, err := x.s.out.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}

// answer answers a request that waits.
func (x *crossing) answer(i int) {
	x.last = x.waiting[i]
	x.waiting = append(x.waiting[:i:i], x.waiting[i+1:]...)
	x.write(answerTo(x.last))
}

// oursBefore reports whether a request of ours has waited for longer than that with the
// index i.
func (x *crossing) oursBefore(i int) bool {
	for _, a := range x.waiting[:i] {
		if a.xid < 0 {
			return true
		}
	}
	return false
}

func (x *crossing) step(b byte) {
	switch b % 16 {
	case 0, 1, 2:
		batch := x.c.Batch()
		for range b%16 + 1 {
			x.calls = append(x.calls, batch.Get(fmt.Sprint("/", len(x.calls))))
		}
		batch.Send(x.t.Context())
	case 3:
		x.next++
		var e wire.Encoder
		e.String("/theirs")
		e.Bool(false)
		_, _ = x.fr.Write(frame(wire.RequestHeader{Xid: x.next, Op: wire.OpGetData}.Append(nil), e.Buf))
	case 12:
		x.write(frame(header(wire.XidEvent, 0), wire.Event{Type: wire.EventDeleted, State: 3, Path: "/0"}.Append(nil)))
	case 14:
		x.write(frame(header(wire.XidPing, 0)))
	case 15:
		x.chunk = int(b)/16 + 1
	default:
		x.misbehave(b)
	}
	x.waiting = append(x.waiting, x.s.take(x.t)...)
}

// misbehave answers, perhaps in a way in which servers don't.
func (x *crossing) misbehave(b byte) {
	switch kind := b % 16; {
	case kind == 9:
		x.broken = true
		x.write(answerTo(asked{xid: firstXid - 1_000_000}))
	case kind == 10 && x.last.xid != 0:
		x.broken = x.broken || x.last.xid < 0
		x.write(answerTo(x.last))
	case kind == 13:
		x.broken = true
		x.write(bytes.Repeat([]byte{0xff, b}, 4))
	case len(x.waiting) == 0:
	case kind == 8 && len(x.waiting) > 1:
		x.broken = x.broken || x.waiting[1].xid < 0 && x.oursBefore(1)
		x.answer(1)
	case kind == 11:
		x.broken = true
		whole := answerTo(x.waiting[0])
		x.write(frame(whole[wire.FrameHeader : len(whole)-1-int(b)/16]))
	default:
		x.answer(0)
	}
}
