package zktest

import (
	"sync"
	"time"
)

// inRoom is how many frames a connection takes ahead of their turn. A client
// that sends more has to wait, as it does for the buffers of a kernel.
const inRoom = 256

// inFrame is a frame, or a four-letter word.
type inFrame struct {
	payload []byte
	word    bool
	due     time.Time
	read    time.Duration // since the server's start; 0 if it is due later
}

// inbox holds the frames that were read and not yet carried out. A channel would take
// the memory for all inRoom of them from the start.
type inbox struct {
	filled chan struct{} // of capacity 1: there may be a frame, or the end
	freed  chan struct{} // of capacity 1: there may be room

	mu     sync.Mutex
	frames []inFrame // guarded by mu, as the rest is
	first  int       // of frames, those before it are taken
	ended  bool
}

func newInbox() *inbox {
	return &inbox{filled: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// put adds a frame when there is room. It reports false if done is closed first.
func (b *inbox) put(f inFrame, done <-chan struct{}) bool {
	for !b.tryPut(f) {
		select {
		case <-b.freed:
		case <-done:
			return false
		}
	}
	signal(b.filled)
	return true
}

// waiting returns how many frames there are.
func (b *inbox) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.frames) - b.first
}

func (b *inbox) tryPut(f inFrame) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.frames)-b.first >= inRoom {
		return false
	}
	if len(b.frames) == cap(b.frames) && b.first > len(b.frames)/2 { // rather than grow
		n := copy(b.frames, b.frames[b.first:])
		clear(b.frames[n:])
		b.frames, b.first = b.frames[:n], 0
	}
	b.frames = append(b.frames, f)
	return true
}

// end says that no frame follows.
func (b *inbox) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	signal(b.filled)
}

// take waits for the next frame. more is false at the end. ok is false if done is
// closed first.
func (b *inbox) take(done <-chan struct{}) (f inFrame, more, ok bool) {
	for {
		f, more, ended := b.tryTake()
		if more || ended {
			signal(b.freed)
			return f, more, true
		}
		select {
		case <-b.filled:
		case <-done:
			return inFrame{}, false, false
		}
	}
}

func (b *inbox) tryTake() (f inFrame, more, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == len(b.frames) {
		return inFrame{}, false, b.ended
	}
	f = b.frames[b.first]
	b.frames[b.first] = inFrame{}
	if b.first++; b.first == len(b.frames) {
		b.frames, b.first = b.frames[:0], 0
	}
	return f, true, false
}

// signal fills a channel of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
