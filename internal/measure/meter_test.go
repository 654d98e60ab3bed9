package measure

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// frames returns frames of the given heads, each with so many bytes behind it.
func frames(behind int, heads ...[]int32) []byte {
	var b bytes.Buffer
	for _, head := range heads {
		_ = binary.Write(&b, binary.BigEndian, int32(4*len(head)+behind))
		_ = binary.Write(&b, binary.BigEndian, head)
		b.Write(make([]byte, behind))
	}
	return b.Bytes()
}

func TestMeterCountsFramesInPieces(t *testing.T) {
	const create, ping, event = 1, 11, -1
	sent := frames(9, []int32{0, 0}, []int32{1, create}, []int32{-2, ping}, []int32{2, create}, []int32{3, create})
	came := frames(30, []int32{0, 0}, []int32{1, 0}, []int32{event, 0}, []int32{2, 0})
	for size := 1; size < 60; size++ {
		var m Meter
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		c := m.wrap(near)
		for b := sent; len(b) > 0; b = b[min(size, len(b)):] {
			if _, err := c.Write(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		go func() { _, _ = far.Write(came) }()
		for n := 0; n < len(came); {
			k, err := c.Read(make([]byte, size))
			if err != nil {
				t.Fatal(err)
			}
			n += k
		}
		want := Counts{Requests: 3, Events: 1, Sent: int64(len(sent)), Received: int64(len(came))}
		if got := m.Count(); got != want {
			t.Errorf("in pieces of %d bytes: %+v, want %+v", size, got, want)
		}
		near.Close()
		far.Close()
	}
}
