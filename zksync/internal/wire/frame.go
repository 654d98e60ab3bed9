package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// FrameHeader is the number of bytes before a frame's payload: the payload of a frame
// f is f[FrameHeader:].
const FrameHeader = 4

// frameStep is how many bytes ReadFrame allocates beyond those that have arrived.
const frameStep = 64 << 10

// FrameError is the error of a frame whose length is negative or above the limit. The
// rest of the stream can't be read after it.
type FrameError struct {
	Length int32 // as sent, in bytes
	Limit  int   // the largest payload that the reader allowed, in bytes
}

func (e *FrameError) Error() string {
	if e.Length < 0 {
		return fmt.Sprintf("wire: frame of negative length %d", e.Length)
	}
	return fmt.Sprintf("wire: frame of %d bytes exceeds the limit of %d", e.Length, e.Limit)
}

// AppendFrame appends the length of payload, and payload, to dst and returns the
// extended slice. The payload must be below 2 GiB.
func AppendFrame(dst, payload []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// ReadFrame reads one whole frame from r, its length included, and returns it:
// frame[FrameHeader:] is the payload. The frame uses buf's array if that is large
// enough, so that a loop may pass the last frame as the next buf. limit bounds the
// payload, in bytes. Memory grows with the bytes that have arrived: a large length
// alone allocates little.
//
// The error is io.EOF when r ended before the first byte, io.ErrUnexpectedEOF when it
// ended within the frame, a *FrameError for a length below zero or above limit, and
// otherwise r's own error. After an error frame is nil, and r can't be used any more,
// because the position in the stream is lost. Several goroutines may read from
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
