package zktest_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// liar changes what a server sends.
type liar struct {
	net.Conn
	lie func(frame []byte)
}

func (l liar) CloseWrite() error { return l.Conn.(*net.TCPConn).CloseWrite() }

func (l liar) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	// Small frames come whole.
	for rest := b[:n]; len(rest) >= 4; {
		size := 4 + int(binary.BigEndian.Uint32(rest))
		if size > len(rest) {
			break
		}
		l.lie(rest[:size])
		rest = rest[size:]
	}
	return n, err
}

// TestCompareNotices: the comparison of an embedded server with another one
// finds nothing, and with one that lies a little, the lie.
func TestCompareNotices(t *testing.T) {
	truth := compareEmbedded(t)
	answer := func(b []byte) bool { return len(b) >= 20 && int32(binary.BigEndian.Uint32(b[4:])) > 0 }
	for _, tt := range []struct {
		name string
		lie  func(b []byte)
	}{
		{"nothing", nil},
		{"error", func(b []byte) {
			if answer(b) && int32(binary.BigEndian.Uint32(b[16:])) == -111 { // NotEmpty
				binary.BigEndian.PutUint32(b[16:], 0xffffff99) // BadVersion
			}
		}},
		{"version", func(b []byte) {
			if answer(b) && len(b) == 20+68 && b[20+35] == 1 {
				b[20+35] = 2
			}
		}},
		{"event", func(b []byte) {
			if len(b) > 24 && int32(binary.BigEndian.Uint32(b[4:])) == -1 && b[23] == 2 {
				b[23] = 3 // changed, not deleted
			}
		}},
		{"zxid", func(b []byte) {
			if answer(b) && int32(binary.BigEndian.Uint32(b[16:])) == -103 {
				b[15]++
			}
		}},
		{"count", func(b []byte) {
			if answer(b) && len(b) == 20+4 && b[23] > 0 {
				b[23]++
			}
		}},
		{"part of a multiRead", func(b []byte) {
			if answer(b) && len(b) > 20+13 && wire.Op(binary.BigEndian.Uint32(b[20:])) == wire.OpGetChildren && b[24] == 0 {
				b[28]-- // the error
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := compareEmbedded(t)
			dial := func() (net.Conn, error) {
				nc, err := other()
				if err == nil && tt.lie != nil {
					nc = liar{nc, tt.lie}
				}
				return nc, err
			}
			d := compareDials{nameA: "one", a: truth, nameB: "another", b: dial}
			rng, found := rand.New(rand.NewPCG(7, 7)), false
			for n := 0; n < 60 && !found; n++ {
				seed := rng.Uint64()
				c, err := d.compare(seed, nil)
				if err != nil {
					t.Fatal(err)
				}
				found = c.differs()
				if found && tt.lie == nil {
					t.Error(d.report(c, "TestCompareNotices"))
				}
			}
			if found != (tt.lie != nil) {
				t.Errorf("a difference was found: %t", found)
			}
		})
	}
}
