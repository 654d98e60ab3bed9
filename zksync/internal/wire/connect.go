package wire

import (
	"encoding/binary"
	"fmt"
)

// ConnectRequest is the payload of a client's first frame. The zero value asks for a
// new session. Copies share Password.
type ConnectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	Timeout         int32 // requested session timeout, milliseconds
	SessionID       int64 // 0 asks for a new session
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the ReadOnly byte is on the wire; go-zookeeper sends none
}

// Append appends the payload to dst and returns the extended slice.
func (c ConnectRequest) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(c.ProtocolVersion)
	e.Int64(c.LastZxidSeen)
	e.Int32(c.Timeout)
	e.Int64(c.SessionID)
	e.Buffer(c.Password)
	if c.HasReadOnly {
		e.Bool(c.ReadOnly)
	}
	return e.Buf
}

// ParseConnectRequest reads the payload of a client's first frame. Password is a part
// of payload. Bytes after the record are ignored. The error wraps ErrMalformed; the
// record is then invalid.
func ParseConnectRequest(payload []byte) (ConnectRequest, error) {
	d := NewDecoder(payload)
	c := ConnectRequest{
		ProtocolVersion: d.Int32(),
		LastZxidSeen:    d.Int64(),
		Timeout:         d.Int32(),
		SessionID:       d.Int64(),
		Password:        d.Buffer(),
	}
	c.HasReadOnly = d.Len() > 0
	if c.HasReadOnly {
		c.ReadOnly = d.Bool()
	}
	return c, d.Err()
}

// SetLastZxidSeen overwrites, in place, the last zxid that the client of a connect
// request has seen. It returns false, and does not change payload, if payload is too
// short.
func SetLastZxidSeen(payload []byte, zxid int64) bool {
	if len(payload) < 12 {
		return false
	}
	binary.BigEndian.PutUint64(payload[4:], uint64(zxid))
	return true
}

// ConnectResponse is the payload of a server's first frame. A SessionID of 0 means
// that the requested session is over. Copies share Password.
type ConnectResponse struct {
	ProtocolVersion int32
	Timeout         int32 // granted session timeout, milliseconds
	SessionID       int64
	Password        []byte
	ReadOnly        bool
	HasReadOnly     bool // the ReadOnly byte is on the wire
}

// Append appends the payload to dst and returns the extended slice.
func (c ConnectResponse) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(c.ProtocolVersion)
	e.Int32(c.Timeout)
	e.Int64(c.SessionID)
	e.Buffer(c.Password)
	if c.HasReadOnly {
		e.Bool(c.ReadOnly)
	}
	return e.Buf
}

// ParseConnectResponse reads the payload of a server's first frame. Password is a
// part of payload. Bytes after the record are ignored. The error wraps ErrMalformed;
// the record is then invalid.
func ParseConnectResponse(payload []byte) (ConnectResponse, error) {
	d := NewDecoder(payload)
	c := ConnectResponse{
		ProtocolVersion: d.Int32(),
		Timeout:         d.Int32(),
		SessionID:       d.Int64(),
		Password:        d.Buffer(),
	}
	c.HasReadOnly = d.Len() > 0
	if c.HasReadOnly {
		c.ReadOnly = d.Bool()
	}
	return c, d.Err()
}

// maxPassword is the length of the longest password that fits, with the rest of a
// connect request, into the 252 bytes that go-zookeeper v1.0.4 has for the request.
const maxPassword = 252 - 28

// Check returns an error that wraps ErrMalformed for a response that go-zookeeper
// v1.0.4 would accept and then fail on. That client makes its ping ticker from the
// timeout, which panics below one millisecond, and with a password too long for its
// buffer it can never connect again.
func (c ConnectResponse) Check() error {
	if c.SessionID == 0 {
		return nil
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("%w: session timeout of %d ms", ErrMalformed, c.Timeout)
	}
	if len(c.Password) > maxPassword {
		return fmt.Errorf("%w: password of %d bytes", ErrMalformed, len(c.Password))
	}
	return nil
}
