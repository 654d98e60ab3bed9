package zktest

import "unicode/utf8"

// decoded returns text as Java reads it. Java makes one replacement character of each
// sequence of bytes that is no UTF-8, as far as it might have become a character. Two
// paths that are the same then are one path.
func decoded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, 2*len(s))
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size <= 1 {
			size = malformed(s)
		}
		b = utf8.AppendRune(b, r)
		s = s[size:]
	}
	return string(b)
}

// encoded returns decoded text as ZooKeeper sends it back. A character outside of the
// basic plane goes out as the two halves that Java keeps of it, three bytes each.
func encoded(s string) string {
	plain := true
	for _, r := range s {
		plain = plain && r <= 0xffff
	}
	if plain {
		return s
	}
	b := make([]byte, 0, 2*len(s))
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			b = appendHalf(appendHalf(b, 0xd800|r>>10), 0xdc00|r&0x3ff)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

func appendHalf(b []byte, r rune) []byte {
	return append(b, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// malformed returns how many bytes at the begin of s Java takes for one character that is
// none.
func malformed(s string) int {
	want := 1
	switch first := s[0]; {
	case first >= 0xe0 && first <= 0xef:
		want = 3 // a half of a character is one of three bytes
	case first >= 0xf0 && first <= 0xf4:
		want = 3
	}
	for n := 1; n < want; n++ {
		if n == len(s) || !continues(s, n) {
			return n
		}
	}
	return want
}

// continues reports whether byte n of s may follow those before it.
func continues(s string, n int) bool {
	low, high := byte(0x80), byte(0xbf)
	if n == 1 {
		switch s[0] {
		case 0xe0:
			low = 0xa0
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	}
	return s[n] >= low && s[n] <= high
}
