package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// calls has, for each request the client can make, a call of it that returns
// what it decoded.
var calls = map[Op]func(c *zk.Conn) ([]any, error){
	OpCreate:          func(c *zk.Conn) ([]any, error) { s, err := c.Create("/a", nil, 0, nil); return []any{s}, err },
	OpCreateContainer: func(c *zk.Conn) ([]any, error) { s, err := c.CreateContainer("/a", nil, 4, nil); return []any{s}, err },
	OpCreateTTL: func(c *zk.Conn) ([]any, error) {
		s, err := c.CreateTTL("/a", nil, 5, nil, time.Hour)
		return []any{s}, err
	},
	OpDelete:  func(c *zk.Conn) ([]any, error) { return nil, c.Delete("/a", -1) },
	OpExists:  func(c *zk.Conn) ([]any, error) { _, s, err := c.Exists("/a"); return []any{fromStat(s)}, err },
	OpGetData: func(c *zk.Conn) ([]any, error) { b, s, err := c.Get("/a"); return []any{b, fromStat(s)}, err },
	OpSetData: func(c *zk.Conn) ([]any, error) { s, err := c.Set("/a", nil, -1); return []any{fromStat(s)}, err },
	OpGetACL: func(c *zk.Conn) ([]any, error) {
		l, s, err := c.GetACL("/a")
		return []any{fromACLs(l), fromStat(s)}, err
	},
	OpSetACL: func(c *zk.Conn) ([]any, error) { s, err := c.SetACL("/a", nil, -1); return []any{fromStat(s)}, err },
	OpSync:   func(c *zk.Conn) ([]any, error) { s, err := c.Sync("/a"); return []any{s}, err },
	OpGetChildren2: func(c *zk.Conn) ([]any, error) {
		l, s, err := c.Children("/a")
		return []any{noNil(l), fromStat(s)}, err
	},
	OpReconfig: func(c *zk.Conn) ([]any, error) { s, err := c.Reconfig(nil, -1); return []any{fromStat(s)}, err },
	OpAuth:     func(c *zk.Conn) ([]any, error) { return nil, c.AddAuth("digest", []byte("a:b")) },
	OpMulti: func(c *zk.Conn) ([]any, error) {
		list, err := c.Multi()
		var out []any
		for _, r := range list {
			if r.Stat != nil {
				out = append(out, fromStat(r.Stat))
			} else {
				out = append(out, r.String, r.Error != nil)
			}
			if err != nil && r.Error != nil && err.Error() == r.Error.Error() {
				err = nil // the first result's own, as Multi returns it
			}
		}
		return out, err
	},
}

// want decodes body as this package does, in the shape that calls returns.
func want(op Op, body []byte) []any {
	d := NewDecoder(body)
	switch op {
	case OpCreate, OpCreateContainer, OpCreateTTL, OpSync:
		return []any{d.String()}
	case OpExists, OpSetData, OpSetACL:
		return []any{d.Stat()}
	case OpReconfig:
		d.Buffer()
		return []any{d.Stat()}
	case OpGetData:
		return []any{d.Buffer(), d.Stat()}
	case OpGetACL:
		return []any{d.ACLs(), d.Stat()}
	case OpGetChildren2:
		return []any{noNil(d.Strings()), d.Stat()}
	case OpMulti:
		var out []any
		for h := d.MultiHeader(); !h.Done; h = d.MultiHeader() {
			switch h.Type {
			case OpError:
				out = append(out, "", d.Int32() != 0)
			case OpCreate:
				out = append(out, d.String(), false)
			case OpSetData:
				out = append(out, d.Stat())
			default:
				out = append(out, "", false)
			}
		}
		return out
	}
	return nil
}

func noNil(l []string) []string { return append([]string{}, l...) }

func fromStat(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat(*s)
}

func fromACLs(l []zk.ACL) []ACL {
	var out []ACL
	for _, a := range l {
		out = append(out, ACL(a))
	}
	return out
}

// TestClientDecodes shows that go-zookeeper's client reads every kind of reply
// that CheckReply accepts, and reads it as this package does.
func TestClientDecodes(t *testing.T) {
	p, c := newPeer(t)
	seen := map[Op]bool{}
	for _, tt := range goodReplies {
		call := calls[tt.op]
		if call == nil {
			continue // the client has no such request
		}
		seen[tt.op] = true
		body := unhex(t, tt.body)
		p.say(body, nil)
		got, err := call(c)
		if err != nil || !reflect.DeepEqual(got, want(tt.op, body)) {
			t.Errorf("%v, %s: the client read %v, %v; want %v", tt.op, tt.name, got, err, want(tt.op, body))
		}
		p.mu.Lock()
		if h, _, err := ParseRequestHeader(p.last); err != nil || h.Op != tt.op {
			t.Errorf("%v, %s: the client asked %v, %v", tt.op, tt.name, h.Op, err)
		}
		p.mu.Unlock()
	}
	for op := range calls {
		if !seen[op] {
			t.Errorf("%v was not tried", op)
		}
	}
}

// TestClientDecodesWhatIsAccepted damages good bodies at random and lets the
// client read each one that CheckReply still accepts: it neither fails nor
// crashes, and reads no byte that was not sent.
func TestClientDecodesWhatIsAccepted(t *testing.T) {
	p, c := newPeer(t)
	// Bytes that a reader past the end of a frame would find in its buffer.
	p.say(append([]byte{0, 0, 0, 0}, bytes.Repeat([]byte{0x41}, 64<<10)...), nil)
	if _, err := c.Sync("/a"); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for _, tt := range goodReplies {
		call := calls[tt.op]
		if call == nil {
			continue
		}
		for range 300 {
			body := damage(rnd, unhex(t, tt.body))
			if CheckReply(tt.op, body) != nil {
				refused++
				continue
			}
			accepted++
			p.say(body, nil)
			got, err := call(c)
			if err != nil || !reflect.DeepEqual(got, want(tt.op, body)) {
				t.Fatalf("%v, %x: the client read %v, %v; want %v", tt.op, body, got, err, want(tt.op, body))
			}
		}
	}
	if accepted < 500 || refused < 500 {
		t.Errorf("%d accepted, %d refused: the damage is not of the right kind", accepted, refused)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.connects) != 1 {
		t.Errorf("%d connections, want 1", len(p.connects))
	}
}

// damage changes a few bytes of body, mostly to those that make lengths, and
// sometimes its length.
func damage(rnd *rand.Rand, body []byte) []byte {
	for range 1 + rnd.IntN(3) {
		switch n := len(body); {
		case n == 0 || rnd.IntN(8) == 0:
			body = append(body, byte(rnd.IntN(3)))
		case rnd.IntN(4) == 0:
			body = body[:n-1-rnd.IntN(min(n, 4))]
		default:
			body[rnd.IntN(n)] = []byte{0, 1, 2, 4, 0x7f, 0x80, 0xff, byte(rnd.IntN(256))}[rnd.IntN(8)]
		}
	}
	return body
}

// TestClientWatch takes the client through a watch, a lost connection and the
// setWatches that follows.
func TestClientWatch(t *testing.T) {
	p, c := newPeer(t)
	event := Event{EventDataChanged, StateConnected, "/a"}.Append(nil)
	if err := CheckEvent(event); err != nil {
		t.Fatal(err)
	}
	data := unhex(t, "00000000"+hexStat)
	p.say(data, nil)
	_, _, first, err := c.GetW("/a")
	if err != nil {
		t.Fatal(err)
	}
	p.say(data, event)
	if _, _, err := c.Get("/b"); err != nil {
		t.Fatal(err)
	}
	if ev := <-first; ev.Type != zk.EventNodeDataChanged || ev.Path != "/a" || ev.State != zk.StateSyncConnected {
		t.Errorf("event %+v", ev)
	}

	p.say(data, nil)
	_, _, second, err := c.GetW("/c")
	if err != nil {
		t.Fatal(err)
	}
	// The event goes out just before the answer to setWatches, which is the
	// first request on the new connection.
	p.mu.Lock()
	p.cut, p.event = true, Event{EventDeleted, StateConnected, "/c"}.Append(nil)
	p.mu.Unlock()
	if _, _, err := c.Get("/d"); !errors.Is(err, zk.ErrConnectionClosed) {
		t.Fatalf("err = %v", err)
	}
	if ev := <-second; ev.Type != zk.EventNodeDeleted || ev.Path != "/c" {
		t.Errorf("event %+v", ev)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.connects) != 2 {
		t.Fatalf("%d connections", len(p.connects))
	}
	cr := p.connects[1]
	if cr.SessionID != 0x1234 || string(cr.Password) != "0123456789abcdef" || cr.LastZxidSeen != 1002 || cr.HasReadOnly {
		t.Errorf("second connect %+v", cr)
	}
	if h, _, err := ParseRequestHeader(p.last); err != nil || h.Op != OpSetWatches {
		t.Fatalf("%v, %v instead of setWatches", h, err)
	}
	if !SetRelativeZxid(p.last, 7) {
		t.Fatal("the client's setWatches was not recognised")
	}
	var e Encoder
	e.Int64(7)
	e.Strings([]string{"/c"})
	e.Strings(nil)
	e.Strings(nil)
	if got := p.last[requestHeaderLen:]; !bytes.Equal(got, e.Buf) {
		t.Errorf("setWatches is %x, want %x", got, e.Buf)
	}
}

func ExampleCheckReply() {
	// A vector that claims two thousand million children.
	err := CheckReply(OpGetChildren2, []byte{0x7f, 0xff, 0xff, 0xff})
	fmt.Println(err)
	// Output: reply to getChildren2: wire: malformed record: vector of 2147483647 items at byte 4 of 4
}
