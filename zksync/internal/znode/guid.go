package znode

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
)

// GUID names one attempt to stand in line, so that its node can be found again when
// the answer to its creation was lost. It is a UUID of version 8 (RFC 9562) whose
// first six bytes name the process. The zero value is the GUID of no attempt. GUIDs
// compare with ==.
type GUID [16]byte

// processLen is how many bytes of a GUID name the process.
const processLen = 6

// process names this process.
var process = sync.OnceValue(newProcess)

// newProcess returns random bytes. It uses no pid and no address, because containers
// share those. The first hex digit is 8 or more, which begins no sequence: Curator
// reads a whole kazoo name as a sequence, and a smaller one than its own would stand
// before it in line.
func newProcess() (p [processLen]byte) {
	rand.Read(p[:]) // never fails
	p[0] |= 0x80
	return p
}

// NewGUID returns a GUID that nobody else has.
func NewGUID() GUID {
	var g GUID
	p := process()
	copy(g[:], p[:])
	rand.Read(g[processLen:]) // never fails
	g[6] = g[6]&0x0f | 0x80   // version 8
	g[8] = g[8]&0x3f | 0x80   // RFC 9562's variant
	return g
}

// Ours reports whether this process made the GUID.
func (g GUID) Ours() bool {
	p := process()
	return g.own() && [processLen]byte(g[:processLen]) == p
}

// own reports whether the GUID has the form that NewGUID gives it in any process.
func (g GUID) own() bool { return g[6]>>4 == 8 && g[8]>>6 == 2 }

// String returns the dashed form of 36 characters, in lower case.
func (g GUID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], g[0:4])
	hex.Encode(b[9:13], g[4:6])
	hex.Encode(b[14:18], g[6:8])
	hex.Encode(b[19:23], g[8:10])
	hex.Encode(b[24:36], g[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// Hex returns the form that kazoo uses: 32 hex digits, in lower case.
func (g GUID) Hex() string { return hex.EncodeToString(g[:]) }

// ParseGUID reads a GUID of 36 characters with dashes or of 32 hex digits, in upper or
// lower case. It returns false for anything else.
func ParseGUID(s string) (GUID, bool) {
	var digits [32]byte
	switch len(s) {
	case 32:
		copy(digits[:], s)
	case 36:
		if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
			return GUID{}, false
		}
		copy(digits[0:8], s[0:8])
		copy(digits[8:12], s[9:13])
		copy(digits[12:16], s[14:18])
		copy(digits[16:20], s[19:23])
		copy(digits[20:32], s[24:36])
	default:
		return GUID{}, false
	}
	var g GUID
	if _, err := hex.Decode(g[:], digits[:]); err != nil {
		return GUID{}, false
	}
	return g, true
}
