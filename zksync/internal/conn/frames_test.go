package conn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync/internal/wire"
)

// frame returns a frame that consists of these parts.
func frame(parts ...[]byte) []byte { return wire.AppendFrame(nil, bytes.Join(parts, nil)) }

func header(xid int32, code wire.Code) []byte {
	return wire.ReplyHeader{Xid: xid, Zxid: 1, Err: code}.Append(nil)
}

func i32(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// A malformed frame fails its request and ends the connection. The session and the calls
// go on with the next one. The client never gets such a frame, as it would crash.
func TestMalformedFrames(t *testing.T) {
	children := func(c *Conn) error { _, _, err := c.Children("/"); return err }
	calls := map[string]func(c *Conn) error{
		"children": children,
		// The client decodes an answer for itself.
		"theirChildren": func(c *Conn) error { _, _, err := c.Zk().Children("/"); return err },
		"theirStat":     func(c *Conn) error { _, _, err := c.Zk().Exists("/"); return err },
		"theirWatch":    func(c *Conn) error { _, _, _, err := c.Zk().GetW("/"); return err },
		"theirCreate":   func(c *Conn) error { _, err := c.Zk().Create("/x", nil, 0, acl); return err },
		"theirCheck": func(c *Conn) error {
			_, err := c.Zk().Multi(&zk.CheckVersionRequest{Path: "/", Version: -1})
			return err
		},
		"stat":   func(c *Conn) error { _, _, err := c.Stat("/"); return err },
		"watch":  func(c *Conn) error { _, err := c.Watch("/"); return err },
		"create": func(c *Conn) error { _, _, err := c.Create([]string{"/x"}, nil, 0, acl); return err },
		"check":  func(c *Conn) error { _, _, err := c.Check("/"); return err },
	}
	for _, test := range []struct {
		name string
		call string
		raw  func(xid int32) []byte
	}{
		{"NegativeLength", "children", func(int32) []byte { return i32(-1) }},
		{"HugeLength", "children", func(int32) []byte { return i32(maxFrame + 1) }},
		{"Empty", "children", func(int32) []byte { return i32(0) }},
		{"ShortHeader", "children", func(xid int32) []byte { return frame(i32(xid), i32(0)) }},
		{"HeaderOneShort", "children", func(xid int32) []byte { return frame(header(xid, 0)[:15]) }},
		{"NoBody", "children", func(xid int32) []byte { return frame(header(xid, 0)) }},
		{"NegativeCount", "children", func(xid int32) []byte { return frame(header(xid, 0), i32(-2)) }},
		{"HugeCount", "children", func(xid int32) []byte { return frame(header(xid, 0), i32(1<<30)) }},
		{"NegativeString", "children", func(xid int32) []byte { return frame(header(xid, 0), i32(1), i32(-7)) }},
		{"StringBeyondTheEnd", "children", func(xid int32) []byte { return frame(header(xid, 0), i32(1), i32(50), []byte("short")) }},
		{"NoStat", "children", func(xid int32) []byte { return frame(header(xid, 0), i32(0)) }},
		{"HalfAStat", "stat", func(xid int32) []byte { return frame(header(xid, 0), make([]byte, 67)) }},
		{"NoData", "watch", func(xid int32) []byte { return frame(header(xid, 0), i32(9), make([]byte, 68)) }},
		{"NoPath", "create", func(xid int32) []byte { return frame(header(xid, 0)) }},
		{"NullPath", "create", func(xid int32) []byte { return frame(header(xid, 0), i32(-1)) }},
		{"MultiWithoutEnd", "check", func(xid int32) []byte { return frame(header(xid, 0), i32(13), []byte{0}, i32(0)) }},
		{"MultiOfAnUnknownKind", "check", func(xid int32) []byte {
			return frame(header(xid, 0), i32(99), []byte{0}, i32(0), i32(-1), []byte{1}, i32(-1))
		}},
		{"MultiBoolAtTheEnd", "check", func(xid int32) []byte { return frame(header(xid, 0), i32(13)) }},
		{"EventWithoutABody", "children", func(int32) []byte { return frame(header(-1, 0)) }},
		{"EventOfType0", "children", func(int32) []byte { return frame(header(-1, 0), i32(0), i32(3), i32(1), []byte("/")) }},
		{"EventOfTheSession", "children", func(int32) []byte { return frame(header(-1, 0), i32(-1), i32(-112), i32(0)) }},
		{"EventWithGarbage", "children", func(int32) []byte { return frame(header(-1, 0), bytes.Repeat([]byte{0xff}, 20)) }},
		{"AnotherNumber", "children", func(int32) []byte { return frame(header(firstXid-9, 0), i32(0), make([]byte, 68)) }},
		{"Garbage", "children", func(int32) []byte { return bytes.Repeat([]byte("HTTP/1.1 400 Bad Request\r\n"), 10) }},
	} {
		their := "their" + strings.ToUpper(test.call[:1]) + test.call[1:]
		for whose, call := range map[string]string{"Ours": test.call, "Theirs": their} {
			inBubble(t, test.name+whose, func(t *testing.T) { malformed(t, calls[call], test.name, test.raw) })
		}
	}
}

// malformed makes a call whose first answer is malformed.
func malformed(t *testing.T, call func(*Conn) error, name string, raw func(xid int32) []byte) {
	f := newFake(T)
	var log bytes.Buffer
	cfg := f.config()
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Zk() // makes a request of its own, once
	time.Sleep(time.Second)
	f.do(func() {
		f.script = func(p *peer, h wire.RequestHeader) (a act) {
			if p.n == 1 && (h.Xid >= 0 || h.Xid <= firstXid) && h.Op != wire.OpCreateSession {
				a.raw = raw(h.Xid)
			}
			return a
		}
	})
	start := time.Now()
	if err := call(c); err == nil || Classify(err) != Unknown {
		t.Errorf("error %v, want an unknown outcome", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("noticed after %v", took)
	}
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := call(c); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.Errorf("the same call on the next connection: %v", err)
	}
	st, _ := c.State()
	if st.Session != 1 || st.Epoch != 2 || f.dials() != 2 {
		t.Errorf("state %+v after %d dials", st, f.dials())
	}
	f.end(c)
	if name != "Garbage" && name != "NegativeLength" && name != "HugeLength" &&
		!strings.Contains(log.String(), "malformed frame from one.example:2181") {
		t.Errorf("log: %s", &log)
	}
}

// A frame that ends too early ends its connection.
func TestTruncatedFrame(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() {
			f.script = func(p *peer, h wire.RequestHeader) act {
				if p.n == 1 && h.Op == wire.OpGetChildren2 {
					return act{raw: append(i32(100), header(h.Xid, 0)...), cut: true}
				}
				return act{}
			}
		})
		if _, _, err := c.Children("/"); Classify(err) != Unknown {
			t.Errorf("error %v", err)
		}
		if _, err := c.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Children("/"); err != nil {
			t.Errorf("on the next connection: %v", err)
		}
	})
}

// A list arrives that is far larger than the client's buffer.
func TestLongAnswer(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		f := newFake(T)
		c := f.open(t)
		f.do(func() {
			for i := range 20_000 {
				f.nodes[fmt.Sprintf("/%0100d", i)] = &node{}
			}
		})
		for range 2 { // the second one finds the buffer grown
			names, _, err := c.Children("/")
			if err != nil || len(names) != 20_000 {
				t.Errorf("%d names, %v", len(names), err)
			}
			f.cut()
			time.Sleep(time.Second)
		}
	})
}
