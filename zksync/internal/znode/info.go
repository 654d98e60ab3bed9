package znode

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxInfo is the largest number of bytes that Encode returns.
const MaxInfo = 512

// MaxNamed is by how many bytes the data of a node may grow when it comes to name
// another owner and another trace, and to ask for the lock.
const MaxNamed = len(`,"owner":{"id":"","name":""},"tp":"","revoke":true`) + maxOwnerID + maxOwnerName + traceParentLen

// The most bytes of each text as Encode writes it, escapes included. Together with the
// rest of the data they never exceed MaxInfo.
const (
	maxIdentity  = 128
	maxHost      = 64
	maxOwnerID   = 32
	maxOwnerName = 64

	traceParentLen = 55
)

// maxForeign is the most bytes that DecodeInfo reads. It leaves room for later versions
// that publish more than this one does.
const maxForeign = 4 << 10

// Info describes the call that a node stands in line for. It is for people and tools
// to read; no lock decides by it. The zero value describes nothing.
type Info struct {
	Identity    string // of the session: WithIdentity
	Host        string
	PID         int // 0 and below are left out
	OwnerID     string
	OwnerName   string
	TraceParent string // W3C traceparent; left out unless it is one
	Revoke      bool   // somebody asks for the lock
}

// Encode returns the node's data: JSON of at most MaxInfo bytes, without the fields that
// are empty or false. A text that is too long loses its beginning, because names of one
// kind, such as those of pods, differ at the end: the identity keeps at most 128 bytes,
// the host and the owner's name 64 each, and the owner's id 32, counted with the escapes
// of JSON. A cut is never within a character. Invalid UTF-8, and characters that move a
// terminal's cursor or reverse its direction of writing, become U+FFFD.
func (i Info) Encode() []byte {
	i.TraceParent = cleanTraceParent(i.TraceParent)
	e := encoder{payload: payload{
		V: 1, ID: cut(i.Identity, maxIdentity), Host: cut(i.Host, maxHost), PID: int64(max(i.PID, 0)),
		Owner: payloadOwner{ID: cut(i.OwnerID, maxOwnerID), Name: cut(i.OwnerName, maxOwnerName)},
		TP:    i.TraceParent, Revoke: i.Revoke,
	}}
	e.Grow(MaxInfo / 2) // most are not larger
	return e.encode()
}

// payload is the JSON of a node's data.
type payload struct {
	V      int          `json:"v"`
	ID     string       `json:"id,omitempty"`
	Host   string       `json:"host,omitempty"`
	PID    int64        `json:"pid,omitempty"`
	Owner  payloadOwner `json:"owner,omitzero"`
	TP     string       `json:"tp,omitempty"`
	Revoke bool         `json:"revoke,omitempty"`
}

type payloadOwner struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// encoder holds all that an encoding needs beside the bytes, in one allocation.
type encoder struct {
	bytes.Buffer
	payload payload
}

// encode returns the payload as JSON. The next call overwrites the result.
func (e *encoder) encode() []byte {
	e.Reset()
	enc := json.NewEncoder(e)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&e.payload); err != nil {
		panic("zksync: " + err.Error()) // no text or number fails
	}
	return bytes.TrimSuffix(e.Bytes(), []byte{'\n'})
}

// cut returns the end of a text, safe to show, of at most limit bytes in JSON.
func cut(text string, limit int) string {
	if len(text) <= limit && printable(text) && !strings.ContainsAny(text, escaped) {
		return text
	}
	size, from := 0, len(text)
	for from > 0 { // from the end, so that a very long text costs no more
		r, n := utf8.DecodeLastRuneInString(text[:from]) // an invalid byte comes as U+FFFD
		if size += sizeInJSON(r); size > limit {
			break
		}
		from -= n
	}
	return clean(text[from:])
}

// escaped are the characters that are safe to show and that JSON escapes, each with a
// backslash.
const escaped = "\"\\"

// sizeInJSON returns how many bytes a character takes that was made safe to show.
func sizeInJSON(r rune) int {
	switch {
	case strings.ContainsRune(escaped, r):
		return 2
	case unshowable(r):
		r = utf8.RuneError
	}
	return utf8.RuneLen(r)
}

// clean returns a text that is safe to show.
func clean(text string) string {
	if printable(text) {
		return text
	}
	b := make([]byte, 0, len(text))
	for _, r := range text { // an invalid byte comes as U+FFFD
		if unshowable(r) {
			r = utf8.RuneError
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// printable reports whether a text has only ASCII characters that are safe to show.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// cleanTraceParent returns s if it is a traceparent, else "".
func cleanTraceParent(s string) string {
	if !isTraceParent(s) {
		return ""
	}
	return s
}

// unshowable reports whether r is a control character, a line separator, or a
// character that changes the direction of the text after it.
func unshowable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// isTraceParent reports whether s is a W3C traceparent with the length of version 00:
// version, trace, parent and flags in lower-case hex. The version must not be ff, and
// neither trace nor parent may be all zeros.
func isTraceParent(s string) bool {
	if len(s) != traceParentLen || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return false
	}
	for _, part := range []string{s[:2], s[3:35], s[36:52], s[53:]} {
		for i := range len(part) {
			if c := part[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return s[:2] != "ff" && strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}

// DecodeInfo reads a node's data. It returns false for data that is no payload of
// version 1: data of other programs, more than 4 KiB, or JSON of another shape. The
// result is safe to show: characters are replaced as Encode does it, and the TraceParent
// is well formed or empty. Texts are not cut: a later version may publish longer ones.
func DecodeInfo(data []byte) (Info, bool) {
	if len(data) == 0 || len(data) > maxForeign {
		return Info{}, false
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil || p.V != 1 || p.PID < 0 || p.PID > math.MaxInt {
		return Info{}, false
	}
	return Info{
		Identity:    clean(p.ID),
		Host:        clean(p.Host),
		PID:         int(p.PID),
		OwnerID:     clean(p.Owner.ID),
		OwnerName:   clean(p.Owner.Name),
		TraceParent: cleanTraceParent(p.TP),
		Revoke:      p.Revoke,
	}, true
}

// maxLabel is the most bytes of a text that Label returns.
const maxLabel = 256

// Label returns whom the data of another library's node names: kazoo writes the lock's
// identifier and nothing else, Curator the address of the host or the id of a
// participant. It is empty for data that is no short text, and for a request for the
// lock. The result is safe to show.
func Label(data []byte) string {
	if len(data) > maxLabel || !utf8.Valid(data) || IsRevoke(data) {
		return ""
	}
	return clean(string(data))
}

// RevokeWord is Curator's word. Written to a node, it asks the holder to release the
// lock.
const RevokeWord = "__REVOKE__"

// revokeMember asks the same, and leaves the name of the holder in place.
const revokeMember = `,"revoke":true`

// AddRevoke returns a node's data with "revoke":true added as its last member. It
// returns false for data that DecodeInfo does not read. Everything else is kept, also
// what this version does not know, unless the result would be too long for DecodeInfo:
// then the data is encoded again, and texts are cut as Encode cuts them.
func AddRevoke(data []byte) ([]byte, bool) {
	i, ok := DecodeInfo(data)
	if !ok {
		return nil, false
	}
	object := bytes.TrimRight(data, " \t\r\n")
	if len(object)+len(revokeMember) > maxForeign {
		i.Revoke = true
		return i.Encode(), true
	}
	return slices.Concat(object[:len(object)-1], []byte(revokeMember), []byte{'}'}), true
}

// IsRevoke reports whether a node's data asks the holder to release the lock: it is a
// payload with "revoke":true, Curator's word "__REVOKE__", or the word "unlock", and
// nothing else.
func IsRevoke(data []byte) bool {
	if string(data) == RevokeWord || string(data) == "unlock" {
		return true
	}
	i, ok := DecodeInfo(data)
	return ok && i.Revoke
}
