package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// FrameHeader is the number of bytes in front of a frame's payload: the payload
// of a frame f is f[FrameHeader:].
const FrameHeader = 4

// frameStep is how much ReadFrame asks for ahead of the bytes that have come.
const frameStep = 64 << 10

// FrameError is the error of a frame whose length is negative or above the
// limit. Nothing that follows on the stream can be understood.
type FrameError struct {
	Length int32 // as it was sent, in bytes
	Limit  int   // the largest payload the reader allowed, in bytes
}

func (e *FrameError) Error() string {
	if e.Length < 0 {
		return fmt.Sprintf("wire: frame of negative length %d", e.Length)
	}
	return fmt.Sprintf("wire: frame of %d bytes exceeds the limit of %d", e.Length, e.Limit)
}

// AppendFrame appends payload with its length before it to dst and returns the
// extended slice. The caller keeps payloads below 2 GiB.
func AppendFrame(dst, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// ReadFrame reads one whole frame from r, its length included, and returns it:
// frame[FrameHeader:] is the payload. It lies in buf's array where that is large
// enough, so that a loop may pass the last frame as the next buf; limit bounds
// the payload, in bytes. Memory grows with the bytes that have come, never ahead
// of them by the length alone.
//
// The error is io.EOF when r ended before the first byte, io.ErrUnexpectedEOF
// when it ended within the frame, a *FrameError for a length below zero or above
// limit, and otherwise r's own. After an error frame is nil and the place in the
// stream is lost: r is of no further use. Several goroutines may read from
// different readers into different buffers.
func ReadFrame(r io.Reader, buf []byte, limit int) (frame []byte, err error) {
	buf = slices.Grow(buf[:0], FrameHeader)[:FrameHeader]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	length := int32(binary.BigEndian.Uint32(buf))
	// The second comparison keeps the sum below within a 32-bit int.
	if length < 0 || int64(length) > int64(limit) || length > math.MaxInt32-FrameHeader {
		return nil, &FrameError{Length: length, Limit: limit}
	}
	total := FrameHeader + int(length)
	for len(buf) < total {
		have := len(buf)
		step := min(total-have, max(cap(buf)-have, frameStep))
		buf = slices.Grow(buf, step)[:have+step]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return buf, nil
}
