package zktest_test

import (
	"bytes"
	"io"
	gopath "path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zklocker/go-zksync/internal/bubble"
	"github.com/zklocker/go-zksync/zksync/internal/wire"
	"github.com/zklocker/go-zksync/zksync/internal/znode"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// FuzzServerInput has a server read anything, in pieces of any size. What can't
// be understood ends the connection, and only that: another client is served on.
// What is answered is answered in order, and in a form that go-zookeeper reads.
func FuzzServerInput(f *testing.F) {
	hello := wire.AppendFrame(nil, wire.ConnectRequest{Timeout: 5000}.Append(nil))
	for i, w := range allWords {
		f.Add([]byte(w), uint8(i))
	}
	f.Add(hello[:20], uint8(1))
	again := append(wire.RequestHeader{Xid: 1, Op: wire.OpCreateSession}.Append(nil), body(8000)...)
	f.Add(wire.AppendFrame(wire.AppendFrame(bytes.Clone(hello), again), again), uint8(0))
	for i, cv := range conversations {
		in := bytes.Clone(hello)
		for i, s := range cv.steps {
			payload := append(wire.RequestHeader{Xid: int32(i), Op: s.op}.Append(nil), body(s.parts...)...)
			in = wire.AppendFrame(in, payload)
		}
		f.Add(in, uint8(i))
	}
	f.Add(saslInput(f, saslResponse{user: "bob", password: "bobs"}), uint8(0))
	f.Add(saslInput(f, saslResponse{user: "bob", password: "bobs", more: ",nonce-count=x"}), uint8(7))
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		// In virtual time whoever waits for ever is found at once.
		bubble.Test(t, func(t *testing.T) {
			s := zktest.Run(t, zktest.WithFourLetterWords("*"), zktest.WithSASLUsers(saslUsers))
			other := open(t, s)
			nc, err := s.Dial("tcp", "", 0)
			must(t, err)
			got := make(chan [][]byte, 1)
			go func() {
				var frames [][]byte
				for {
					frame, err := wire.ReadFrame(nc, nil, 4<<20)
					if err != nil {
						got <- frames
						return
					}
					frames = append(frames, frame[wire.FrameHeader:])
				}
			}()
			for part := range slices.Chunk(in, max(int(piece), 1)+1) {
				if piece == 0 {
					part = in
				}
				if _, err := nc.Write(part); err != nil || piece == 0 {
					break
				}
			}
			synctest.Wait()
			sent, senseless := framesOf(in)
			if senseless && len(got) == 0 {
				t.Error("the connection stands, and nothing more can be understood on it")
			}
			open(t, s).ping()
			// Who knows the number of a session may cut its connection, as with
			// ZooKeeper.
			if len(sent) == 0 || !asksFor(sent[0], other.hi.SessionID) {
				other.ping()
				other.ok(wire.OpGetChildren, "/", false)
			}
			nc.Close()
			checkAnswers(t, sent, <-got)
			time.Sleep(90 * time.Second) // sessions end, and what reaps nodes has been
			if left := s.Sessions(); len(left) != 0 {
				t.Errorf("sessions of nobody: %+v", left)
			}
			if left := s.Watches(); len(left) != 0 {
				t.Errorf("watches of nobody: %+v", left)
			}
			whole(t, s, "/")
		})
	})
}

// framesOf splits what a client sends into frames. It reports whether there is
// something a server can't go on after.
func framesOf(in []byte) (frames [][]byte, senseless bool) {
	for r := bytes.NewReader(in); ; {
		frame, err := wire.ReadFrame(r, nil, 1048575)
		if err != nil {
			return frames, err != io.EOF && err != io.ErrUnexpectedEOF
		}
		payload := frame[wire.FrameHeader:]
		if frames == nil {
			_, err = wire.ParseConnectRequest(payload)
		} else {
			_, _, err = wire.ParseRequestHeader(payload)
		}
		if err != nil {
			return frames, true
		}
		frames = append(frames, payload)
	}
}

// asksFor reports whether a connect request is for a session.
func asksFor(connect []byte, session int64) bool {
	req, err := wire.ParseConnectRequest(connect)
	return err == nil && req.SessionID == session
}

// checkAnswers checks what came for what was sent.
func checkAnswers(t *testing.T, sent, got [][]byte) {
	if len(got) == 0 {
		return
	}
	if len(sent) == 0 {
		t.Fatalf("answers to what is no connect request: %x", got)
	}
	if hi, err := wire.ParseConnectResponse(got[0]); err != nil || hi.Check() != nil {
		t.Errorf("connect answer %+v, %v", hi, err)
	}
	asked := sent[1:]
	for _, frame := range got[1:] {
		h, b, err := wire.ParseReplyHeader(frame)
		if err != nil {
			t.Fatal(err)
		}
		if h.Xid == wire.XidEvent && len(b) > 0 && wire.CheckEvent(b) == nil {
			continue
		}
		if len(asked) == 0 {
			t.Fatalf("an answer too many: %+v", h)
		}
		r, _, _ := wire.ParseRequestHeader(asked[0])
		asked = asked[1:]
		if r.Xid == wire.XidEvent {
			return // looks like an event itself
		}
		if hi, err := wire.ParseConnectResponse(frame); r.Op == wire.OpCreateSession && err == nil {
			if hi.Check() != nil || hi.SessionID == 0 {
				t.Errorf("answer to createSession: %+v", hi)
			}
			continue
		}
		if want := r.Xid; h.Xid != want && (r.Op != wire.OpPing || h.Xid != wire.XidPing) {
			t.Fatalf("answer to %d, want %d", h.Xid, want)
		}
		checkBody(t, r.Op, h.Err, b)
	}
}

// checkBody checks what follows the header of an answer: in a form that
// go-zookeeper reads, or of a request that it never sends.
func checkBody(t *testing.T, op wire.Op, code wire.Code, b []byte) {
	switch {
	case op == wire.OpMultiRead && len(b) > 0: // behind an error too
		checkMultiRead(t, b)
	case op == wire.OpSASL && code != wire.CodeUnimplemented:
		if d := wire.NewDecoder(b); (d.Buffer() == nil) != (code == wire.CodeAuthFailed) || d.Err() != nil || d.Len() > 0 {
			t.Errorf("%v: body %x behind %v", op, b, code)
		}
	case code != wire.CodeOK && len(b) > 0:
		t.Errorf("%v: a body of %d bytes behind %v", op, len(b), code)
	case op == wire.OpSync && bytes.Equal(b, body(nil)): // the null path, which only others send
	case code != wire.CodeOK, op == wire.OpMulti:
		// A multi may make kinds of nodes whose results that client can't read.
	case op == wire.OpGetEphemerals, op == wire.OpGetAllChildrenNumber, op == wire.OpWhoAmI:
		d := wire.NewDecoder(b)
		switch op {
		case wire.OpGetEphemerals:
			d.Strings()
		case wire.OpGetAllChildrenNumber:
			if n := d.Int32(); n < 0 {
				t.Errorf("%d nodes below a node", n)
			}
		case wire.OpWhoAmI:
			if len(d.ClientInfos()) == 0 {
				t.Error("a client is nobody")
			}
		}
		if d.Err() != nil || d.Len() > 0 {
			t.Errorf("%v: %d bytes left of %x, %v", op, d.Len(), b, d.Err())
		}
	default:
		if err := wire.CheckReply(op, b); err != nil {
			t.Error(err)
		}
	}
}

// checkMultiRead checks that results have a form, and an end.
func checkMultiRead(t *testing.T, b []byte) {
	d := wire.NewDecoder(b)
	for d.Err() == nil {
		h := d.MultiHeader()
		if h.Done {
			break
		}
		switch h.Type {
		case wire.OpError:
			if code := wire.Code(d.Int32()); code != h.Err || code == wire.CodeOK {
				t.Errorf("part of a multiRead: %v, %v", h.Err, code)
			}
		case wire.OpGetData:
			d.Buffer()
			d.Stat()
		case wire.OpGetChildren:
			d.Strings()
		default:
			t.Errorf("part of a multiRead: %v", h.Type)
		}
	}
	if d.Err() != nil || d.Len() > 0 {
		t.Errorf("multiRead: %d bytes left of %x, %v", d.Len(), b, d.Err())
	}
}

// FuzzServerPath has a server look at any path. It takes all that the library
// takes for a lock, and no path leads elsewhere than it says.
func FuzzServerPath(f *testing.F) {
	for _, p := range []string{"/a", "/a/b", "", "/", "a", "//", "/a/", "/a//b", "/a/../b", "/.", "/zookeeper/quota",
		"/a\x00", "/a\x7f", "/\ud7ff\uf900\uffef", "/\ufff0", "/😀", "/\xff"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		bubble.Test(t, func(t *testing.T) {
			s := zktest.Run(t)
			c := open(t, s)
			at := 1
			for ; strings.Contains(path[min(at, len(path)):], "/"); at++ {
				at += strings.IndexByte(path[at:], '/')
				c.do(wire.OpCreate, crt(path[:at], 0)...) // what is above it
			}
			r, _ := c.do(wire.OpCreate, crt(path, 0)...)
			if r.closed {
				t.Fatal("the connection is closed")
			}
			if znode.ValidPath(path) == nil && r.Err != wire.CodeOK {
				t.Errorf("%q: %v", path, r.Err)
			}
			_, st, there := s.Get(path)
			if r.Err == wire.CodeOK {
				if !there || st.Czxid != r.Zxid || gopath.Clean(path) != path {
					t.Errorf("%q: made, and there %v", path, there)
				}
				c.ok(wire.OpDelete, path, -1)
			}
			whole(t, s, "/")
		})
	})
}

// whole checks that a node and what is below it fit together.
func whole(t *testing.T, s *zktest.Server, path string) {
	t.Helper()
	_, st, ok := s.Get(path)
	names := s.Children(path)
	if !ok || int(st.NumChildren) != len(names) {
		t.Errorf("%s: there %v, %d children, names %q", path, ok, st.NumChildren, names)
	}
	for _, name := range names {
		whole(t, s, strings.TrimSuffix(path, "/")+"/"+name)
	}
}
