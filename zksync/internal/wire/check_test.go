package wire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// hexStat is a Stat whose every field can be told from the others.
const hexStat = "0000000000000001 0000000000000002 0000000000000003 0000000000000004" +
	"00000005 00000006 00000007 0000000000000008 00000009 0000000a 000000000000000b"

// hexEnd ends a multi's results.
const hexEnd = "ffffffff 01 ffffffff"

// goodReplies has a well-formed body, or several, for every request.
var goodReplies = []struct {
	op   Op
	name string
	body string
}{
	{OpCreate, "path", "00000002 2f61"},
	{OpCreate, "empty path", "00000000"},
	{OpCreate2, "path and stat", "00000002 2f61" + hexStat},
	{OpCreateContainer, "path and stat", "00000002 2f61" + hexStat},
	{OpCreateTTL, "path and stat", "00000002 2f61" + hexStat},
	{OpCreateTTL, "path alone", "00000002 2f61"},
	{OpSync, "path", "00000002 2f61"},
	{OpDelete, "nothing", ""},
	{OpExists, "stat", hexStat},
	{OpSetData, "stat", hexStat},
	{OpSetACL, "stat", hexStat},
	{OpCheck, "stat", hexStat},
	{OpGetData, "data", "00000003 010203" + hexStat},
	{OpGetData, "empty data", "00000000" + hexStat},
	{OpGetData, "null data", "ffffffff" + hexStat},
	{OpReconfig, "data", "00000003 010203" + hexStat},
	{OpGetACL, "two", "00000002 0000001f 00000005 776f726c64 00000006 616e796f6e65 00000001 00000001 61 00000000" + hexStat},
	{OpGetACL, "none", "00000000" + hexStat},
	{OpGetChildren, "two", "00000002 00000001 61 00000002 6263"},
	{OpGetChildren, "none", "00000000"},
	{OpGetChildren2, "two", "00000002 00000001 61 00000002 6263" + hexStat},
	{OpGetChildren2, "none", "00000000" + hexStat},
	{OpMulti, "none", hexEnd},
	{OpMulti, "each kind", "00000001 00 00000000 00000002 2f61" +
		"00000005 00 00000000" + hexStat + "00000002 00 00000000" + "0000000d 00 00000000" + hexEnd},
	{OpMulti, "failed", "ffffffff 00 00000000 00000000" + "ffffffff 00 ffffff9b ffffff9b" + "ffffffff 00 fffffffe fffffffe" + hexEnd},
	{OpAddWatch, "code", "00000000"},
	{OpSetWatches, "nothing", ""},
	{OpSetWatches2, "nothing", ""},
	{OpRemoveWatches, "nothing", ""},
	{OpCheckWatches, "nothing", ""},
	{OpAuth, "nothing", ""},
	{OpPing, "nothing", ""},
	{OpClose, "nothing", ""},
	{99, "unknown", "ffffffff"},
}

// needed is how much of a good body CheckReply looks at.
func needed(t testing.TB, op Op, body []byte) int {
	switch op {
	case OpCreateContainer, OpCreateTTL:
		return 4 + 2
	case 99:
		return 0
	}
	return len(body)
}

func TestCheckReply(t *testing.T) {
	for _, tt := range goodReplies {
		t.Run(fmt.Sprintf("%v/%s", tt.op, tt.name), func(t *testing.T) {
			body := unhex(t, tt.body)
			if err := CheckReply(tt.op, body); err != nil {
				t.Fatal(err)
			}
			if err := CheckReply(tt.op, append(body, 1, 2, 3)); err != nil {
				t.Errorf("with bytes behind: %v", err)
			}
			for n := range needed(t, tt.op, body) {
				// The capacity is there, as it is in the client's buffer.
				if err := CheckReply(tt.op, body[:n]); !errors.Is(err, ErrMalformed) {
					t.Errorf("cut to %d of %d bytes: err = %v", n, len(body), err)
				}
			}
		})
	}
}

func TestCheckReplyRefuses(t *testing.T) {
	for _, tt := range []struct {
		op   Op
		name string
		body string
	}{
		{OpCreate, "null path", "ffffffff"},
		{OpCreate, "longest path", "7fffffff 2f61"},
		{OpCreate, "negative path", "80000000 2f61"},
		{OpSync, "null path", "ffffffff"},
		{OpGetData, "longest data", "7fffffff" + hexStat},
		{OpGetData, "data of length -2", "fffffffe" + hexStat},
		{OpGetData, "least data", "80000000" + hexStat},
		{OpGetData, "data over the stat", "00000004 01" + hexStat},
		{OpGetACL, "null", "ffffffff" + hexStat},
		{OpGetACL, "too many", "00000007" + hexStat},
		{OpGetACL, "null scheme", "00000001 0000001f ffffffff 00000000" + hexStat},
		{OpGetACL, "null id", "00000001 0000001f 00000000 ffffffff" + hexStat},
		{OpGetChildren, "null", "ffffffff"},
		{OpGetChildren, "most", "7fffffff"},
		{OpGetChildren, "null name", "00000001 ffffffff"},
		{OpGetChildren2, "null", "ffffffff" + hexStat},
		{OpGetChildren2, "most", "7fffffff" + hexStat},
		{OpGetChildren2, "least", "80000000" + hexStat},
		{OpGetChildren2, "one too many", "00000002 00000001 61" + hexStat},
		{OpMulti, "no end", "00000002 00 00000000"},
		{OpMulti, "cut after the type", "00000002"},
		{OpMulti, "cut before the code", "ffffffff 01"},
		{OpMulti, "create2", "0000000f 00 00000000 00000002 2f61" + hexStat + hexEnd},
		{OpMulti, "getData", "00000004 00 00000000 00000000" + hexStat + hexEnd},
		{OpMulti, "null path", "00000001 00 00000000 ffffffff" + hexEnd},
		{OpMulti, "no code", "ffffffff 00 00000000"},
	} {
		if err := CheckReply(tt.op, unhex(t, tt.body)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v, %s: err = %v", tt.op, tt.name, err)
		}
	}
}

func TestCheckReplyAllocates(t *testing.T) {
	for _, tt := range goodReplies {
		body := unhex(t, tt.body)
		if n := testing.AllocsPerRun(20, func() { _ = CheckReply(tt.op, body) }); n != 0 {
			t.Errorf("%v, %s: %v allocations", tt.op, tt.name, n)
		}
	}
}

func TestCheckEvent(t *testing.T) {
	good := unhex(t, "00000002 00000003 00000002 2f61")
	for _, tail := range []string{"", "00"} {
		if err := CheckEvent(append(good[:len(good):len(good)], unhex(t, tail)...)); err != nil {
			t.Error(err)
		}
	}
	for n := range good {
		if err := CheckEvent(good[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("cut to %d bytes: err = %v", n, err)
		}
	}
	for _, bad := range []string{
		"00000002 00000003 ffffffff",        // null path
		"00000002 00000003 7fffffff 2f61",   // longer than the frame
		"ffffffff ffffff90 00000000",        // the client's own: session expired
		"fffffffe 00000000 00000002 2f61",   // the client's own: not watching
		"00000000 00000003 00000002 2f6100", // no type at all
	} {
		if err := CheckEvent(unhex(t, bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: err = %v", bad, err)
		}
	}
}

// reencode reads a body that CheckReply has accepted and writes it again. It
// returns the bytes, and how many of body's were read.
func reencode(op Op, body []byte) (out []byte, read int, err error) {
	d := NewDecoder(body)
	var e Encoder
	switch op {
	case OpCreate, OpCreateContainer, OpCreateTTL, OpSync:
		e.String(d.String())
	case OpCreate2:
		e.String(d.String())
		e.Stat(d.Stat())
	case OpExists, OpSetData, OpSetACL, OpCheck:
		e.Stat(d.Stat())
	case OpGetData, OpReconfig:
		e.Buffer(d.Buffer())
		e.Stat(d.Stat())
	case OpGetACL:
		e.ACLs(d.ACLs())
		e.Stat(d.Stat())
	case OpGetChildren:
		e.Strings(d.Strings())
	case OpGetChildren2:
		e.Strings(d.Strings())
		e.Stat(d.Stat())
	case OpAddWatch:
		e.Int32(d.Int32())
	case OpMulti:
		for d.Err() == nil {
			h := d.MultiHeader()
			e.MultiHeader(h)
			if h.Done {
				break
			}
			switch h.Type {
			case OpError:
				e.Int32(d.Int32())
			case OpCreate:
				e.String(d.String())
			case OpSetData:
				e.Stat(d.Stat())
			}
		}
	}
	return e.Buf, len(body) - d.Len(), d.Err()
}

func FuzzCheckReply(f *testing.F) {
	for _, tt := range goodReplies {
		f.Add(int32(tt.op), unhex(f, tt.body))
	}
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		_ = CheckEvent(body)
		if err := CheckReply(Op(op), body); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("err = %v", err)
			}
			return
		}
		out, n, err := reencode(Op(op), body)
		if err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		if Op(op) == OpMulti {
			// Any byte but zero ends a multi; written again it is a one.
			again, m, err := reencode(OpMulti, out)
			if err != nil || m != n || !bytes.Equal(again, out) {
				t.Fatalf("%x became %x, then %x, %v", body, out, again, err)
			}
			return
		}
		if !bytes.Equal(out, body[:n]) {
			t.Fatalf("%x became %x", body[:n], out)
		}
	})
}
