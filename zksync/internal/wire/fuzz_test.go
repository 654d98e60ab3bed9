package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

// recordScripts are the records that a server reads, as the types they are made
// of: i and l are numbers, b a bool, s a string, y bytes, S strings, A ACLs,
// C the identities of a client, t a Stat, m the header of a multi.
var recordScripts = []string{
	"ii",      // a request's header
	"ili",     // a reply's
	"syAi",    // create
	"syAil",   // createTTL
	"sb",      // exists, getData, getChildren
	"syi",     // setData
	"sAi",     // setACL
	"isy",     // auth
	"lSSS",    // setWatches
	"lSSSSS",  // setWatches2
	"msimsym", // a multi: delete, something with data, the end
	"iis",     // an event
	"yt",      // getData's answer
	"St",      // getChildren2's
	"At",      // getACL's
	"C",       // whoAmI's
}

// reread reads in as a record, and writes what it read.
func reread(script string, in []byte, allowNull bool) (out []byte, read int, err error) {
	d := NewDecoder(in)
	d.AllowNull = allowNull
	var e Encoder
	for _, c := range script {
		switch c {
		case 'i':
			e.Int32(d.Int32())
		case 'l':
			e.Int64(d.Int64())
		case 'b':
			e.Bool(d.Bool())
		case 's':
			e.String(d.String())
		case 'y':
			e.Buffer(d.Buffer())
		case 'S':
			e.Strings(d.Strings())
		case 'A':
			e.ACLs(d.ACLs())
		case 'C':
			e.ClientInfos(d.ClientInfos())
		case 't':
			e.Stat(d.Stat())
		case 'm':
			e.MultiHeader(d.MultiHeader())
		}
	}
	return e.Buf, len(in) - d.Len(), d.Err()
}

// FuzzRecords reads records from any bytes. What is read is what is there: it
// comes out the same when it is written and read again, and byte for byte unless
// there are two ways to write it.
func FuzzRecords(f *testing.F) {
	for i := range recordScripts {
		out, _, _ := reread(recordScripts[i], nil, false)
		f.Add(uint8(i), out, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, which uint8, in []byte, allowNull bool) {
		script := recordScripts[int(which)%len(recordScripts)]
		out, read, err := reread(script, in, allowNull)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("%s: %v", script, err)
			}
			return
		}
		if read > len(in) {
			t.Fatalf("%s: %d of %d bytes read", script, read, len(in))
		}
		// Null is written as empty, and any byte but zero as true.
		twoWays := allowNull || bytes.ContainsAny([]byte(script), "bm")
		if !twoWays && !bytes.Equal(out, in[:read]) {
			t.Fatalf("%s: %x became %x", script, in[:read], out)
		}
		again, n, err := reread(script, out, false)
		if err != nil || n != len(out) || !bytes.Equal(again, out) {
			t.Fatalf("%s: %x became %x, then %x, %v", script, in[:read], out, again, err)
		}
		// One byte less, and it is not there.
		if _, _, err := reread(script, out[:len(out)-1], allowNull); !errors.Is(err, ErrMalformed) {
			t.Fatalf("%s: %x without its end: %v", script, out, err)
		}
	})
}

// FuzzHeaders reads headers and events, and sets the zxids of answers, connect
// requests and SetWatches: nothing else of them changes, and no other frame does.
func FuzzHeaders(f *testing.F) {
	f.Add(RequestHeader{Xid: XidSetWatches, Op: OpSetWatches}.Append(nil), int64(7))
	f.Add(append(RequestHeader{Xid: 3, Op: OpSetWatches2}.Append(nil), make([]byte, 28)...), int64(-1))
	f.Add(ConnectRequest{LastZxidSeen: 9, SessionID: 4, Password: make([]byte, 16)}.Append(nil), int64(8))
	f.Add(append(ReplyHeader{Xid: XidEvent, Zxid: -1}.Append(nil), Event{EventDeleted, StateConnected, "/a"}.Append(nil)...), int64(0))
	f.Fuzz(func(t *testing.T, in []byte, zxid int64) {
		h, rest, err := ParseRequestHeader(in)
		if (err == nil) != (len(in) >= 8) || err == nil && !bytes.Equal(append(h.Append(nil), rest...), in) {
			t.Fatalf("%x: %+v, %v", in, h, err)
		}
		r, body, rerr := ParseReplyHeader(in)
		if (rerr == nil) != (len(in) >= 16) || rerr == nil && !bytes.Equal(append(r.Append(nil), body...), in) {
			t.Fatalf("%x: %+v, %v", in, r, rerr)
		}
		if rerr == nil {
			if ev, err := ParseEvent(body); err == nil && !bytes.HasPrefix(body, ev.Append(nil)) {
				t.Fatalf("%x: %+v", body, ev)
			} else if CheckEvent(body) == nil && err != nil {
				t.Fatalf("%x passes the check, and: %v", body, err)
			}
		}
		set := bytes.Clone(in)
		if ok := SetZxid(set, zxid); ok != (rerr == nil) || !ok && !bytes.Equal(set, in) {
			t.Fatalf("%x became %x", in, set)
		} else if ok {
			r.Zxid = zxid
			if !bytes.Equal(append(r.Append(nil), body...), set) {
				t.Fatalf("%x became %x", in, set)
			}
		}
		set = bytes.Clone(in)
		before, cerr := ParseConnectRequest(in)
		if ok := SetLastZxidSeen(set, zxid); cerr == nil && !ok || !ok && !bytes.Equal(set, in) {
			t.Fatalf("%x became %x", in, set)
		} else if cerr == nil {
			before.LastZxidSeen = zxid
			if after, err := ParseConnectRequest(set); err != nil || !reflect.DeepEqual(after, before) {
				t.Fatalf("%+v became %+v, %v", before, after, err)
			}
		}
		set = bytes.Clone(in)
		if !SetRelativeZxid(set, zxid) {
			if !bytes.Equal(set, in) || err == nil && len(in) >= 16 && (h.Op == OpSetWatches || h.Op == OpSetWatches2) {
				t.Fatalf("%x became %x", in, set)
			}
			return
		}
		d := NewDecoder(set[8:])
		if d.Int64() != zxid || !bytes.Equal(set[:8], in[:8]) || !bytes.Equal(set[16:], in[16:]) {
			t.Fatalf("%x became %x", in, set)
		}
	})
}
