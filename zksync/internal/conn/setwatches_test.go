package conn

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// SetWatches is sent with the zxid of the connect request, and not with that of a later
// answer. The client itself sees no zxid: it would read the last one in one goroutine
// while another writes it, which the race detector would report here.
func TestSetWatchesZxid(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		if _, _, _, err := c.Zk().GetW("/node"); err != nil {
			t.Fatal(err)
		}
		// A list that is answered before SetWatches would change the client's zxid.
		var zxids []int64
		f.do(func() {
			f.onSetWatches = func(p *peer, zxid int64) { zxids = append(zxids, zxid-p.connect.LastZxidSeen) }
			f.refuse = errRefused
		})
		f.cut()
		time.Sleep(time.Second)
		f.do(func() { f.zxid += 1000; f.refuse = nil })
		go c.Zk().Children("/")
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(T)
		f.do(func() {
			if len(zxids) != 1 || zxids[0] != 0 || f.peers[len(f.peers)-1].connect.LastZxidSeen == 0 {
				t.Errorf("SetWatches beyond the connect request's zxid by %v", zxids)
			}
		})
	})
	inBubble(t, "FirstAnswers", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		if _, _, _, err := c.Zk().GetW("/node"); err != nil {
			t.Fatal(err)
		}
		for _, late := range []bool{true, false} {
			n := f.dials()
			f.cut()
			for f.dials() == n {
				time.Sleep(time.Millisecond)
			}
			if late {
				time.Sleep(time.Second)
			}
			start := time.Now()
			if _, _, err := c.Zk().Children("/"); err != nil || time.Since(start) != 0 {
				t.Errorf("late %v: after %v: %v", late, time.Since(start), err)
			}
		}
	})
	inBubble(t, "NextSession", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		ephemeral(t, c, "/node")
		f.expire()
		time.Sleep(T)
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.do(func() {
			n := len(f.peers)
			if n != 3 || f.peers[1].connect.LastZxidSeen == 0 || f.peers[2].connect.LastZxidSeen != 0 {
				t.Errorf("%d connections; the last two begin with %+v and %+v", n, f.peers[n-2].connect, f.peers[n-1].connect)
			}
		})
	})
	// The frames of the client, without a server.
	var sent bytes.Buffer
	l := &link{c: newConn(Config{Timeout: T})}
	fr := newFramed(l, nil, writerConn{&sent}, "x", time.Second)
	l.see(5, nil)
	fr.Write(frame(wire.ConnectRequest{Password: make([]byte, 16)}.Append(nil)))
	if want := frame(wire.ConnectRequest{LastZxidSeen: 5, Password: make([]byte, 16)}.Append(nil)); !bytes.Equal(sent.Bytes(), want) {
		t.Errorf("connecting with %x, want %x", sent.Bytes(), want)
	}
	sent.Reset()
	set := frame(wire.RequestHeader{Xid: 1, Op: wire.OpSetWatches}.Append(nil), []byte{0, 0, 0, 0, 0, 0, 0, 9}, make([]byte, 12))
	before := bytes.Clone(set)
	fr.Write(set)
	if !bytes.Equal(set, before) {
		t.Error("the client's own buffer was changed")
	}
	binary.BigEndian.PutUint64(before[12:], 5)
	if !bytes.Equal(sent.Bytes(), before) {
		t.Errorf("sent %x, want %x", sent.Bytes(), before)
	}
	sent.Reset()
	if n, err := fr.Write([]byte{1, 2}); n != 2 || err != nil || sent.Len() != 2 {
		t.Error("less than a frame is passed on as it is")
	}
}

type writerConn struct{ *bytes.Buffer }

func (writerConn) Close() error                     { return nil }
func (writerConn) LocalAddr() net.Addr              { return nil }
func (writerConn) RemoteAddr() net.Addr             { return nil }
func (writerConn) SetDeadline(time.Time) error      { return nil }
func (writerConn) SetReadDeadline(time.Time) error  { return nil }
func (writerConn) SetWriteDeadline(time.Time) error { return nil }
