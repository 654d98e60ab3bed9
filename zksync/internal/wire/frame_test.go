package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"
)

func TestReadFrame(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 20<<10) // 320 KiB: several steps
	tests := []struct {
		name  string
		in    []byte
		limit int
		want  []byte // payload
		err   error
	}{
		{"empty stream", nil, 100, nil, io.EOF},
		{"cut in the length", []byte{0, 0, 1}, 100, nil, io.ErrUnexpectedEOF},
		{"nothing after the length", []byte{0, 0, 0, 1}, 100, nil, io.ErrUnexpectedEOF},
		{"cut in the payload", []byte{0, 0, 0, 3, 'a', 'b'}, 100, nil, io.ErrUnexpectedEOF},
		{"empty payload", []byte{0, 0, 0, 0}, 100, []byte{}, nil},
		{"whole", []byte{0, 0, 0, 2, 'a', 'b', 'c'}, 100, []byte("ab"), nil},
		{"at the limit", []byte{0, 0, 0, 2, 'a', 'b'}, 2, []byte("ab"), nil},
		{"over the limit", []byte{0, 0, 0, 3, 'a', 'b', 'c'}, 2, nil, &FrameError{3, 2}},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff}, 2, nil, &FrameError{-1, 2}},
		{"as large as can be", []byte{0x7f, 0xff, 0xff, 0xff, 0}, math.MaxInt, nil, &FrameError{math.MaxInt32, math.MaxInt}},
		{"large", AppendFrame(nil, big), len(big), big, nil},
	}
	for _, tt := range tests {
		for mode, r := range map[string]io.Reader{
			"at once":     bytes.NewReader(tt.in),
			"in halves":   iotest.HalfReader(bytes.NewReader(tt.in)),
			"EOF at data": iotest.DataErrReader(bytes.NewReader(tt.in)),
		} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				frame, err := ReadFrame(r, nil, tt.limit)
				var fe, want *FrameError
				switch {
				case errors.As(tt.err, &want):
					if !errors.As(err, &fe) || *fe != *want || fe.Error() == "" {
						t.Fatalf("err = %v, want %v", err, tt.err)
					}
				case !errors.Is(err, tt.err):
					t.Fatalf("err = %v, want %v", err, tt.err)
				}
				if err != nil {
					if frame != nil {
						t.Errorf("frame = %x with an error", frame)
					}
					return
				}
				if !bytes.Equal(frame[FrameHeader:], tt.want) || !bytes.Equal(frame, AppendFrame(nil, tt.want)) {
					t.Errorf("frame = %x, want payload %x", frame, tt.want)
				}
			})
		}
	}
}

func TestReadFrameReusesBuffer(t *testing.T) {
	in := AppendFrame(AppendFrame(nil, []byte("first")), []byte("2nd"))
	r := bytes.NewReader(in)
	buf := make([]byte, 0, 64)
	for _, want := range []string{"first", "2nd"} {
		frame, err := ReadFrame(r, buf, 10)
		if err != nil || string(frame[FrameHeader:]) != want {
			t.Fatalf("ReadFrame = %q, %v; want %q", frame, err, want)
		}
		if &frame[0] != &buf[:1][0] {
			t.Error("a buffer that was large enough was not used")
		}
	}
	frame := AppendFrame(nil, []byte("abc"))
	rd := bytes.NewReader(nil)
	if n := testing.AllocsPerRun(100, func() {
		rd.Reset(frame)
		if _, err := ReadFrame(rd, buf, 10); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations with a buffer that is large enough", n)
	}
}

// maxReader remembers the largest read it was asked for.
type maxReader struct {
	r   io.Reader
	max int
}

func (m *maxReader) Read(p []byte) (int, error) {
	m.max = max(m.max, len(p))
	return m.r.Read(p)
}

func TestReadFrameDoesNotTrustLength(t *testing.T) {
	for _, sent := range []int{0, 1, 1 << 10, 1 << 20} {
		in := binary.BigEndian.AppendUint32(nil, 1<<30)
		r := &maxReader{r: bytes.NewReader(append(in, make([]byte, sent)...))}
		if _, err := ReadFrame(r, nil, 1<<30); err != io.ErrUnexpectedEOF {
			t.Fatalf("err = %v, want unexpected EOF", err)
		}
		if limit := 2*sent + 2*frameStep; r.max > limit {
			t.Errorf("asked for %d bytes at once when %d came, want at most %d", r.max, sent, limit)
		}
	}
}

func TestReadFrameError(t *testing.T) {
	boom := errors.New("boom")
	for _, in := range [][]byte{nil, {0}, {0, 0, 0, 9, 'x'}} {
		if _, err := ReadFrame(io.MultiReader(bytes.NewReader(in), iotest.ErrReader(boom)), nil, 10); !errors.Is(err, boom) {
			t.Errorf("after %x: err = %v, want the reader's own", in, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0}, 100, 3)
	f.Add([]byte{0x80, 0, 0, 0}, 100, 0)
	f.Add([]byte{0, 0, 1, 0, 1}, 1000, 64)
	f.Fuzz(func(t *testing.T, in []byte, limit, room int) {
		limit = min(limit, 1<<20)
		buf := make([]byte, max(0, min(room, 1<<10)))
		r := bytes.NewReader(in)
		for used := 0; ; {
			frame, err := ReadFrame(r, buf, limit)
			if err != nil {
				if err == io.EOF && used != len(in) {
					t.Fatalf("io.EOF after %d of %d bytes", used, len(in))
				}
				return
			}
			if len(frame) > limit+FrameHeader {
				t.Fatalf("payload of %d bytes, limit %d", len(frame)-FrameHeader, limit)
			}
			if !bytes.Equal(frame, in[used:used+len(frame)]) || !bytes.Equal(frame, AppendFrame(nil, frame[FrameHeader:])) {
				t.Fatalf("frame %x is not what was sent", frame)
			}
			used += len(frame)
			buf = frame
		}
	})
}
