package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// unhex turns hand-made bytes, spaced as is handy, into a slice.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConnectRequest(t *testing.T) {
	const fixed = "00000000 0000000000000102 00002710 0000000000000abc 00000010 000102030405060708090a0b0c0d0e0f"
	want := ConnectRequest{LastZxidSeen: 0x102, Timeout: 10000, SessionID: 0xabc,
		Password: []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
	for _, tail := range []string{"", "00", "01"} {
		want.HasReadOnly, want.ReadOnly = tail != "", tail == "01"
		in := unhex(t, fixed+tail)
		if len(in) != 44+len(tail)/2 {
			t.Fatalf("%d bytes", len(in))
		}
		got, err := ParseConnectRequest(in)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; want %+v", tail, got, err, want)
		}
		if out := got.Append([]byte("x")); !bytes.Equal(out[1:], in) {
			t.Errorf("%q: append gives %x, want %x", tail, out[1:], in)
		}
	}
	in := unhex(t, fixed)
	for n := range in {
		if _, err := ParseConnectRequest(in[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: err = %v", n, err)
		}
	}
}

func TestConnectResponse(t *testing.T) {
	const fixed = "00000000 00000fa0 0000000000000abc 00000010 000102030405060708090a0b0c0d0e0f"
	for _, tail := range []string{"", "00", "01"} {
		in := unhex(t, fixed+tail)
		got, err := ParseConnectResponse(in)
		if err != nil || got.Timeout != 4000 || got.SessionID != 0xabc || len(got.Password) != 16 ||
			got.HasReadOnly != (tail != "") || got.ReadOnly != (tail == "01") {
			t.Errorf("%q: got %+v, %v", tail, got, err)
		}
		if out := got.Append(nil); !bytes.Equal(out, in) {
			t.Errorf("%q: append gives %x, want %x", tail, out, in)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%q: %v", tail, err)
		}
	}
	in := unhex(t, fixed)
	for n := range in {
		if _, err := ParseConnectResponse(in[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: err = %v", n, err)
		}
	}
	for _, tt := range []struct {
		name string
		c    ConnectResponse
		ok   bool
	}{
		{"over", ConnectResponse{Password: make([]byte, 16)}, true},
		{"no timeout", ConnectResponse{SessionID: 1}, false},
		{"negative timeout", ConnectResponse{SessionID: 1, Timeout: -1}, false},
		{"shortest", ConnectResponse{SessionID: 1, Timeout: 1}, true},
		{"longest password", ConnectResponse{SessionID: 1, Timeout: 1, Password: make([]byte, 224)}, true},
		{"too long a password", ConnectResponse{SessionID: 1, Timeout: 1, Password: make([]byte, 225)}, false},
	} {
		if err := tt.c.Check(); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: Check = %v", tt.name, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	in := unhex(t, "00000007 0000000c 6162")
	rq, body, err := ParseRequestHeader(in)
	if err != nil || rq != (RequestHeader{7, OpGetChildren2}) || string(body) != "ab" {
		t.Errorf("request: %+v %q %v", rq, body, err)
	}
	if got := rq.Append(nil); !bytes.Equal(got, in[:8]) {
		t.Errorf("request: append gives %x", got)
	}
	in = unhex(t, "ffffffff 0000000100000002 ffffff9b 6162")
	rp, body, err := ParseReplyHeader(in)
	if err != nil || rp != (ReplyHeader{XidEvent, 1<<32 + 2, CodeNoNode}) || string(body) != "ab" {
		t.Errorf("reply: %+v %q %v", rp, body, err)
	}
	if got := rp.Append(nil); !bytes.Equal(got, in[:16]) {
		t.Errorf("reply: append gives %x", got)
	}
	for n := range 16 {
		if _, _, err := ParseReplyHeader(in[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("reply of %d bytes: err = %v", n, err)
		}
		if _, _, err := ParseRequestHeader(in[:n]); (err != nil) != (n < 8) {
			t.Errorf("request of %d bytes: err = %v", n, err)
		}
	}
}

func TestAuthRequest(t *testing.T) {
	want := unhex(t, "fffffffc 00000064 00000000 00000006 646967657374 00000003 613a62")
	if got := AuthRequest(nil, "digest", []byte("a:b")); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestSetRelativeZxid(t *testing.T) {
	const tail = "00000001 00000002 2f61 00000000 00000000"
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"setWatches", "00000005 00000065 00000000000000ff" + tail, "00000005 00000065 0000000000001234" + tail, true},
		{"setWatches2", "fffffff8 00000069 ffffffffffffffff" + tail, "fffffff8 00000069 0000000000001234" + tail, true},
		{"another", "00000005 00000004 00000000000000ff", "00000005 00000004 00000000000000ff", false},
		{"short", "00000005 00000065 000000000000ff", "00000005 00000065 000000000000ff", false},
		{"empty", "", "", false},
	} {
		p := unhex(t, tt.in)
		if ok := SetRelativeZxid(p, 0x1234); ok != tt.ok || !bytes.Equal(p, unhex(t, tt.want)) {
			t.Errorf("%s: %v, %x", tt.name, ok, p)
		}
	}
}

// An answer's zxid, and a connect request's, are set where they are all there.
func TestSetZxid(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		set            func([]byte, int64) bool
		ok             bool
	}{
		{"answer", "00000005 00000000000000ff 00000000 0a", "00000005 0000000000001234 00000000 0a", SetZxid, true},
		{"short answer", "00000005 00000000000000ff 000000", "00000005 00000000000000ff 000000", SetZxid, false},
		{"connect request", "00000000 00000000000000ff 0a", "00000000 0000000000001234 0a", SetLastZxidSeen, true},
		{"short connect request", "00000000 000000000000ff", "00000000 000000000000ff", SetLastZxidSeen, false},
	} {
		p := unhex(t, tt.in)
		if ok := tt.set(p, 0x1234); ok != tt.ok || !bytes.Equal(p, unhex(t, tt.want)) {
			t.Errorf("%s: %v, %x", tt.name, ok, p)
		}
	}
}

func TestDecoder(t *testing.T) {
	d := NewDecoder(unhex(t, "ffffffff 00000000 00000001 61 00000001 62 00000002 00000001 63 00000000 02 99"))
	if b := d.Buffer(); b != nil {
		t.Errorf("null buffer = %v", b)
	}
	if b := d.Buffer(); b == nil || len(b) != 0 {
		t.Errorf("empty buffer = %v", b)
	}
	if b := d.Buffer(); string(b) != "a" || cap(b) != 1 {
		t.Errorf("buffer = %q, capacity %d", b, cap(b))
	}
	if s := d.String(); s != "b" {
		t.Errorf("string = %q", s)
	}
	if l := d.Strings(); !reflect.DeepEqual(l, []string{"c", ""}) {
		t.Errorf("strings = %q", l)
	}
	if !d.Bool() || d.Len() != 1 || d.Rest()[0] != 0x99 || d.Err() != nil {
		t.Errorf("len %d, err %v", d.Len(), d.Err())
	}
	// The first failure stays.
	d.Int32()
	first := d.Err()
	if !errors.Is(first, ErrMalformed) {
		t.Fatalf("err = %v", first)
	}
	if d.Bool() || d.Int64() != 0 || d.String() != "" || d.Buffer() != nil || d.Count(0) != 0 ||
		d.Strings() != nil || d.ACLs() != nil || d.Stat() != (Stat{}) || d.Err() != first {
		t.Errorf("something was read after a failure: %v", d.Err())
	}
}

func TestDecoderNull(t *testing.T) {
	in := unhex(t, "ffffffff ffffffff ffffffff")
	d := NewDecoder(in)
	d.AllowNull = true
	if d.String() != "" || d.Strings() != nil || d.ACLs() != nil || d.Err() != nil {
		t.Errorf("err = %v", d.Err())
	}
	for name, read := range map[string]func(d *Decoder){
		"string": func(d *Decoder) { _ = d.String() },
		"vector": func(d *Decoder) { d.Count(1) },
	} {
		d := NewDecoder(in)
		if read(&d); d.Err() == nil {
			t.Errorf("a null %s was read", name)
		}
		d = NewDecoder(unhex(t, "fffffffe"))
		d.AllowNull = true
		if read(&d); d.Err() == nil {
			t.Errorf("a %s of length -2 was read", name)
		}
	}
}

func TestACLs(t *testing.T) {
	want := []ACL{{31, "world", "anyone"}, {1, "auth", ""}}
	var e Encoder
	e.ACLs(want)
	d := NewDecoder(e.Buf)
	if got := d.ACLs(); !reflect.DeepEqual(got, want) || d.Err() != nil || d.Len() != 0 {
		t.Errorf("got %v, %v", got, d.Err())
	}
}

func TestClientInfos(t *testing.T) {
	in := unhex(t, "00000002 00000002 6970 00000001 61 00000000 00000000")
	want := []ClientInfo{{"ip", "a"}, {}}
	d := NewDecoder(in)
	if got := d.ClientInfos(); d.Err() != nil || d.Len() != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, d.Err())
	}
	var e Encoder
	if e.ClientInfos(want); !bytes.Equal(e.Buf, in) {
		t.Errorf("got %x, want %x", e.Buf, in)
	}
	for n := range in {
		d := NewDecoder(in[:n])
		if got := d.ClientInfos(); got != nil || !errors.Is(d.Err(), ErrMalformed) {
			t.Errorf("%d bytes: %+v, %v", n, got, d.Err())
		}
	}
}

func TestEvent(t *testing.T) {
	in := unhex(t, "00000002 00000003 00000002 2f61")
	v, err := ParseEvent(in)
	if err != nil || v != (Event{EventDeleted, StateConnected, "/a"}) || !bytes.Equal(v.Append(nil), in) {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestNames(t *testing.T) {
	for op := Op(-20); op < 120; op++ {
		if s := op.String(); s == "" || strings.Contains(s, " ") {
			t.Errorf("%d: %q", int32(op), s)
		}
	}
	for op, want := range map[Op]string{OpCreate: "create", OpGetChildren2: "getChildren2", OpClose: "closeSession", 77: "Op(77)"} {
		if got := op.String(); got != want {
			t.Errorf("%d: %q, want %q", int32(op), got, want)
		}
	}
	for c := Code(-130); c < 2; c++ {
		if c.String() == "" {
			t.Errorf("%d has no text", int32(c))
		}
	}
	if CodeNoNode.String() != "NoNode" || Code(-99).String() != "code(-99)" {
		t.Error(CodeNoNode, Code(-99))
	}
}

func TestOpWrite(t *testing.T) {
	writes := map[Op]bool{OpCreate: true, OpCreate2: true, OpCreateContainer: true, OpCreateTTL: true, OpDelete: true,
		OpDeleteContainer: true, OpSetData: true, OpSetACL: true, OpMulti: true, OpReconfig: true,
		OpCreateSession: true, OpCloseSession: true}
	for op := Op(-20); op < 120; op++ {
		if op.Write() != writes[op] {
			t.Errorf("%v.Write() = %v", op, op.Write())
		}
	}
}

func FuzzConnect(f *testing.F) {
	f.Add(ConnectRequest{Timeout: 10000, Password: make([]byte, 16)}.Append(nil))
	f.Add(ConnectResponse{Timeout: 10000, SessionID: 5, HasReadOnly: true}.Append(nil))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		if c, err := ParseConnectRequest(in); err == nil {
			again, err := ParseConnectRequest(c.Append(nil))
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Errorf("%+v became %+v, %v", c, again, err)
			}
		} else if !errors.Is(err, ErrMalformed) {
			t.Errorf("err = %v", err)
		}
		if c, err := ParseConnectResponse(in); err == nil {
			again, err := ParseConnectResponse(c.Append(nil))
			if err != nil || !reflect.DeepEqual(again, c) {
				t.Errorf("%+v became %+v, %v", c, again, err)
			}
			_ = c.Check()
		} else if !errors.Is(err, ErrMalformed) {
			t.Errorf("err = %v", err)
		}
	})
}
