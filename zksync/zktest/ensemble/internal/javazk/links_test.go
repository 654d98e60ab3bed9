package javazk

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// The address at which a server can be called back for an election is replaced,
// or two servers would find a way past the cut.
func TestElectionLinkReplacesAddress(t *testing.T) {
	for _, version := range []int64{-65536, -65535} {
		target, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer target.Close()
		port := target.Addr().(*net.TCPAddr).Port
		ls, err := newLinks([]int{1, 2}, []int{3, port})
		must(t, err)
		defer ls.close()
		there, back := ls[[2]int{0, 1}].election.Addr(), ls[[2]int{1, 0}].election.Addr()
		conn, err := net.Dial("tcp", there)
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = conn.Write(electionHello(version, "127.0.0.1:3", "the rest"))
		must(t, err)
		must(t, conn.(*net.TCPConn).CloseWrite())
		in, err := target.Accept()
		must(t, err)
		defer in.Close()
		must(t, in.SetDeadline(time.Now().Add(10*time.Second)))
		got, err := io.ReadAll(in)
		must(t, err)
		if want := electionHello(version, back, "the rest"); string(got) != string(want) {
			t.Errorf("version %d: arrived %q, want %q", version, got, want)
		}
	}
}

func electionHello(version int64, addr, rest string) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(version))
	b = binary.BigEndian.AppendUint64(b, 7)
	b = binary.BigEndian.AppendUint32(b, uint32(len(addr)))
	return append(append(b, addr...), rest...)
}
