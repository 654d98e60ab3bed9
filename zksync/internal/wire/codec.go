package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error about malformed bytes: too short, or with an
// impossible length.
var ErrMalformed = errors.New("wire: malformed record")

// Decoder reads the protocol's basic types one after the other from a slice. After
// the first failure every method returns the zero value, and Err returns what was
// wrong. So a caller reads a whole record and checks the error once. The zero value is
// a decoder of no bytes. A copy reads on independently from the same position. One
// goroutine at a time may use a Decoder.
type Decoder struct {
	// AllowNull makes the length -1 of a string or vector mean an empty one. Some
	// clients send it. It is off by default, because go-zookeeper can't read it.
	// Buffers may be null in any case.
	AllowNull bool

	// Text, if not nil, is applied to every string that is read.
	Text func(string) string

	buf []byte
	off int
	err error
}

// NewDecoder returns a decoder that reads buf. The decoder never changes buf, and
// keeps a reference to it.
func NewDecoder(buf []byte) Decoder { return Decoder{buf: buf} }

// Err returns nil, or an error that wraps ErrMalformed and says what could not be
// read first, and where.
func (d *Decoder) Err() error { return d.err }

// Len returns the number of bytes not yet read.
func (d *Decoder) Len() int { return len(d.buf) - d.off }

// Rest returns the bytes not yet read, without reading them. The result is a part of
// the decoder's slice.
func (d *Decoder) Rest() []byte { return d.buf[d.off:] }

// Fail makes Err return an error that wraps ErrMalformed and has the text, unless an
// earlier failure has made one. A caller reports with it that a value it has read makes
// no sense.
func (d *Decoder) Fail(format string, args ...any) { d.fail(format, args...) }

func (d *Decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s at byte %d of %d", ErrMalformed, fmt.Sprintf(format, args...), d.off, len(d.buf))
	}
}

// take returns the next n bytes, or nil after a failure. n is not negative.
func (d *Decoder) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n > d.Len() {
		d.fail("%s of %d bytes", what, n)
		return nil
	}
	b := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return b
}

// Int32 reads four bytes.
func (d *Decoder) Int32() int32 {
	if b := d.take(4, "int"); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Int64 reads eight bytes.
func (d *Decoder) Int64() int64 {
	if b := d.take(8, "long"); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Bool reads one byte; every value but zero is true.
func (d *Decoder) Bool() bool {
	b := d.take(1, "bool")
	return b != nil && b[0] != 0
}

// Buffer reads a length and that many bytes. It returns nil for a null buffer (length
// -1), and not for an empty one. The result is a part of the decoder's slice.
func (d *Decoder) Buffer() []byte {
	n := d.Int32()
	if d.err != nil || n == -1 {
		return nil
	}
	if n < -1 {
		d.fail("buffer of negative length %d", n)
		return nil
	}
	return d.take(int(n), "buffer")
}

// String reads a length and that many bytes. The bytes need not be UTF-8.
func (d *Decoder) String() string {
	s := string(d.text())
	if d.Text != nil {
		s = d.Text(s)
	}
	return s
}

// text is String without the copy.
func (d *Decoder) text() []byte {
	n := d.Int32()
	if n < 0 {
		if n != -1 || !d.AllowNull {
			d.fail("string of negative length %d", n)
		}
		return nil
	}
	return d.take(int(n), "string")
}

// Count reads the number of items of a vector whose items take at least size bytes
// each (a size below 1 counts as 1). It fails if the remaining bytes can't hold so
// many items, so that the caller may allocate by the result.
func (d *Decoder) Count(size int) int {
	n := d.Int32()
	if n < 0 {
		if n != -1 || !d.AllowNull {
			d.fail("vector of negative length %d", n)
		}
		return 0
	}
	if int64(n)*int64(max(size, 1)) > int64(d.Len()) {
		d.fail("vector of %d items", n)
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings. It is nil when there are none.
func (d *Decoder) Strings() []string {
	n := d.Count(4)
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.String())
	}
	if d.err != nil {
		return nil
	}
	return list
}

// Encoder appends the protocol's basic types to Buf. The zero value starts with
// nothing; to extend a slice, set Buf to it. A copy shares the array of Buf, so only
// one of the two may go on. One goroutine at a time may use an Encoder. Lengths must
// be below 2 GiB.
type Encoder struct {
	Buf []byte
}

// Int32 appends four bytes.
func (e *Encoder) Int32(v int32) { e.Buf = binary.BigEndian.AppendUint32(e.Buf, uint32(v)) }

// Int64 appends eight bytes.
func (e *Encoder) Int64(v int64) { e.Buf = binary.BigEndian.AppendUint64(e.Buf, uint64(v)) }

// Bool appends one byte, 0 or 1.
func (e *Encoder) Bool(v bool) {
	var b byte
	if v {
		b = 1
	}
	e.Buf = append(e.Buf, b)
}

// Buffer appends a length and the bytes; a nil slice becomes the null buffer (-1).
func (e *Encoder) Buffer(b []byte) {
	if b == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(b)))
	e.Buf = append(e.Buf, b...)
}

// String appends a length and the bytes. It never writes a null string.
func (e *Encoder) String(s string) {
	e.Int32(int32(len(s)))
	e.Buf = append(e.Buf, s...)
}

// Count appends the number of items of a vector; the items follow.
func (e *Encoder) Count(n int) { e.Int32(int32(n)) }

// Strings appends a vector of strings. It never writes a null vector.
func (e *Encoder) Strings(list []string) {
	e.Count(len(list))
	for _, s := range list {
		e.String(s)
	}
}
