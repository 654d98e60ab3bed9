package wire

import "encoding/binary"

const (
	requestHeaderLen = 8
	replyHeaderLen   = 16
	statLen          = 68
	aclLen           = 12 // the minimum: permissions and two empty strings
	clientInfoLen    = 8  // the minimum: two empty strings
)

// RequestHeader starts the payload of every request but connect.
type RequestHeader struct {
	Xid int32
	Op  Op
}

// Append appends the header to dst and returns the extended slice.
func (h RequestHeader) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(h.Xid)
	e.Int32(int32(h.Op))
	return e.Buf
}

// ParseRequestHeader reads the header and returns the bytes of payload after it. The
// error wraps ErrMalformed.
func ParseRequestHeader(payload []byte) (h RequestHeader, body []byte, err error) {
	d := NewDecoder(payload)
	h = RequestHeader{Xid: d.Int32(), Op: Op(d.Int32())}
	return h, d.Rest(), d.Err()
}

// ReplyHeader starts the payload of every reply and event. A body follows only
// when Err is CodeOK.
type ReplyHeader struct {
	Xid  int32
	Zxid int64 // the last transaction that the server had applied
	Err  Code
}

// Append appends the header to dst and returns the extended slice.
func (h ReplyHeader) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(h.Xid)
	e.Int64(h.Zxid)
	e.Int32(int32(h.Err))
	return e.Buf
}

// ParseReplyHeader reads the header and returns the bytes of payload after it. The
// error wraps ErrMalformed.
func ParseReplyHeader(payload []byte) (h ReplyHeader, body []byte, err error) {
	d := NewDecoder(payload)
	h = ReplyHeader{Xid: d.Int32(), Zxid: d.Int64(), Err: Code(d.Int32())}
	return h, d.Rest(), d.Err()
}

// AuthRequest appends the payload of a request that adds a credential to the
// connection, header and xid -4 included, and returns the extended slice.
func AuthRequest(dst []byte, scheme string, auth []byte) []byte {
	e := Encoder{Buf: RequestHeader{Xid: XidAuth, Op: OpAuth}.Append(dst)}
	e.Int32(0)
	e.String(scheme)
	e.Buffer(auth)
	return e.Buf
}

// SetRelativeZxid overwrites, in place, the zxid to which the watches of a setWatches
// or setWatches2 request are relative. payload starts with the request's header. It
// returns false, and does not change payload, for another request or one that is too
// short.
func SetRelativeZxid(payload []byte, zxid int64) bool {
	if len(payload) < requestHeaderLen+8 {
		return false
	}
	switch Op(binary.BigEndian.Uint32(payload[4:])) {
	case OpSetWatches, OpSetWatches2:
		binary.BigEndian.PutUint64(payload[requestHeaderLen:], uint64(zxid))
		return true
	}
	return false
}

// SetZxid overwrites, in place, the zxid of an answer. payload starts with the
// answer's header. It returns false, and does not change payload, if the header is cut
// short.
func SetZxid(payload []byte, zxid int64) bool {
	if len(payload) < replyHeaderLen {
		return false
	}
	binary.BigEndian.PutUint64(payload[4:], uint64(zxid))
	return true
}

// Stat is what ZooKeeper reports about a node. Times are milliseconds since 1970.
type Stat struct {
	Czxid          int64
	Mzxid          int64
	Ctime          int64
	Mtime          int64
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// Stat reads a Stat.
func (d *Decoder) Stat() Stat {
	return Stat{
		Czxid:          d.Int64(),
		Mzxid:          d.Int64(),
		Ctime:          d.Int64(),
		Mtime:          d.Int64(),
		Version:        d.Int32(),
		Cversion:       d.Int32(),
		Aversion:       d.Int32(),
		EphemeralOwner: d.Int64(),
		DataLength:     d.Int32(),
		NumChildren:    d.Int32(),
		Pzxid:          d.Int64(),
	}
}

// Stat appends a Stat.
func (e *Encoder) Stat(s Stat) {
	e.Int64(s.Czxid)
	e.Int64(s.Mzxid)
	e.Int64(s.Ctime)
	e.Int64(s.Mtime)
	e.Int32(s.Version)
	e.Int32(s.Cversion)
	e.Int32(s.Aversion)
	e.Int64(s.EphemeralOwner)
	e.Int32(s.DataLength)
	e.Int32(s.NumChildren)
	e.Int64(s.Pzxid)
}

// ACL grants an identity permissions on a node.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// ACLs reads a vector of ACLs. It is nil when there are none.
func (d *Decoder) ACLs() []ACL {
	n := d.Count(aclLen)
	if n == 0 {
		return nil
	}
	list := make([]ACL, 0, n)
	for range n {
		list = append(list, ACL{Perms: d.Int32(), Scheme: d.String(), ID: d.String()})
	}
	if d.err != nil {
		return nil
	}
	return list
}

// ACLs appends a vector of ACLs. It never writes a null vector.
func (e *Encoder) ACLs(list []ACL) {
	e.Count(len(list))
	for _, a := range list {
		e.Int32(a.Perms)
		e.String(a.Scheme)
		e.String(a.ID)
	}
}

// ClientInfo is an identity of a client, as the server knows it.
type ClientInfo struct {
	Scheme string
	User   string
}

// ClientInfos reads a vector of identities. It is nil when there are none.
func (d *Decoder) ClientInfos() []ClientInfo {
	n := d.Count(clientInfoLen)
	if n == 0 {
		return nil
	}
	list := make([]ClientInfo, 0, n)
	for range n {
		list = append(list, ClientInfo{Scheme: d.String(), User: d.String()})
	}
	if d.err != nil {
		return nil
	}
	return list
}

// ClientInfos appends a vector of identities. It never writes a null vector.
func (e *Encoder) ClientInfos(list []ClientInfo) {
	e.Count(len(list))
	for _, c := range list {
		e.String(c.Scheme)
		e.String(c.User)
	}
}

// MultiHeader stands before every operation in a multi and before every result in its
// reply. A header with Done ends them.
type MultiHeader struct {
	Type Op
	Done bool
	Err  Code
}

// MultiHeader reads a MultiHeader.
func (d *Decoder) MultiHeader() MultiHeader {
	return MultiHeader{Type: Op(d.Int32()), Done: d.Bool(), Err: Code(d.Int32())}
}

// MultiHeader appends a MultiHeader.
func (e *Encoder) MultiHeader(h MultiHeader) {
	e.Int32(int32(h.Type))
	e.Bool(h.Done)
	e.Int32(int32(h.Err))
}

// MultiEnd appends the header that ends a multi and its reply.
func (e *Encoder) MultiEnd() { e.MultiHeader(MultiHeader{Type: OpError, Done: true, Err: -1}) }

// The types of an Event, and the only state that a server sends with them.
const (
	EventCreated         int32 = 1
	EventDeleted         int32 = 2
	EventDataChanged     int32 = 3
	EventChildrenChanged int32 = 4

	StateConnected int32 = 3
)

// Event is the body of a frame with xid -1: a watch has fired.
type Event struct {
	Type  int32
	State int32
	Path  string
}

// Append appends the body to dst and returns the extended slice.
func (v Event) Append(dst []byte) []byte {
	e := Encoder{Buf: dst}
	e.Int32(v.Type)
	e.Int32(v.State)
	e.String(v.Path)
	return e.Buf
}

// ParseEvent reads the body of a frame with xid -1. Bytes after the record are
// ignored. The error wraps ErrMalformed; the event is then invalid.
func ParseEvent(body []byte) (Event, error) {
	d := NewDecoder(body)
	v := Event{Type: d.Int32(), State: d.Int32(), Path: d.String()}
	return v, d.Err()
}
