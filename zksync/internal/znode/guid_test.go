package znode

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestNewGUID(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	first := NewGUID()
	seen := map[GUID]bool{first: true}
	for range 10000 {
		g := NewGUID()
		if seen[g] {
			t.Fatalf("%v came twice", g)
		}
		seen[g] = true
		if !form.MatchString(g.String()) {
			t.Fatalf("%v is not a UUID of version 8", g)
		}
		if g.String()[:13] != first.String()[:13] || !g.Ours() {
			t.Fatalf("%v and %v do not name the same process", g, first)
		}
		for _, s := range []string{g.String(), g.Hex(), strings.ToUpper(g.String())} {
			if back, ok := ParseGUID(s); !ok || back != g {
				t.Fatalf("ParseGUID(%q) = %v, %v", s, back, ok)
			}
		}
	}
	// Every bit that is not fixed is seen set and clear.
	var set, clear GUID
	for g := range seen {
		for i, b := range g {
			set[i] |= b
			clear[i] |= ^b
		}
	}
	for i := processLen; i < len(set); i++ {
		want := byte(0xff)
		switch i {
		case 6:
			want = 0x0f
		case 8:
			want = 0x3f
		}
		if set[i]&clear[i] != want {
			t.Errorf("byte %d: the bits %08b are random, want %08b", i, set[i]&clear[i], want)
		}
	}
}

// Curator compares a node under kazoo's name as a text with the digits of its own
// sequence. If it came first Curator would wait for those behind it, which wait
// for Curator.
func TestKazooNamesComeLastForCurator(t *testing.T) {
	const highest = "2147483647"
	for range 1000 {
		var g GUID
		p := newProcess()
		copy(g[:], p[:])
		if name := KazooPrefix(g) + "0000000000"; name < highest {
			t.Fatalf("%s is before %s", name, highest)
		}
	}
}

func TestNewGUIDConcurrentSafe(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if !NewGUID().Ours() {
					t.Error("not ours")
				}
			}
		})
	}
	wg.Wait()
}

func TestOurs(t *testing.T) {
	flip := func(at int, bits byte) GUID {
		g := NewGUID()
		g[at] ^= bits
		return g
	}
	for name, g := range map[string]GUID{
		"zero":              {},
		"another process":   flip(0, 1),
		"another process 2": flip(5, 0x80),
		"version 4":         flip(6, 0xc0),
		"another variant":   flip(8, 0xc0),
	} {
		if g.Ours() {
			t.Errorf("%s: %v is ours", name, g)
		}
	}
}

func TestParseGUID(t *testing.T) {
	want := GUID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	for s, ok := range map[string]bool{
		"01234567-89ab-cdef-0123-456789abcdef":   true,
		"01234567-89AB-CDEF-0123-456789abcdef":   true,
		"0123456789abcdef0123456789abcdef":       true,
		"":                                       false,
		"0":                                      false,
		"01234567-89ab-cdef-0123-456789abcde":    false,
		"01234567-89ab-cdef-0123-456789abcdef0":  false,
		"01234567-89ab-cdef-0123-456789abcdeg":   false,
		"0123456789ab-cdef-0123-456789abcdef--":  false,
		"01234567-89ab-cdef-01234-56789abcdef":   false,
		"0123456789abcdef0123456789abcdeg":       false,
		"0123456789abcdef0123456789abcde\xff":    false,
		"{01234567-89ab-cdef-0123-456789abcdef}": false,
		"------------------------------------":   false,
		"--------------------------------":       false,
	} {
		g, got := ParseGUID(s)
		if got != ok || ok && g != want || !ok && g != (GUID{}) {
			t.Errorf("ParseGUID(%q) = %v, %v; want %v", s, g, got, ok)
		}
	}
}
