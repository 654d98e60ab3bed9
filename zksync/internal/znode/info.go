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

// MaxInfo is the largest number of bytes that Encode and AddRevoke return.
const MaxInfo = 256

const (
	maxForeign = 4 << 10 // the most bytes that DecodeInfo reads
	maxText    = 40      // the most bytes of each text
)

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

// Encode returns the node's data: JSON of at most 256 bytes, without the fields that
// are empty or false. Each text is cut to 40 bytes. If the texts are too long
// together, the owner's name is cut further, then the host, then the identity. A cut
// is never within a character. Invalid UTF-8, and characters that move a terminal's
// cursor or reverse its direction of writing, become U+FFFD.
func (i Info) Encode() []byte {
	i = i.clean()
	e := encoder{payload: payload{
		V: 1, ID: i.Identity, Host: i.Host, PID: int64(max(i.PID, 0)),
		Owner: payloadOwner{ID: i.OwnerID, Name: i.OwnerName}, TP: i.TraceParent, Revoke: i.Revoke,
	}}
	e.Grow(MaxInfo)
	b := e.encode()
	for _, text := range []*string{&e.payload.Owner.Name, &e.payload.Host, &e.payload.ID} {
		if len(b) <= MaxInfo {
			break
		}
		*text = shorten(*text, len(b)-MaxInfo)
		b = e.encode()
	}
	return b
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

// clean returns i with texts that are safe to show and not too long.
func (i Info) clean() Info {
	for _, text := range []*string{&i.Identity, &i.Host, &i.OwnerID, &i.OwnerName} {
		*text = cleanText(*text)
	}
	if !isTraceParent(i.TraceParent) {
		i.TraceParent = ""
	}
	return i
}

// shorten cuts characters off the end of text until its JSON is shorter by at least
// the given number of bytes, or nothing is left.
func shorten(text string, by int) string {
	for by > 0 && text != "" {
		r, n := utf8.DecodeLastRuneInString(text)
		if r == '"' || r == '\\' {
			by--
		}
		by -= n
		text = text[:len(text)-n]
	}
	return text
}

// cleanText returns a text that is safe to show, of at most maxText bytes.
func cleanText(text string) string {
	ok := len(text) <= maxText
	for i := 0; ok && i < len(text); i++ {
		ok = ' ' <= text[i] && text[i] <= '~'
	}
	if ok {
		return text
	}
	b := make([]byte, 0, maxText)
	for _, r := range text { // an invalid byte comes as U+FFFD
		if unshowable(r) {
			r = utf8.RuneError
		}
		if len(b)+utf8.RuneLen(r) > maxText {
			break
		}
		b = utf8.AppendRune(b, r)
	}
	return string(b)
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
	if len(s) != 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
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
// result is safe to show: texts are cut, and characters replaced, as Encode does it,
// and the TraceParent is well formed or empty.
func DecodeInfo(data []byte) (Info, bool) {
	if len(data) == 0 || len(data) > maxForeign {
		return Info{}, false
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil || p.V != 1 || p.PID < 0 || p.PID > math.MaxInt {
		return Info{}, false
	}
	return Info{
		Identity:    p.ID,
		Host:        p.Host,
		PID:         int(p.PID),
		OwnerID:     p.Owner.ID,
		OwnerName:   p.Owner.Name,
		TraceParent: p.TP,
		Revoke:      p.Revoke,
	}.clean(), true
}

// RevokeWord is Curator's word. Written to a node, it asks the holder to release the
// lock.
const RevokeWord = "__REVOKE__"

// revokeMember asks the same, and leaves the name of the holder in place.
const revokeMember = `,"revoke":true`

// AddRevoke returns a node's data with "revoke":true added as its last member. It
// returns false for data that DecodeInfo does not read. Members that this version does
// not know are kept, unless the result would be longer than MaxInfo: then the data is
// encoded again, and texts are cut as Encode cuts them.
func AddRevoke(data []byte) ([]byte, bool) {
	i, ok := DecodeInfo(data)
	if !ok {
		return nil, false
	}
	object := bytes.TrimRight(data, " \t\r\n")
	if len(object)+len(revokeMember) > MaxInfo {
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
